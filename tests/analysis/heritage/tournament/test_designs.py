"""Lists of public models: the parser takes them, and what the criterion says of them."""

import numpy as np
import pytest

from analysis.heritage.tournament import claim_choice, designs, tables
from collect.job.model_list import expanded
from tests.proofs import tournament
from tests.proofs.competing import lattice
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, papers


@pytest.mark.parametrize("path", tournament.LISTS, ids=lambda path: path.stem)
def test_a_run_takes_every_list_as_it_stands(path):
    listed = tournament.listed(path)
    assert expanded([f"@{path}"]) == listed["model_id"].tolist()
    assert listed["model_id"].is_unique


@pytest.mark.parametrize(("name", "n_models"), [("settling_30", 123)])
def test_every_line_says_where_its_name_and_shape_were_read(name, n_models):
    path = tournament.ROOT / f"data/study/{name}.txt"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == n_models
    assert all("; name " in line and ", shape " in line for line in lines)
    assert not any("name memory" in line for line in lines)


@pytest.mark.parametrize(("name", "share"), [("settling", 0.5), ("settling_30", 0.3)])
@pytest.mark.parametrize("world", designs.WORLDS)
def test_the_lists_have_the_power_they_are_made_for(name, share, world):
    layout = Layout(name, tournament.listed(tournament.ROOT / f"data/study/{name}.txt"), 0)
    drawn = papers(layout, World(world, {world: share}), 1000, np.random.default_rng(11))
    yes = lattice.profile_likelihood(lattice.lattice(layout), drawn)[designs.STATEMENT] > 0
    assert yes.mean() > designs.POWER - 3 * np.sqrt(0.16 / 1000)


def test_single_tests_that_are_better_by_the_criterion(shipped_store):
    table = claim_choice.judged(shipped_store.query("FROM claim_test_rate"))
    chosen = table[table["is_chosen"]]
    assert dict(zip(chosen["claim_id"], chosen["rule"], strict=True)) == {
        7: "Fisher at .001",
        16: "within suites",
        19: claim_choice.IN_FORCE,
        21: claim_choice.IN_FORCE,
    }
    assert (chosen["worst"] < 0.06).all()


def test_every_list_is_in_the_table_and_judged_by_its_own_papers(shipped_store):
    rates = designs.rates(tables.rates(shipped_store)).set_index("layout")
    assert set(rates.index) == {path.stem for path in tournament.LISTS}
    assert (rates["n_papers"] == tournament.PAPERS_OF_LISTS).all()
    assert rates.loc["settling", "power_0.5"] > designs.POWER
    assert rates["worst"].round(3).to_dict() == {
        "public_models": 0.096, "settling": 0.057, "settling_30": 0.069,
    }  # fmt: skip
