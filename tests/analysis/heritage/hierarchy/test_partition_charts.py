"""The report's exhibits of shares, power and laws of depth: frames, words and charts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.depth import depth_law_tables as depth_law_exhibits
from analysis.heritage.depth.laws_of_depth import LAWS_OF
from analysis.heritage.hierarchy import findings, partition_charts
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


@pytest.fixture(scope="module")
def gains(request: pytest.FixtureRequest) -> pd.DataFrame:
    return depth_law_exhibits.gains(request.getfixturevalue("shipped_store"))


@pytest.fixture(scope="module")
def drawn(subsets: Any, curves: pd.DataFrame, gains: pd.DataFrame) -> dict[str, Any]:
    return {
        "shares": partition_charts.chart_share_methods(partition_exhibits.shares(subsets)),
        "power": partition_charts.chart_power(partition_exhibits.drawn_curves(curves)),
        "laws": partition_charts.chart_laws(gains, depth_law_exhibits.law_curves(gains)),
    }


def test_every_chart_has_a_description_and_fields_that_exist(drawn: dict[str, Any]) -> None:
    for name, chart in drawn.items():
        spec = chart.to_dict()
        assert len(spec["description"]) > 60, name
        columns = {column for rows in spec["datasets"].values() for column in rows[0]}
        for encoding in encodings(spec):
            fields = {part["field"] for part in encoding.values() if "field" in part}
            assert fields <= columns, name


def test_axes_have_units(drawn: dict[str, Any]) -> None:
    for name, chart in drawn.items():
        titles = [
            part.get("title")
            for encoding in encodings(chart.to_dict())
            for axis, part in encoding.items()
            if axis in ("x", "y") and part.get("type") == "quantitative" and part.get("title")
        ]
        assert titles, name
        assert all("[" in "".join(title) for title in titles), name


def test_series_differ_by_more_than_colour(drawn: dict[str, Any]) -> None:
    found = {
        name: {key for e in encodings(chart.to_dict()) for key in e}
        for name, chart in drawn.items()
    }
    assert {"color", "shape"} <= found["shares"]
    assert {"color", "strokeDash"} <= found["power"]
    assert {"color", "strokeDash"} <= found["laws"]


def test_the_figure_of_power_shows_no_power_at_the_effect_found(drawn: dict[str, Any]) -> None:
    marks = {layer["mark"]["type"] for layer in drawn["power"].to_dict()["layer"]}
    assert marks == {"rule", "line"}


def test_the_colour_of_a_lab_stands_for_that_lab_alone(drawn: dict[str, Any]) -> None:
    assert not [name for name, chart in drawn.items() if borrowed(chart.to_dict())]


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


def test_laws_are_drawn_and_tabled_for_every_definition(gains: pd.DataFrame) -> None:
    curves = depth_law_exhibits.law_curves(gains)
    assert curves.groupby("definition")["law"].nunique().to_dict() == dict.fromkeys(LAWS_OF, 8)
    for definition in LAWS_OF:
        rows = depth_law_exhibits.law_rows(gains, definition)
        assert "0.0" in rows["delta"].tolist()
        words = depth_law_exhibits.law_words(gains, definition)
        assert words["claimed_root"] == prose.number(float(np.log(10)))


def test_the_bound_is_counted_as_the_claim_counts_it(
    gains: pd.DataFrame, request: pytest.FixtureRequest
) -> None:
    from analysis.heritage.depth import claims_law as depth

    rows = depth_law_exhibits.bound_rows(gains)
    counted = rows[rows["term"] == "models above the bound"].drop_duplicates("definition")
    shares = [share_in(text) for text in counted["count"]]
    checks = depth.bound(request.getfixturevalue("shipped_store"))
    expected = {check.id: check.estimate for check in checks}
    assert shares[0] == pytest.approx(expected["bound_penultimate_base"])
    assert shares[1] == pytest.approx(expected["bound_largest_base"])


def share_in(text: str) -> float:
    part, whole = text.split(" of ")
    return int(part) / int(whole)


def test_the_finding_on_power_says_what_the_table_says_of_the_first_effect(
    found: pd.DataFrame, curves: pd.DataFrame
) -> None:
    rows = partition_exhibits.detectable_rows(found, curves).set_index("test")["detectable"]
    said = findings.power(partition_exhibits.drawn_curves(curves), 0.8)
    by_table = rows[["EleutherAI or not: mixed model", "EleutherAI or not: suites exchanged"]]
    assert said == (
        f"EleutherAI or not: seen with a power of 0.8 from {by_table.iloc[0]} nat on (mixed model),"
        f" from {by_table.iloc[1]} nat on (suites exchanged) and never (labs exchanged)."
    )
