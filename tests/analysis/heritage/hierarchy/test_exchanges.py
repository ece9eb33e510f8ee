"""Every exchange of whole suites and labs: p against all relabellings counted here."""

from itertools import combinations

import numpy as np
import pytest

from analysis.heritage.hierarchy import exchanges
from analysis.heritage.sign.readings import models


@pytest.fixture(scope="module")
def table(shipped_store):
    return exchanges.exchanges(shipped_store).set_index("specification")


def test_p_of_the_hunt_by_suites_is_that_of_all_ways_to_choose_them(table, shipped_store):
    rows = models(shipped_store, "hunt")
    dampens = (rows["sign_strict"] == "dampen").astype(float)
    means = dampens.groupby(rows["suite"]).mean()
    ours = rows.groupby("suite")["lab"].first() == "EleutherAI"
    ways = [
        means.iloc[list(some)].mean() - means.drop(means.index[list(some)]).mean()
        for some in combinations(range(len(means)), int(ours.sum()))
    ]
    observed = means[ours].mean() - means[~ours].mean()
    expected = np.mean(np.abs(ways) >= abs(observed) - 1e-12)
    assert table.loc["hunt_suite_share_of_units", "p_value"] == pytest.approx(expected)


def test_known_p_and_the_ends_of_the_range(table):
    known = {"share_of_units": 6, "share_pooled": 3, "gain_of_units": 10}
    for statistic, ways in known.items():
        assert table.loc[f"hunt_suite_{statistic}", "p_value"] == pytest.approx(ways / 35)
    told = exchanges.bounds(table.reset_index())
    assert float(told["least"]) == pytest.approx(table["p_value"].min(), abs=0.0006)
    assert float(told["most"]) == pytest.approx(table["p_value"].max(), abs=0.006)
    assert (table["p_value"] >= table["smallest_p"] - 1e-12).all()
