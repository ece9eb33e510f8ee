"""The report's exhibits of shares and power: frames, words and charts."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from analysis.heritage.hierarchy import partition_charts
from analysis.heritage.hierarchy import partition_tables as partition_exhibits
from analysis.tidy import prose
from tests.analysis.drawn import borrowed, encodings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(request: pytest.FixtureRequest) -> pd.DataFrame:
    return partition_exhibits.base_models(request.getfixturevalue("shipped_store"))


@pytest.fixture(scope="module")
def subsets(base: pd.DataFrame) -> Any:
    return partition_exhibits.explained(base)


@pytest.fixture(scope="module")
def deviations(base: pd.DataFrame) -> pd.DataFrame:
    return partition_exhibits.components(base)


@pytest.fixture(scope="module")
def curves(base: pd.DataFrame, deviations: pd.DataFrame) -> pd.DataFrame:
    return partition_exhibits.power_curves(base, deviations)


@pytest.fixture(scope="module")
def found(base: pd.DataFrame) -> pd.DataFrame:
    return partition_exhibits.found_effects(base)


def test_the_chart_of_shares_has_fields_units_and_more_than_colour(subsets: Any) -> None:
    spec = partition_charts.chart_share_methods(partition_exhibits.shares(subsets)).to_dict()
    columns = {column for rows in spec["datasets"].values() for column in rows[0]}
    parts = [part for encoding in encodings(spec) for part in encoding.items()]
    assert {part["field"] for _, part in parts if "field" in part} <= columns
    assert {"color", "shape"} <= {name for name, _ in parts}
    assert not borrowed(spec)


def test_the_lab_explains_nothing_beside_its_suites(subsets: Any) -> None:
    shares = partition_exhibits.shares(subsets).set_index(["block", "method"])["share"]
    assert shares["lab", "entering last"] == pytest.approx(0, abs=1e-12)
    average = shares.xs(partition_exhibits.AVERAGED, level="method")
    assert average.sum() == pytest.approx(subsets.r_squared[-1])


def test_ranking_words_count_what_the_frame_holds(subsets: Any) -> None:
    words = partition_exhibits.ranking_words(subsets)
    found = partition_exhibits.rankings(subsets)
    general = found[found["term"] == "general"]
    assert words["pairs"] == prose.share_of(int(general["holds"].notna().sum()), 6)
    assert (words["named"] == "none") == general["holds"].isna().all()


def test_matched_models_have_one_shape_and_two_labs(base: pd.DataFrame) -> None:
    matches = partition_exhibits.same_shape(base)
    for _, own in matches.groupby("match"):
        assert len(set(own["lab"])) > 1
        for name in ("n_layers", "n_heads", "d_head"):
            assert len(set(own[name])) == 1
    rows = partition_exhibits.match_rows(base)
    assert len(rows) == matches["match"].nunique()
    words = partition_exhibits.match_words(base)
    assert words["lower"].endswith(f"of {len(rows)}")


def test_no_test_with_labs_as_units_can_reject(curves: pd.DataFrame) -> None:
    labs = curves[curves["test"].str.endswith("labs exchanged")]
    assert set(labs["power"]) == {0.0}
    assert (labs["smallest_p"] > 0.05).all()


def test_every_test_that_has_a_curve_was_made(found: pd.DataFrame, curves: pd.DataFrame) -> None:
    assert set(found["test"]) == set(curves["test"])
    assert len(found) == 8


def test_the_suite_takes_the_place_of_its_lab_in_a_second_ranking(subsets: Any) -> None:
    found = partition_exhibits.rankings(subsets, partition_exhibits.WITH_SUITE)
    contrasts = " ".join(found["contrast"])
    assert "suite" in contrasts
    assert "lab" not in contrasts
    words = partition_exhibits.ranking_words(subsets, partition_exhibits.WITH_SUITE)
    by_lab = partition_exhibits.ranking_words(subsets)
    assert float(words["r_squared"]) > float(by_lab["r_squared"])


def test_exhibits_of_power_are_text(
    found: pd.DataFrame, curves: pd.DataFrame, deviations: pd.DataFrame
) -> None:
    rows = partition_exhibits.detectable_rows(found, curves)
    assert len(rows) == 8
    assert all(isinstance(value, str) for value in rows.to_numpy().ravel())
    words = partition_exhibits.design_words(found, deviations, curves)
    low, high = (int(end) for end in words["suites_range"].split(" to "))
    assert low <= int(words["suites"].split()[0]) <= high


def test_confounding_and_variation_are_text(base: pd.DataFrame) -> None:
    rows = partition_exhibits.confounding_rows(base)
    assert rows["block"].tolist() == ["lab", "suite", "geometry", "depth", "scale"]
    assert rows["columns"].tolist() == ["4", "6", "2", "1", "1"]
    suite = rows[rows["block"] == "suite"].to_dict("records")[0]
    assert (suite["predicted"], suite["interval"]) == ("0.00", prose.MISSING)
    assert partition_exhibits.variation_words(base)["suites"] == "4 of 7"
