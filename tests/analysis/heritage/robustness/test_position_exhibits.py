"""The sections on position and on how far the answer holds: words follow the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.heritage.robustness import definitions, unmeasured
from analysis.heritage.robustness import position_charts as position
from analysis.heritage.robustness import priors as beliefs
from analysis.heritage.robustness import robustness_charts as robustness
from analysis.heritage.robustness.blocks import QUARTERS, published_blocks
from analysis.heritage.robustness.suites_by_block import fit, part_by_part, part_tests, summaries
from tests.analysis.drawn import encodings


@pytest.fixture(scope="module")
def blocks(published_store):
    return published_blocks(published_store)


@pytest.fixture(scope="module")
def tests_found(blocks):
    return part_tests(fit(blocks))


def test_the_sentence_names_the_quarters_that_differ(blocks, tests_found):
    numbers = summaries(blocks)
    suites = ("GPT-Neo", "Pythia")
    without = pd.concat([tests_found.assign(left_out=suite) for suite in suites])

    def told(tests: pd.DataFrame) -> position.Views:
        by_cut = {"quarter": tests}
        return position.Views(by_cut, by_cut, without, numbers, numbers, numbers)

    said = position.words(told(tests_found))
    assert said["where"] == "the last quarter"
    assert said["lowest"].endswith("(GPT-Neo)")
    other = tests_found.assign(p_adjusted=[0.01, 0.5, 0.5, 0.02])
    both = "the first quarter and the last quarter"
    assert position.words(told(other))["where"] == both
    none = tests_found.assign(p_adjusted=0.5)
    assert position.words(told(none))["where"] == "no quarter"


def test_a_row_of_the_table_is_a_part(blocks, tests_found):
    rows = position.part_rows(tests_found, part_by_part(blocks))
    assert list(rows.columns) == list(position.PARTS)
    assert tuple(rows["part"]) == QUARTERS
    assert rows["lowest"].iloc[-1] == "GPT-Neo 0.94"


def test_the_chart_has_a_panel_a_suite_and_gains_on_its_axis():
    profiles = pd.DataFrame(
        [
            {"part": part, "level": suite, "estimate": 0.0, "conf_low": -0.1, "conf_high": 0.1}
            for part in QUARTERS
            for suite in ("A", "B")
        ]
    ).assign(lab=lambda rows: rows["level"].map({"A": "Meta", "B": "TII"}))
    chart = position.chart_profiles(profiles).to_dict()
    assert [panel["title"]["text"] for panel in chart["concat"]] == ["A", "B"]
    assert "gain per block [ratio]" in chart["title"]["text"]
    scales = [each["color"]["scale"]["domain"] for each in encodings(chart) if "color" in each]
    assert scales
    assert all(domain == ["Meta", "TII"] for domain in scales)  # one scale, or panels would share


def test_every_contrast_has_a_row_and_a_dash_where_the_curve_lacks_its_definition():
    contrasts = pd.DataFrame(
        {
            "metric": ["gain_maximum", "gain_embedding"],
            "estimate": [0.5, -1.0],
            "conf_low": [0.25, -2.0],
            "conf_high": [0.75, 0.5],
            "n_models": [20, 20],
            "n_suites": [7, 7],
            "note": ["The fit is singular.", "The fit is singular."],
        }
    )
    curve = pd.DataFrame(
        {"gain": ["largest block"] * 3 + ["last block"], "standardised": [0.1, 0.3, 0.9, 2.0]}
    )
    rows = robustness.jointly_rows(contrasts, curve)
    assert rows.to_dict("records") == [
        {
            "gain": "largest block",
            "n": "3",
            "median": "0.30",
            "joint": "0.50",
            "interval": "[0.25,\N{NO-BREAK SPACE}0.75]",
            "models": "20 (7)",
        },
        {
            "gain": "block 0",
            "n": "–",
            "median": "–",
            "joint": "−1.00",
            "interval": "[−2.00,\N{NO-BREAK SPACE}0.50]",
            "models": "20 (7)",
        },
    ]
    said = robustness.jointly_words(contrasts)
    assert (said["away"], said["claimed"], said["low"]) == ("1 of 2", "1 of 2", "−2.0")
    assert said["note"] == "The fit is singular."


@pytest.fixture(scope="module")
def believed(published_store):
    return beliefs.believe(published_store, [beliefs.MIDDLE], n_nodes=2**8)


def test_beliefs_are_drawn_and_told_for_every_definition(believed):
    shares, pairs = beliefs.shares(believed), beliefs.pairs(believed)
    words = robustness.belief_words(shares, pairs)
    assert all("%" in said for said in words.values())
    rows = robustness.ranking_rows(beliefs.rankings(believed), pairs)
    assert list(rows.columns) == list(robustness.RANKINGS)
    assert len(rows) == len(robustness.METRICS)
    titles = {
        each["x"].get("title")
        for each in encodings(robustness.chart_beliefs(shares).to_dict())
        if "x" in each
    }
    assert "share of the variance [0 to 1]" in titles
    foreseen = robustness.prediction_rows(
        beliefs.predictions([each for each in believed if each.metric == robustness.PENULTIMATE])
    )
    assert list(foreseen.columns) == list(robustness.NOVELTIES)


def test_traits_are_told_contrast_by_contrast(published_store):
    found = unmeasured.sensitivity(definitions.gains(published_store))
    rows = robustness.trait_rows(found)
    assert list(rows.columns) == list(robustness.TRAITS)
    assert rows["value"].str.endswith("%").all()
