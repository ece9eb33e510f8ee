"""The sections on position and on how far the answer holds: words follow the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.exhibits.heritage import position, robustness
from analysis.questions.position.blocks import QUARTERS, published_blocks
from analysis.questions.position.suites import (
    fit,
    part_by_part,
    part_tests,
    summaries,
)
from analysis.questions.robustness import beliefs, definitions, unmeasured
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
    said = position.words(tests_found, without, numbers, numbers)
    assert said["where"] == "the last quarter"
    assert said["lowest"].endswith("(GPT-Neo)")
    other = tests_found.assign(p_adjusted=[0.01, 0.5, 0.5, 0.02])
    assert position.words(other, without, numbers, numbers)["where"] == (
        "the first quarter and the last quarter"
    )
    none = tests_found.assign(p_adjusted=0.5)
    assert position.words(none, without, numbers, numbers)["where"] == "no quarter"


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
    )
    chart = position.chart_profiles(profiles).to_dict()
    assert [panel["title"]["text"] for panel in chart["concat"]] == ["A", "B"]
    titles = {each["y"].get("title") for each in encodings(chart) if "y" in each}
    assert "gain per block" in titles


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
    assert "share of the variance" in titles
    foreseen = robustness.prediction_rows(
        beliefs.predictions([each for each in believed if each.metric == robustness.PENULTIMATE])
    )
    assert list(foreseen.columns) == list(robustness.NOVELTIES)


def test_traits_are_told_contrast_by_contrast(published_store):
    found = unmeasured.sensitivity(definitions.gains(published_store))
    rows = robustness.trait_rows(found)
    assert list(rows.columns) == list(robustness.TRAITS)
    assert rows["value"].str.endswith("%").all()
