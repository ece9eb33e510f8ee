"""Readings of a claim about signs: each set of models is judged once."""

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit.evidence.checks import Check
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.sign import readings


def gains(**of_models):
    return pd.DataFrame({"model_id": list(of_models), "gain_mean": list(of_models.values())})


def test_readings_with_the_same_rows_are_one_check_that_names_them():
    sets = {
        "all": gains(a=0.9, b=1.2),
        "all, in another order": gains(b=1.2, a=0.9),
        "fewer": gains(b=1.2),
        "other gains": gains(a=0.9, b=1.3),
    }
    judged = readings.each_once(
        sets, lambda condition, rows: Check("part", condition, True, note=f"{len(rows)} models.")
    )
    assert [(check.condition, check.note) for check in judged] == [
        ("all", "2 models. The same rows: all, in another order."),
        ("fewer", "1 models."),
        ("other gains", "2 models."),
    ]


@pytest.mark.parametrize("claim_id", [9, 22, 23])
def test_no_two_checks_of_a_claim_rest_on_the_same_models(shipped_store, claim_id):
    rows = claims.checks(shipped_store, claim_id, CLAIMS)
    counted = rows[~rows["condition"].str.startswith("beyond these models")]
    assert not counted.duplicated(["term", "method", "estimate", "n_models", "evidence"]).any()
