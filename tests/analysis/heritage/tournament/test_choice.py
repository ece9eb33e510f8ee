"""The criterion applied: size, power, simplicity; the shipped table, and lists of public models."""

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.tournament import choice, claim_choice, criterion, designs, tables
from collect.job.model_list import expanded
from tests.proofs import settling, tournament
from tests.proofs.competing import lattice, results
from tests.proofs.competing.worlds import World, papers

STATEMENT = "recipe over geometry"


def cells(**rules):
    """Return rates of rules: share of a false yes, and of a true one."""
    rows = [
        {
            **{"layout": "present", "world": truth, "share": 0.5, "form": "normal"},
            **{"statement": STATEMENT, "truth": truth, "rule": rule, "n_papers": 600},
            **{"share_yes": wrong if truth == "tie" else right, "share_no": 0.0, "no_error": 0.0},
            "yes_error": 0.01,
        }
        for rule, (wrong, right) in rules.items()
        for truth in ("tie", "yes")
    ]
    return pd.DataFrame(rows)


def chosen(**rules):
    table = choice.choice(cells(**{name.replace("_", " "): one for name, one in rules.items()}))
    return table.loc[table["is_chosen"], "rule"].tolist()


def test_size_goes_before_power_and_power_before_simplicity():
    assert chosen(
        prediction=(0.30, 0.99), exact_bounds=(0.02, 0.40), bootstrap_of_suites=(0.01, 0.05)
    ) == ["exact bounds"]
    assert chosen(
        exact_bounds=(0.05, 0.61), prediction=(0.05, 0.60), bootstrap_of_suites=(0.01, 0.05)
    ) == ["prediction"]
    assert chosen(prediction=(0.2, 0.9), bootstrap_of_suites=(0.2, 0.9)) == ["bootstrap of suites"]
    assert chosen(exact_bounds=(0.01, 0.06), bootstrap_of_suites=(0.01, 0.05)) == [
        "bootstrap of suites"
    ]


@pytest.mark.parametrize(("errors", "is_sized"), [(43, False), (42, True)])
def test_the_level_is_exceeded_by_the_interval_of_wilson(errors, is_sized):
    # R: prop.test(42, 600, conf.level = .98, correct = FALSE)$conf.int[1] is 0.0494161; of 43
    # 0.0508098.
    table = choice.choice(
        cells(**{"prediction": (errors / 600, 0.5), "bootstrap of suites": (0.0, 0.5)})
    )
    result = table.set_index("rule").loc["prediction", "is_sized"]
    assert result == is_sized


@pytest.fixture(scope="module")
def shipped(shipped_store):
    return tables.rates(shipped_store)


def test_the_shipped_table_has_every_cell_and_its_rules_are_chosen(shipped):
    present = shipped[shipped["layout"] == "present"]
    n_worlds = len(criterion.TOGETHER) + len(criterion.ALONE) * len(criterion.SHARES)
    expected = n_worlds * len(criterion.FORMS) * len(criterion.STATEMENTS) * len(criterion.RULES)
    assert len(present) == expected
    assert (present["n_papers"] == tournament.PAPERS).all()
    error = np.sqrt(present["share_yes"] * (1 - present["share_yes"]) / present["n_papers"])
    np.testing.assert_allclose(present["yes_error"], error, atol=1e-9)
    assert tables.winners(shipped) == {
        "lab over geometry": "posterior of new levels",
        "recipe over geometry": "parametric bootstrap",
        "geometry over scale": "posterior of new levels",
        "lab over suite": "exact bounds",
    }


def test_a_cell_comes_again_alone(shipped):
    layout, _, n_papers, _ = tournament.jobs()[0]
    names = ("prediction", "profile likelihood", "posterior of new levels")
    result = results.rates(
        layout, [World("suite", {"suite": 0.5})], n_papers, tournament.SEED, names=names
    )
    keys = ["layout", "world", "share", "form", "statement", "rule"]
    both = result.merge(shipped, on=keys, suffixes=("", "_shipped"))
    assert len(both) == len(result) == len(names) * len(criterion.STATEMENTS)
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
