"""The report's exhibits of shares and power: frames, words and charts."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.delia2026.hierarchy import partition_charts, power_tables
from analysis.delia2026.hierarchy import partition_tables as partition_exhibits
from analysis.mixed.power import two_group_power
from analysis.tidy import prose
from analysis.tidy.columns import texts
from tests.analysis.drawn import borrowed, encodings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(request):
    return partition_exhibits.base_models(request.getfixturevalue("shipped_store"))


@pytest.fixture(scope="module")
def subsets(base):
    return partition_exhibits.explained(base)


@pytest.fixture(scope="module")
def deviations(base):
    return power_tables.components(base)


@pytest.fixture(scope="module")
def curves(base, deviations):
    return power_tables.power_curves(base, deviations)


def test_the_chart_of_shares_has_fields_units_and_more_than_colour(subsets):
    spec = partition_charts.chart_share_methods(partition_exhibits.shares(subsets)).to_dict()
    columns = {column for rows in spec["datasets"].values() for column in rows[0]}
    parts = [part for encoding in encodings(spec) for part in encoding.items()]
    assert {part["field"] for _, part in parts if "field" in part} <= columns
    assert {"color", "shape"} <= {name for name, _ in parts}
    assert not borrowed(spec)
    shares = partition_exhibits.shares(subsets).set_index(["block", "term"])["share"]
    most = f"{100 * shares['suite', 'alone']:.0f}"
    assert spec["usermeta"]["finding"].startswith(f"By itself the suite explains {most}")


def general_shares(subsets):
    """Return the mean R squared that each cause adds over all orders of entry, order by order."""
    names = partition_exhibits.SEPARATE
    bit = {name: 1 << subsets.names.index(name) for name in names}
    orders = list(itertools.permutations(names))
    added = dict.fromkeys(names, 0.0)
    for order in orders:
        inside = 0
        for name in order:
            gained = subsets.r_squared[inside | bit[name]] - subsets.r_squared[inside]
            added[name] += gained / len(orders)
            inside |= bit[name]
    return pd.Series(added)


def test_rankings_count_what_the_frame_holds_by_lab_and_by_suite(subsets):
    shares = partition_exhibits.shares(subsets).set_index(["block", "term"])["share"]
    assert shares["lab", "unique"] == pytest.approx(0, abs=1e-12)
    words = partition_exhibits.ranking_words(subsets)
    table = partition_exhibits.rankings(subsets)
    general = table[table["term"] == "general"]
    assert words["pairs"] == prose.among(int(general["holds"].notna().sum()), 6)
    averages = general_shares(subsets)
    written = [f"{block} {share:.2f}" for block, share in averages.sort_values().items()]
    assert words["shapley"] == prose.listing(written[::-1])
    unique = shares.xs("unique", level="term").drop("lab").sort_values(ascending=False)
    assert words["unique"] == prose.listing([f"{name} {it:.2f}" for name, it in unique.items()])
    assert (words["named"] == "none") == general["holds"].isna().all()
    table = partition_exhibits.rankings(subsets, partition_exhibits.WITH_SUITE)
    contrasts = " ".join(table["contrast"])
    assert "suite" in contrasts
    assert "lab" not in contrasts
    words = partition_exhibits.ranking_words(subsets, partition_exhibits.WITH_SUITE)
    by_lab = partition_exhibits.ranking_words(subsets)
    assert float(words["r_squared"]) > float(by_lab["r_squared"])


def test_matched_models_have_one_shape_and_two_labs(base):
    matches = partition_exhibits.same_shape(base)
    for _, rows in matches.groupby("match"):
        assert len(set(rows["lab"])) > 1
        for name in ("n_layers", "n_heads", "d_head"):
            assert len(set(rows[name])) == 1
    rows = partition_exhibits.match_rows(base)
    assert len(rows) == matches["match"].nunique()
    words = partition_exhibits.match_words(base)
    assert words["lower"].replace("\xa0", " ") == f"all {len(rows)}"
    assert partition_exhibits.variation_words(base)["suites"].replace("\xa0", " ") == "4 of the 7"


def test_the_table_of_power_and_its_words_follow_the_curves(base, curves, deviations):
    observed = power_tables.observed_effects(base)
    assert {*zip(observed["term"], observed["method"], strict=True)} == {
        *zip(curves["term"], curves["method"], strict=True)
    }
    rows = texts(power_tables.detectable(observed, curves), power_tables.COLUMNS)
    assert len(rows) == len(observed) == 5
    words = power_tables.design_words(observed, deviations, curves)
    effect = abs(observed.loc[observed["term"] == "eleuther", "estimate"].iloc[0])
    by_term = deviations.set_index("term")
    within = by_term.loc["within", "estimate"] / power_tables.MODELS_EACH**0.5

    def least(between):
        """Return the fewest suites whose t test has the power, each a mean of its models."""
        delta = effect / np.hypot(between, within)
        return next(n for n in range(2, 9999) if two_group_power(delta, n, 0.05) >= 0.8)

    needed, low, high = (
        least(by_term.loc["between", end]) for end in ("estimate", "conf_low", "conf_high")
    )
    assert words["suites"].replace(prose.NO_BREAK, " ") == f"{needed} suites"
    assert words["suites_range"] == f"{low} to {high}"
    labs = curves[curves["method"] == "lab"]
    assert set(labs["power"]) == {0.0}
    assert (labs["smallest_p"] > 0.05).all()
