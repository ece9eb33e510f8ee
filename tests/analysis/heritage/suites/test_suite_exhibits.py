"""What the report draws, prints and says of suites as recipes."""

import pytest

from analysis.heritage.suites import suites_tables as suites

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(shipped_store):
    return shipped_store


@pytest.fixture(scope="module")
def answer(store):
    return suites.views(store)


def test_the_suite_that_carries_the_difference_is_named(answer):
    words = suites.words(answer)
    assert (words["driver"], words["mostly"]) == ("GPT-Neo", "mostly")
