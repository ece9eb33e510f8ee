"""What the estimate of a claim is, and the unit in which a table prints it."""

from pathlib import Path

import pandas as pd
import pytest

from analysis.audit.pages import estimates as estimates_shown
from analysis.tidy import prose

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def judged():
    return pd.read_csv(ROOT / "reports/claims.csv")


def test_every_estimate_of_the_audit_has_a_name(judged):
    rows = judged[judged["estimate"].notna()].to_dict("records")
    unnamed = {row["claim_id"] for row in rows if estimates_shown.name(row) == prose.MISSING}
    assert unnamed == set()


def test_errors_of_the_formula_have_one_unit(judged):
    rows = judged.set_index("claim_id").loc[[40, 41]].to_dict("records")
    assert {estimates_shown.name(row) for row in rows} == {"error"}
    shown = [estimates_shown.estimate(row) for row in rows]
    assert shown == [f"error {value}\u00a0%" for value in (15.7, 55.7)]


@pytest.mark.parametrize(
    ("measure", "is_percent", "estimate", "printed"),
    [
        ("share", False, 0.8, "share 80\u00a0%"),
        ("error", True, 55.69, "error 55.7\u00a0%"),
        ("count", False, 33.0, "count 33"),
        ("ratio", False, 9.92, "ratio 9.92"),
        ("mean trace", False, 62695.9, "mean trace 62,696"),
        ("r", False, float("nan"), "–"),
        ("", False, 0.5, "0.50"),
    ],
)
def test_an_estimate_by_hand(measure, is_percent, estimate, printed):
    row = {"measure": measure, "is_percent": is_percent, "estimate": estimate}
    assert estimates_shown.estimate(row) == printed


def test_an_interval_has_the_unit_of_its_estimate():
    row = {
        "estimate": 0.8,
        "conf_low": 0.28,
        "conf_high": 0.99,
        "measure": "share",
        "is_percent": False,
    }
    assert estimates_shown.interval(row) == "[28\u00a0%,\u00a099\u00a0%]"
    row["measure"] = "r"
    assert estimates_shown.interval(row) == "[0.28,\u00a00.99]"
    assert estimates_shown.interval(row | {"conf_low": float("nan")}) == "–"
