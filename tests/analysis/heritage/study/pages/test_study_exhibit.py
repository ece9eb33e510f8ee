"""The study shown: its exhibit, its tables, and words that follow from its numbers."""

import numpy as np
import pytest

from analysis.heritage.study import fleet
from analysis.heritage.study.pages import charts, tables, words
from tests.analysis.drawn import borrowed
from tests.analysis.heritage.study.simulated import filled, packages


@pytest.fixture(scope="module")
def store(tmp_path_factory):
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
def runs(store):
    return fleet.recipe_runs(store)


@pytest.fixture(scope="module")
def shares(store):
    return fleet.response_shares(store, rng=np.random.default_rng(2))


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


def test_the_exhibit_has_a_mark_per_run_and_a_row_per_recipe(runs, shares):
    documented = runs[runs["status"] == "documented"]
    drawn = charts.chart_exhibit(runs, fleet.band_of_chance(documented), shares).to_dict()
    marks = [layer for layer in drawn["layer"] if layer["mark"]["type"] == "point"]
    of_marks = [drawn["datasets"][layer["data"]["name"]] for layer in marks]
    assert [len(rows) for rows in of_marks] == [64, 2]
    assert [layer["mark"]["filled"] for layer in marks] == [True, False]
    order = marks[0]["encoding"]["y"]["sort"]
    assert order[0] == "GPT-Neo"
    assert order.count("like LLaMA") == 1
    labels = {row.get("label") for rows in drawn["datasets"].values() for row in rows}
    assert {"equal writes", "seed alone", "EleutherAI", "a range"} <= labels
    assert words.shares(shares)["recipe"] in drawn["usermeta"]["finding"]
    assert not borrowed(drawn)
