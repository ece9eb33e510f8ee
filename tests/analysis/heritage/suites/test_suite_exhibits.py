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
def told(store: Store) -> suites.Views:
    return suites.views(store)


def test_tables_are_text_and_have_their_headers(told: suites.Views) -> None:
    tables = {
        "orders": (suites.order_rows(told.orders), suites.ORDERS),
        "shares": (suites.share_rows(told.shares, told.tests), suites.SHARES),
        "predictions": (suites.prediction_rows(told.predictions), suites.PREDICTIONS),
    }
    for name, (rows, heads) in tables.items():
        assert list(rows.columns) == list(heads), name
        assert all(isinstance(value, str) for value in rows.to_numpy().ravel()), name
    assert "lab plus suite" in set(tables["shares"][0]["group"])


def test_the_suite_that_carries_the_difference_is_named(told: suites.Views) -> None:
    words = suites.words(told)
    assert (words["driver"], words["mostly"]) == ("GPT-Neo", "mostly")


def test_the_words_follow_the_numbers(told: suites.Views) -> None:
    halved = told.deviations.assign(estimate=told.deviations["estimate"] / 2)
    other = suites.Views(
        told.models, told.orders, told.tests, told.shares, halved, told.predictions, told.without
    )
    assert suites.words(other)["suite_percent"] != suites.words(told)["suite_percent"]
