"""The study shown: its exhibit, its tables, and words that follow from its numbers."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.study import fleet, labs, slope
from analysis.heritage.study import status as standing
from analysis.heritage.study.pages import charts, horizon, tables, words
from analysis.store import Store
from tests.analysis.drawn import borrowed
from tests.analysis.heritage.study.simulated import filled, packages


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
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
def runs(store: Store) -> pd.DataFrame:
    return fleet.recipe_runs(store)


@pytest.fixture(scope="module")
def shares(store: Store) -> pd.DataFrame:
    return fleet.response_shares(store, rng=np.random.default_rng(2))


def test_the_study_is_told_in_words_that_follow_its_numbers(
    store: Store, runs: pd.DataFrame, shares: pd.DataFrame
) -> None:
    said = words.sentence(runs, shares)
    recipe = shares[(shares["response"] == "excess") & (shares["term"] == "recipe")].iloc[0]
    start = "Among 8 recipes trained on the same text in 4 shapes, the recipe makes"
    assert f"{start} {100 * recipe['estimate']:.0f}" in said
    assert ", depth and width 0" in said
    assert "cannot be told" in words.sentence(runs, pd.DataFrame())
    apart = fleet.scale_and_shape(store, rng=np.random.default_rng(0))
    assert words.apart_sentence(apart).startswith("Size makes 0")
    assert "shallow and wide, 0" in words.apart_sentence(apart)
    assert "cannot be told apart" in words.apart_sentence(pd.DataFrame())
    done = pd.DataFrame({"n_planned": [3, 2], "n_complete": [1, 2]})
    assert words.unfinished(done).startswith("2 planned runs")
    assert words.unfinished(done.iloc[1:]) == ""
    assert words.together({"a": "held", "b": "missed", "c": "held"}) == (
        "Held: “a” and “c”. Missed: “b”."
    )


def test_growth_is_told_in_both_coordinates() -> None:
    runs = pd.DataFrame({"excess": [0.5, -1.0], "excess_centred": [0.49, -1.05]})
    assert words.coordinates_sentence(runs).endswith("differs by at most 0.050 nat.")


@pytest.mark.parametrize(
    ("found", "needed", "ends", "said"),
    [
        (22, 2, np.nan, "22; 2"),
        (53.78, 2, np.nan, "53.78; 2.00"),
        (1, 0, 0.5, "1.00 [0.50, 1.00]; 0.00"),
    ],
)
def test_a_count_that_was_found_has_no_decimals(found, needed, ends, said) -> None:
    row = {"verdict": "held", "estimate": found, "null_value": needed, "conf_low": ends}
    row["conf_high"] = 1.0
    assert tables.found_words(row).replace("\xa0", " ") == said


def test_a_share_is_told_at_equal_loss_too() -> None:
    outcomes = pd.DataFrame(
        {
            "claim_id": ["S1", "S1", "S2", "S5"],
            "condition": ["equal steps", *["equal loss"] * 3],
            "verdict": ["held", "missed", "held", "missed"],
            "estimate": [0.9, 0.8, 0.75, 0.97],
            "conf_low": [0.7, 0.4, 0.6, np.nan],
            "conf_high": [0.95, 0.9, 0.9, np.nan],
            "null_value": [0.1, 0.2, 0.1, 0.6],
            "p_value": [np.nan, np.nan, np.nan, 0.05],
            "smallest_p": [np.nan, np.nan, np.nan, 0.05],
            "n_groups": [8, 4, 4, 6],
            "n_obs": [64, 35, 35, 35],
            "n_planned": 64,
        }
    )
    assert horizon.shares_at_loss(outcomes).replace("\xa0", " ") == (
        "That is after equally many steps. At equal loss, which 35 of 64 networks reach, and 4 of "
        "8 recipes in every shape and with every seed, the share of the recipe among these is "
        "80 % [40 %, 90 %] in growth and 75 % [60 %, 90 %] in the gain of the last block. S1 asked "
        "at both for a lower limit above one half and above the shape's upper one, and is missed."
    )
    assert (
        horizon.share_at_loss(outcomes).replace("\xa0", " ")
        == "At equal loss (4 of 8 recipes): 80 % [40 %, 90 %]."
    )
    assert horizon.share_at_loss(outcomes, has_rule=True).endswith("]; registered rule missed.")
    held = outcomes.assign(verdict="held")
    assert horizon.share_at_loss(held, has_rule=True) == horizon.share_at_loss(held)
    assert horizon.shares_at_loss(held).endswith("in the gain of the last block.")
    untold = outcomes.assign(verdict="cannot be told")
    assert horizon.shares_at_loss(untold).endswith("at equal loss it cannot be told.")
    assert horizon.share_at_loss(untold) == ""


def test_the_lab_is_told_with_chance_and_with_what_it_rests_on() -> None:
    means = pd.DataFrame(
        {
            "recipe": ["gptj", "pythia", "opt", "bloom"],
            "lab": list("AABC"),
            "excess": [1.0, 2, 5, 9],
        }
    )
    said = words.lab_sentence(
        labs.lab_share(means, "excess"), labs.without_each(means, "excess")
    ).replace("\xa0", " ")
    assert said.startswith("Between 4 documented recipes, 4 of them independent, 99 % of the")
    assert "where chance would put 67 % (all 12 ways" in said
    assert "p = 0.17, the smallest possible)" in said
    assert "it is 94 % (p = 0.33, the smallest possible)." in said
    assert (
        words.lab_short(labs.lab_share(means, "excess"))
        .replace("\xa0", " ")
        .endswith("put 67 % (p = 0.17, the smallest possible with 4 independent recipes).")
    )
    whole = labs.lab_share(means, "excess")
    assert "not told from chance" in words.labs_at_loss(whole)
    assert "beyond chance (p\u00a0=\u00a00.020)" in words.labs_at_loss(
        whole.assign(p_value=0.02, smallest_p=0.002)
    )
    assert words.labs_at_loss(whole.iloc[:0]) == ""
    assert said.endswith(
        "We had foreseen the contrary: that recipes of one lab differ more than labs do (S4)."
    )
    alike = labs.lab_share(means.assign(excess=[1.0, 9, 5, 6]), "excess")
    assert "So we had foreseen it: " in words.lab_sentence(alike, alike.iloc[:0])
    runs = means.assign(status="documented")
    pd.testing.assert_frame_equal(
        fleet.lab_shares(runs)[0], labs.lab_share(means.sort_values("recipe"), "excess")
    )
    assert words.lab_short(fleet.lab_shares(runs.assign(lab="A"))[0]) == ""
    assert "cannot be told yet" in words.lab_sentence(*fleet.lab_shares(runs.assign(lab="A")))


def test_the_slope_on_depth_is_told_by_its_parts() -> None:
    crossed = itertools.product((3, 6, 12), (5e-4, 4e-3), (0.1, 4.0))
    runs = pd.DataFrame(list(crossed), columns=["n_layers", "learning_rate", "decay_turns"])
    runs["y"] = 0.1 * np.log(runs["learning_rate"]) - 0.05 * np.log(runs["n_layers"])
    said = words.slope_sentence(slope.slopes(runs, "y"))
    assert "crossed in 12 runs" in said
    assert "the slope −0.170 on ln depth; depth itself makes −0.050" in said
    assert "the rate −0.120" in said
    assert "Published suites show −0.153." in said


def test_the_exhibit_has_a_mark_per_run_and_a_row_per_recipe(
    runs: pd.DataFrame, shares: pd.DataFrame
) -> None:
    documented = runs[runs["status"] == "documented"]
    drawn = charts.chart_exhibit(runs, fleet.band_of_chance(documented), shares).to_dict()
    above, beneath = drawn["vconcat"]
    marks = [layer for layer in above["layer"] if layer["mark"]["type"] == "point"]
    of_marks = [drawn["datasets"][layer["data"]["name"]] for layer in marks]
    assert [len(rows) for rows in of_marks] == [64, 2]
    assert [layer["mark"]["filled"] for layer in marks] == [True, False]
    order = marks[0]["encoding"]["y"]["sort"]
    assert order[0] == "GPT-Neo"
    assert order.count("like LLaMA") == 1
    said = {row["said"] for rows in drawn["datasets"].values() for row in rows if "said" in row}
    assert {"equal writes", "seed alone", "EleutherAI", "a range"} <= said
    assert "lie between labs" in drawn["usermeta"]["finding"]
    assert "hollow for ranges" in drawn["description"]
    assert "colour and name for the lab, size for the depth" in drawn["description"]
    right = charts.chart_exhibit(runs, fleet.Band(0.5, 0.4, 0.6, 0.05, 9), shares).to_dict()
    texts = [
        layer["mark"] for layer in right["vconcat"][0]["layer"] if layer["mark"]["type"] == "text"
    ]
    assert [mark["align"] for mark in texts] == ["right", "left", "left"]
    bars = drawn["datasets"][beneath["layer"][0]["data"]["name"]]
    named = {
        drawn["datasets"][layer["data"]["name"]][0].get("source")
        for layer in beneath["layer"]
        if layer["mark"]["type"] == "text"
    }
    assert {row["source"] for row in bars} <= named
    assert not borrowed(drawn)
    ends = pd.DataFrame(bars).groupby("response")["end"].max()
    assert ends.tolist() == pytest.approx([100.0, 100.0])


def test_the_exhibit_without_shares_or_seeds_shows_what_is_there(
    runs: pd.DataFrame, shares: pd.DataFrame
) -> None:
    one_seed = runs[runs["seed"] == 0]
    drawn = charts.chart_exhibit(one_seed, None, pd.DataFrame()).to_dict()
    (above,) = drawn["vconcat"]
    assert "rect" not in {layer["mark"]["type"] for layer in above["layer"]}
    assert "Beneath" not in drawn["description"]
    small = charts.chart_exhibit(one_seed, None, shares, is_small=True).to_dict()
    assert "hconcat" not in small
    assert small["width"] < above["width"]
    assert small["height"] < above["height"]
    assert small["usermeta"]["finding"].startswith("The recipe makes ")
    assert small["usermeta"]["is_small"]
    assert json.dumps(drawn)


def test_the_tables_have_a_row_per_statement_and_per_response(
    store: Store, shares: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        standing.registered,
        "PREDICTIONS",
        [p for p in standing.registered.PREDICTIONS if p.claim_id in ("S4", "S7")],
    )
    found = standing.statements(store, rng=np.random.default_rng(0))
    rows = tables.outcome_rows(found).set_index("no")
    assert rows.loc["S4", ["steps", "loss", "runs"]].tolist() == ["held", "held", "64 of 64"]
    assert rows.loc["S7", "runs"] == "not begun"
    assert "must hold runs" in rows.loc["S7", "found"]
    widths = tables.width_rows(fleet.widths(shares))
    assert widths["response"].tolist() == ["growth beyond equal writes", "gain of the last block"]
    assert set(widths["planned"]) == {"±5\u00a0%"}
