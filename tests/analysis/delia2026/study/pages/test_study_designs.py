"""The study shown: birth against upbringing, ingredients, its exhibit, tables and words."""

import numpy as np
import pytest

from analysis.delia2026.study import fleet, horizons, inheritance, registered, screening
from analysis.delia2026.study.pages import charts, names, tables, words
from analysis.tidy import prose
from analysis.tidy.columns import texts
from collect.training.study.design import read_design
from tests.analysis.delia2026.study.simulated import filled, packages
from tests.analysis.drawn import borrowed
from tests.analysis.places import ROOT

#: Excess of a network at birth, and what training on under another recipe adds to it.
BIRTHS = {"opt": 0.05, "pythia": -0.8, "bloom": -2.0}
MOVES = {"as_opt": 0.0, "as_pythia": -0.1, "as_bloom": 0.02, "as_muon": 1.0}

#: Effects of the screening; all others are nothing.
EFFECTS = {"norm_position": 2.0, "learning_rate": -1.0, "decay_turns": 0.5}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    rng = np.random.default_rng(15)
    runs = []
    for birth, value in BIRTHS.items():
        for seed in (0, 1):
            parent = {"study": "inheritance", "seed": seed}
            levels = {"birth": birth, "lab": "Meta" if birth == "opt" else "BigScience"}
            name = f"run{len(runs)}"
            runs.append({**parent, "levels": levels, "excess": value})
            runs += [
                {**parent, "parent_id": name, "levels": {**levels, "upbringing": upbringing}}
                | {"excess": value + move + rng.normal(0, 0.01)}
                for upbringing, move in MOVES.items()
            ]
    runs += [
        {"study": "ingredients", "seed": seed, "levels": cell.levels}
        | {
            "excess": rng.normal(0, 0.05)
            + sum(
                (1 if cell.levels[name] in ("sandwich", "high") else -1) * size / 2
                for name, size in EFFECTS.items()
            )
        }
        for cell in read_design(ROOT / "data" / "study" / "ingredients.toml").cells()
        for seed in (0, 1)
    ]
    return filled(tmp_path_factory.mktemp("designs"), runs)


@pytest.fixture(scope="module")
def children(store):
    return inheritance.networks(store)


def test_signs_turn_where_both_seeds_do_under_the_settings_of_another(children):
    assert len(children) == 24
    born = children["birth"].map(BIRTHS)
    assert children["excess_born"].to_numpy() == pytest.approx(born.to_numpy())
    # OPT turns as Pythia. Pythia turns under Muon, which no lab used: that does not count.
    counts = ["n_turned", "n_turned_once", "n_cells"]
    assert inheritance.turned(children).loc["excess", counts].tolist() == [1, 1, 6]
    once = children.assign(excess=children["excess"].where(children["seed"] == 0, 5.0))
    assert inheritance.turned(once).loc["excess", counts].tolist() == [0, 5, 6]


def test_birth_is_compared_between_parents_whose_networks_are_alike(children):
    """What the seed made of a parent is in all its networks: six of them are one witness."""
    moved = children["birth"].map({"opt": 1.0, "pythia": -1.0, "bloom": 0.5})
    alike = children.assign(excess=children["excess"] + moved * (2 * children["seed"] - 1))
    parents = inheritance.between_parents(alike, rng=np.random.default_rng(1))
    joint = parents[(parents["response"] == "excess") & parents["method"].str.startswith("F")]
    rows = joint.set_index("term")
    assert rows["df"].to_dict() == {"birth": 2, "seed": 3}
    assert set(rows["n_obs"]) == {6}
    assert rows.loc["birth", "conf_low"] < 0.1
    plain = inheritance.between_parents(children, rng=np.random.default_rng(1))
    assert words.shares(plain)["birth"].startswith("100\u00a0% [")


def test_birth_accounts_for_nearly_all_and_ingredients_are_in_order(store):
    shares = inheritance.shares(store, rng=np.random.default_rng(3))
    birth = shares.query("response == 'excess' and term == 'birth'")
    assert (birth["estimate"] > 0.98).all()
    runs = horizons.responses(store, "ingredients")
    effects = screening.main_effects(runs, "excess", registered.levels_of(runs))
    order = texts(tables.order_effects(effects), tables.EFFECTS)["ingredient"]
    assert order[:3].tolist() == [names.INGREDIENTS[name] for name in EFFECTS]
    assert order.nunique() == 16


@pytest.fixture(scope="module")
def of_packages(tmp_path_factory):
    ends = [
        {
            "study": "packages", "block": "ranges", "seed": 0, "excess": excess,
            "levels": {"recipe": f"llama_like_{end}_init", "lab": "not published",
                       "geometry": "l3d64", "heads": "w16", "text": "kjv", "status": "range"},
        }
        for end, excess in (("small", 0.5), ("large", 0.7))
    ]  # fmt: skip
    return filled(tmp_path_factory.mktemp("fleet"), [*packages(np.random.default_rng(10)), *ends])


@pytest.fixture(scope="module")
def runs(of_packages):
    return fleet.recipe_runs(of_packages)


@pytest.mark.parametrize(
    ("result", "needed", "ends", "text"),
    [
        (22, 2, np.nan, "22; against 2"),
        (53.78, 2, np.nan, "53.78; against 2.00"),
        (1, 0, 0.5, "1.00 [0.50, 1.00]; against 0.00"),
    ],
)
def test_a_count_has_no_decimals(result, needed, ends, text):
    row = {"verdict": "held", "estimate": result, "null_value": needed, "conf_low": ends}
    row["conf_high"] = 1.0
    assert tables.number_words(row).replace("\xa0", " ") == text


def test_the_exhibit_has_a_mark_per_run_and_a_row_per_recipe(runs):
    documented = runs[runs["status"] == "documented"]
    band = fleet.band_of_chance(documented)
    drawn = charts.chart_exhibit(runs, band).to_dict()
    marks = [layer for layer in drawn["layer"] if layer["mark"]["type"] == "point"]
    of_marks = [drawn["datasets"][layer["data"]["name"]] for layer in marks]
    assert [len(rows) for rows in of_marks] == [64, 2]
    assert [layer["mark"]["filled"] for layer in marks] == [True, False]
    order = marks[0]["encoding"]["y"]["sort"]
    assert order[0] == "GPT-Neo"
    assert order.count("like LLaMA") == 1
    labels = {row.get("label") for rows in drawn["datasets"].values() for row in rows}
    assert {"equal writes", "seed alone", "EleutherAI", "a range"} <= labels
    # The title counts the marks that are drawn; the axis names what zero is.
    excess = [row["excess"] for rows in of_marks for row in rows]
    outside = sum(not band.low <= value <= band.high for value in excess)
    counted = drawn["usermeta"]["finding"].replace("\xa0", " ")
    assert counted.startswith(prose.share_of(outside, len(excess)).replace("\xa0", " "))
    assert "equal writes" in marks[0]["encoding"]["x"]["title"][1]
    assert not borrowed(drawn)
