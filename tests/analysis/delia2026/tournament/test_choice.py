"""The criterion applied to what is planted, the shipped table and lists, and R beside it."""

import numpy as np
import pandas as pd
import pytest

from analysis.delia2026.tournament import choice, claim_choice, criterion, designs, tables
from analysis.tidy.columns import texts
from collect.job.resolve import expanded
from tests.analysis.places import R
from tests.proofs import settling
from tests.proofs.competing import lattice, layouts, results
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, papers, worlds

#: Papers of every world on the models of the paper.
PAPERS = 600


@pytest.mark.parametrize(("errors", "is_sized"), [(43, False), (42, True)])
def test_the_level_is_exceeded_by_the_interval_of_wilson(errors, is_sized):
    # R: prop.test(42, 600, conf.level = .98, correct = FALSE)$conf.int[1] is 0.0494161; of 43
    # 0.0508098.
    lower = choice.least(np.array([errors / 600]), np.array([600]))
    assert (lower.item() <= criterion.LEVEL) == is_sized


@pytest.fixture(scope="module")
def shipped(shipped_store):
    return tables.rates(shipped_store)


def test_the_shipped_table_has_every_cell(shipped):
    present = shipped[shipped["layout"] == "present"]
    n_worlds = len(criterion.TOGETHER) + len(criterion.ALONE) * len(criterion.SHARES)
    expected = n_worlds * len(criterion.FORMS) * len(criterion.STATEMENTS) * len(criterion.RULES)
    assert len(present) == expected
    assert (present["n_papers"] == PAPERS).all()
    error = np.sqrt(present["share_yes"] * (1 - present["share_yes"]) / present["n_papers"])
    np.testing.assert_allclose(present["yes_error"], error, atol=1e-9)


def test_a_cell_comes_again_alone(shipped, layout):
    result = results.rates(layout, [World("suite", {"suite": 0.5})], PAPERS, settling.SEED)
    keys = ["layout", "world", "share", "form", "statement", "rule"]
    both = result.merge(shipped, on=keys, suffixes=("", "_shipped"))
    assert len(both) == len(result) == len(criterion.STATEMENTS)
    for name in ("share_yes", "share_no"):
        np.testing.assert_allclose(both[name], both[f"{name}_shipped"], atol=1e-9)


@pytest.mark.parametrize("path", settling.LISTS, ids=lambda path: path.stem)
def test_a_run_takes_every_list_as_it_stands(path):
    listed = settling.listed(path)
    assert expanded([f"@{path}"]) == listed["model_id"].tolist()
    assert listed["model_id"].is_unique


@pytest.mark.parametrize(("name", "n_models"), [("settling_30", 123)])
def test_every_line_says_where_its_name_and_shape_were_read(name, n_models):
    path = settling.ROOT / f"data/study/{name}.txt"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == n_models
    assert all("; name " in line and ", shape " in line for line in lines)
    assert not any("name memory" in line for line in lines)


@pytest.mark.parametrize(("name", "share"), [("settling", 0.5), ("settling_30", 0.3)])
@pytest.mark.parametrize("world", designs.WORLDS)
def test_the_lists_have_the_power_they_are_made_for(name, share, world):
    layout = settling.layout(settling.ROOT / f"data/study/{name}.txt")
    drawn = papers(layout, World(world, {world: share}), 1000, np.random.default_rng(11))
    yes = lattice.profile_likelihood(lattice.lattice(layout), drawn)[designs.STATEMENT] > 0
    assert yes.mean() > designs.POWER - 3 * np.sqrt(0.16 / 1000)


def test_every_list_is_in_the_table_and_single_tests_are_better_by_the_criterion(shipped_store):
    rates = designs.rates(tables.rates(shipped_store)).set_index("layout")
    assert set(rates.index) == {path.stem for path in settling.LISTS}
    assert (rates["n_papers"] == settling.PAPERS).all()
    assert rates.loc["settling", "power_0.5"] > designs.POWER
    assert rates["worst"].round(3).to_dict() == {
        "public_models": 0.096, "settling": 0.057, "settling_30": 0.069,
    }  # fmt: skip
    table = claim_choice.judged(shipped_store.query("FROM claim_test_rate"))
    chosen = table[table["is_chosen"]]
    assert dict(zip(chosen["claim_id"], chosen["rule"], strict=True)) == {
        7: "Fisher at .001",
        16: "within suites",
        19: claim_choice.IN_FORCE,
        21: claim_choice.IN_FORCE,
    }
    assert (chosen["worst"] < 0.06).all()


@pytest.fixture(scope="module")
def layout(shipped_store):
    return layouts.present(shipped_store)


def test_the_present_layout_is_that_of_the_paper(layout):
    assert len(layout) == 22
    assert layout.suites.max() + 1 == 7
    assert layout.labs.max() + 1 == 5
    assert layout.models["model_id"][layout.aberrant] == "EleutherAI/gpt-neo-125m"
    assert (layout.lab_of_suite == layout.named).sum() == 3


