"""What the report draws, prints and says of suites as recipes."""

from __future__ import annotations

import pytest

from analysis.heritage.suites import suites_tables as suites
from analysis.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(shipped_store: Store) -> Store:
    return shipped_store


@pytest.fixture(scope="module")
def answer(store: Store) -> suites.Views:
    return suites.views(store)


def test_the_suite_that_carries_the_difference_is_named(answer: suites.Views) -> None:
    words = suites.words(answer)
    assert (words["driver"], words["mostly"]) == ("GPT-Neo", "mostly")
