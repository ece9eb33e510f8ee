"""Birth against upbringing, and the ingredients of a recipe: what is found, drawn and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.study import fleet, ingredients, inheritance
from analysis.heritage.study.pages import ingredients as ingredient_exhibit
from analysis.heritage.study.pages import inheritance as inheritance_exhibit
from analysis.heritage.study.pages import tables, words
from analysis.store import Store
from collect.training.study.design import read_design
from tests.analysis.heritage.study.simulated import filled

ROOT = Path(__file__).parents[5]

#: Excess of a network at birth, and what training on under another recipe adds to it.
BIRTHS = {"opt": 0.05, "pythia": -0.8, "bloom": -2.0}
MOVES = {"as_opt": 0.0, "as_pythia": -0.1, "as_bloom": 0.02, "as_muon": 1.0}

#: Effects of the screening; all others are nothing.
EFFECTS = {"norm_position": 2.0, "learning_rate": -1.0, "decay_turns": 0.5}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    rng = np.random.default_rng(15)
    runs: list[dict[str, object]] = []
    for birth, value in BIRTHS.items():
        for seed in (0, 1):
            parent = {"study": "inheritance", "seed": seed}
            levels = {"birth": birth, "lab": "Meta" if birth == "opt" else "BigScience"}
            name = f"run{len(runs)}"
            runs.append({**parent, "levels": levels, "excess": value})
            runs += [
                {
                    **parent,
                    "parent_id": name,
                    "levels": {**levels, "upbringing": upbringing},
                    "excess": value + move + rng.normal(0, 0.01),
                }
                for upbringing, move in MOVES.items()
            ]
    runs += [
        {
            "study": study,
            "seed": seed,
            "levels": cell.levels,
            "excess": sum(
                (1 if cell.levels[name] in ("sandwich", "high") else -1) * size / 2
                for name, size in EFFECTS.items()
            )
            + rng.normal(0, 0.05),
        }
        for study, seeds in (("ingredients", (0, 1)), ("ingredients_check", (2,)))
        for cell in read_design(ROOT / "data" / "study" / f"{study}.toml").cells()
        for seed in seeds
    ]
    runs += [
        {
            "study": "threats",
            "seed": 0,
            "levels": {"recipe": recipe, "check": check},
            "excess": value + moved,
        }
        for recipe, value in {"opt": 0.1, "pythia": -0.4}.items()
        for check, moved in {
            "plain": 0.0,
            "subwords": 0.2 if recipe == "opt" else -0.1,
            "long": -0.8 if recipe == "opt" else 0.0,
        }.items()
    ]
    return filled(tmp_path_factory.mktemp("designs"), runs)


@pytest.fixture(scope="module")
def children(store: Store) -> pd.DataFrame:
    return inheritance.networks(store)


def test_each_network_stands_beside_what_it_was(children: pd.DataFrame) -> None:
    assert len(children) == 24
    assert children["excess_born"].to_dict() == pytest.approx(
        children["birth"].map(BIRTHS).to_dict()
    )
    turned = inheritance.turned(children).set_index(["response", "is_own"])
    # OPT turns as Pythia; nothing turns under its own recipe. Pythia turns under Muon, which no lab
    # used: it counts no more here than in the shares.
    columns = ["n_turned", "n_turned_once", "n_cells"]
    assert turned.loc[("excess", False), columns].tolist() == [1, 1, 6]
    assert turned.loc[("excess", True), columns].tolist() == [0, 0, 3]
    once = children.assign(excess=children["excess"].where(children["seed"] == 0, 5.0))
    found = inheritance.turned(once, ["excess"]).set_index("is_own")
    assert found.loc[False, columns].tolist() == [0, 5, 6]


def test_birth_is_compared_between_parents_whose_networks_are_alike(children: pd.DataFrame) -> None:
    """What the seed made of a parent is in all its networks: six of them are one witness."""
    moved = children["birth"].map({"opt": 1.0, "pythia": -1.0, "bloom": 0.5})
    alike = children.assign(excess=children["excess"] + moved * (2 * children["seed"] - 1))
    parents = inheritance.between_parents(alike, rng=np.random.default_rng(1))
    joint = parents[(parents["response"] == "excess") & parents["method"].str.startswith("F")]
    rows = joint.set_index("term")
    assert rows["df"].to_dict() == {"birth": 2, "seed": 3}
    assert set(rows["n_obs"]) == {6}
    assert rows.loc["birth", "conf_low"] < 0.1
    known = inheritance.between_parents(children, rng=np.random.default_rng(1))
    assert words.shares(known)["birth"].startswith("100\u00a0% [")


def test_birth_accounts_for_nearly_all_where_nothing_else_moves(store: Store) -> None:
    shares = inheritance.shares(store, rng=np.random.default_rng(3))
    birth = shares.query("response == 'excess' and term == 'birth' and method == @fleet.JOINT")
    assert birth["estimate"].item() > 0.98


def test_the_figure_has_a_mark_per_network_and_its_birth(
    store: Store, children: pd.DataFrame
) -> None:
    shares = inheritance.shares(store, rng=np.random.default_rng(3))
    drawn = inheritance_exhibit.chart_inheritance(children, shares).to_dict()
    assert words.shares(shares)["birth"] in drawn["usermeta"]["finding"]
    for panel in drawn["vconcat"]:
        layers = {kind: [] for kind in ("point", "tick")}
        for layer in panel["layer"]:
            if layer["mark"]["type"] in layers:
                rows = drawn["datasets"][layer["data"]["name"]]
                layers[layer["mark"]["type"]].append(len(rows))
        assert layers == {"point": [6, 12, 6], "tick": [6]}


def test_ingredients_are_found_in_their_order_and_told(store: Store) -> None:
    effects = ingredients.effects(store)
    seeds = effects[effects["method"] == "seeds"]
    assert seeds["term"].head(3).tolist() == list(EFFECTS)
    assert seeds["estimate"].head(3).tolist() == pytest.approx(list(EFFECTS.values()), abs=0.05)
    assert set(effects["n_tests"]) == {16}
    foretold = ingredients.foretold(store)
    assert foretold["r_squared"].item() > 0.98
    additivity = ingredients.additivity(store).iloc[0]
    assert additivity["n_groups"] == 32
    assert additivity["r_squared"] > 0.99
    beyond = effects[effects["p_adjusted"] < 0.05].groupby("method").size()
    assert beyond["Lenth"] == 3


def test_the_figure_of_ingredients_has_a_row_each(store: Store) -> None:
    drawn = ingredient_exhibit.chart_ingredients(ingredients.effects(store)).to_dict()
    types = [layer["mark"]["type"] for layer in drawn["layer"]]
    assert types == ["rule", "rule", "point"]
    order = drawn["layer"][-1]["encoding"]["y"]["sort"]
    assert len(order) == len(set(order)) == 16
    assert "norms after each part, too (2." in drawn["usermeta"]["finding"]


def test_checks_of_a_recipe_are_told_by_what_they_move(store: Store) -> None:
    threats = fleet.threats(store)
    change = threats.set_index(["recipe", "check"])["change"]
    assert change["opt", "subwords"] == pytest.approx(0.2)
    assert change["opt", "long"] == pytest.approx(-0.8)
    assert change["pythia", "plain"] == 0
    rows = tables.threat_rows(threats).set_index("recipe")
    assert rows.loc["OPT", ["plain", "subwords", "long", "other_order"]].tolist() == [
        "0.10", "0.30", "−0.70", "–",
    ]  # fmt: skip
    assert fleet.threats(store).columns.tolist() == ["recipe", "check", "estimate", "change"]


def test_the_long_run_is_as_much_longer_as_its_words_say() -> None:
    design = read_design(ROOT / "data" / "study" / "threats.toml")
    long = design.factors["check"]["long"]["schedule"]["steps"]
    assert long == 3 * design.base["schedule"]["steps"]
    assert set(design.factors["check"]) == {*tables.THREATS} - {"recipe"}