@pytest.mark.parametrize("name", criterion.ALONE)
@pytest.mark.parametrize("form", ["normal", "heavy-tailed"])
def test_a_component_has_its_share(layout, name, form):
    drawn = papers(layout, World(name, {name: 0.5}, form), 8000, np.random.default_rng(1))
    whole = np.median(drawn.var(axis=1)) if form == "heavy-tailed" else drawn.var(axis=1).mean()
    rest = 0.5 * (1 - 1 / len(layout))
    # Student's t of three degrees has a skewed sample variance, whose median lies lower.
    assert 0.5 < whole < 0.5 + rest + 0.02
    if form == "normal":
        assert whole == pytest.approx(0.5 + rest, abs=0.01)


@pytest.mark.parametrize(
    ("shares", "statement", "is_true", "is_reversed"),
    [
        ({}, "recipe over geometry", False, False),
        ({"suite": 0.5}, "recipe over geometry", True, False),
        ({"suite": 0.5}, "lab over geometry", False, False),
        ({"suite": 0.5}, "lab over suite", False, True),
        ({"named lab": 0.5}, "lab over geometry", True, False),
        ({"shape": 0.2, "depth": 0.2, "lab": 0.4}, "lab over geometry", False, False),
        ({"depth": 0.4, "lab": 0.3, "suite": 0.1}, "recipe over geometry", False, False),
        ({"scale": 0.3}, "geometry over scale", False, True),
    ],
)
def test_what_is_planted_makes_statements_true(shares, statement, is_true, is_reversed):
    world = World("", shares)
    assert world.is_true(statement) is is_true
    assert world.is_true(statement, reverse=True) is is_reversed


def test_the_worlds_are_those_of_the_criterion_and_the_aberrant_model_lies_off(layout):
    result = list(worlds())
    assert len(result) == len(criterion.TOGETHER) + len(criterion.ALONE) * len(criterion.SHARES)
    assert all(sum(one.shares.values()) <= 0.9 + 1e-9 for one in result)
    one = World("nothing", {}, "outlier")
    drawn = papers(layout, one, 4000, np.random.default_rng(2))
    means = drawn.mean(axis=0)
    assert means[layout.aberrant] == pytest.approx(criterion.AWAY, abs=0.06)
    assert np.abs(np.delete(means, layout.aberrant)).max() < 0.06


WAYS = ["cell", "paper"]


@pytest.fixture(scope="module")
def oracle():
    return Layout("present", pd.read_csv(R / "tournament_models.csv"), 0)


@pytest.fixture(scope="module")
def oracle_papers():
    return pd.read_csv(R / "tournament_papers.csv").drop(columns=WAYS).to_numpy()


def test_the_criterion_is_lme4s(oracle, oracle_papers):
    result = lattice.lattice(oracle)
    known = pd.read_csv(R / "tournament_criterion.csv")
    n = len(oracle)
    ours = result.criteria(oracle_papers)
    constant = np.log(n) + (n - 1) * (1 + np.log(2 * np.pi / (n - 1)))
    for (lab, suite), rows in known.groupby(["lab", "suite"], sort=False):
        point = np.flatnonzero((result.parts[:, :4] == (lab, suite, 0, 0)).all(axis=1)).item()
        np.testing.assert_allclose(
            ours[:, point] + constant, rows["criterion"].to_numpy(), rtol=0, atol=1e-6
        )


def test_the_profile_on_the_lattice_decides_as_a_continuous_one(oracle, oracle_papers):
    known = pd.read_csv(R / "tournament_profile.csv")
    some = pd.read_csv(R / "tournament_papers.csv")["paper"].to_numpy() < 20
    answers = lattice.profile_likelihood(lattice.lattice(oracle), oracle_papers[some])
    result = answers["recipe over geometry"]
    sign = np.where(known["is_first"] == 1, 1, -1)
    line = 2.705543  # chi-squared, 1 degree of freedom, upper 10 %
    expected = np.where(known["rise"] > line, sign, 0)
    is_near = np.abs(known["rise"] - line) < 0.35
    assert (result == expected)[~is_near].all()
    assert is_near.mean() < 0.2
    share = pd.Series(result > 0).groupby(known["cell"]).mean()
    again = pd.Series(expected > 0).groupby(known["cell"]).mean()
    assert (share - again).abs().max() <= 0.1


def test_the_table_of_the_ranking_has_the_rates_of_each_list(shipped):
    rows = texts(designs.both_rankings(shipped), designs.RANKING_COLUMNS)
    assert rows["statement"].tolist() == [
        "lab over geometry",
        "",
        "",
        "geometry over scale",
        "",
        "",
    ]
    # Counted in rule_rate.csv: depth explains 80 %, then the paper's order, profile likelihood.
    last = rows.iloc[-1].str.replace("\N{NO-BREAK SPACE}", " ")
    assert (last["layout"], last["models"], last["suites"]) == ("settling_30.txt", "123", "39")
    assert (last["power"], last["power_claimed"]) == ("63 %", "1 %")
