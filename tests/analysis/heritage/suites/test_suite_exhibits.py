"""What the report draws, prints and says of suites as recipes and of equal writes."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.heritage.depth import equal_writes
from analysis.heritage.depth import equal_writes_charts as equal_exhibits
from analysis.heritage.suites import suites_tables as suites
from analysis.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(shipped_store: Store) -> Store:
    return shipped_store


@pytest.fixture(scope="module")
def told(store: Store) -> suites.Views:
    return suites.views(store)


def test_the_suite_that_carries_the_difference_is_named(told: suites.Views) -> None:
    words = suites.words(told)
    assert (words["driver"], words["mostly"]) == ("GPT-Neo", "mostly")


def test_every_measured_block_is_in_the_plane_and_the_curve_is_half_the_ratio(
    store: Store,
) -> None:
    writes = equal_writes.measured_writes(store)
    spec = equal_exhibits.chart_writes(writes).to_dict()
    sets = [pd.DataFrame(rows) for rows in spec["datasets"].values()]
    drawn = next(rows for rows in sets if "family" in rows)
    assert len(drawn) == int((writes["layer"] > 0).sum())
    curve = next(rows for rows in sets if set(rows) == {"ratio", "cosine"})
    assert (curve["cosine"] + curve["ratio"] / 2).abs().max() < 1e-12
    later = writes[writes["layer"] > 0]
    astray = later.assign(cosine=1.0, share_shrinking=[0.6] * 3 + [0.1] * (len(later) - 3))
    said = equal_exhibits.chart_writes(astray).to_dict()["usermeta"]["finding"]
    assert said.replace("\xa0", " ") == (
        f"{len(later) - 3} of {len(later)} blocks after block 0 lengthen the stream of most tokens."
    )
