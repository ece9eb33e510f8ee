"""The section on position: words follow the numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.heritage.suites import position_tables as position
from analysis.heritage.suites.blocks import published_blocks
from analysis.heritage.suites.suites_by_block import fit, part_tests


@pytest.fixture(scope="module")
def blocks(published_store):
    return published_blocks(published_store)


@pytest.fixture(scope="module")
def tests_found(blocks):
    return part_tests(fit(blocks))


def test_the_sentence_names_the_quarters_that_differ(tests_found):
    suites = ("GPT-Neo", "Pythia")
    without = pd.concat([tests_found.assign(left_out=suite) for suite in suites])

    def told(tests: pd.DataFrame) -> position.Views:
        return position.Views(tests, without)

    said = position.words(told(tests_found))
    assert said["where"] == "the last quarter"
    assert said["lowest"].endswith("(GPT-Neo)")
    other = tests_found.assign(p_adjusted=[0.01, 0.5, 0.5, 0.02])
    both = "the first quarter and the last quarter"
    assert position.words(told(other))["where"] == both
    none = tests_found.assign(p_adjusted=0.5)
    assert position.words(told(none))["where"] == "no quarter"
