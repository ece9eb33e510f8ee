from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.partition import cross_validation
from analysis.tidy.errors import ColumnError, DesignError

R = Path(__file__).parents[3] / "r"

#: lm() and lstsq differ in the order of elimination.
AGREEMENT = 1e-11

BLOCKS = {"lab": ["lab"], "geometry": ["density", "layers"], "scale": ["log_parameters"]}

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "cross_validation.csv")


def scores(rows: pd.DataFrame, **blocks: list[str]) -> pd.DataFrame:
    return cross_validation.leave_one_group_out(
        rows, response="gain", blocks=blocks or BLOCKS, group="suite"
    )


def test_predictive_r_squared_agrees_with_lm_refitted_without_each_suite() -> None:
    result = scores(models)
    assert result["block"].tolist() == answers["block"].tolist()
    np.testing.assert_allclose(result["estimate"], answers["estimate"], rtol=AGREEMENT)


def test_rows_on_a_line_are_predicted_perfectly() -> None:
    rows = pd.DataFrame({"suite": list("aabbcc"), "x": [1.0, 2, 3, 5, 8, 13]})
    row = scores(rows.assign(gain=2 * rows["x"] - 7), scale=["x"]).iloc[0]
    assert row["estimate"] == pytest.approx(1)
    assert row["note"] == ""


def test_three_counted_suites_predicted_from_a_lab_never_seen_score_zero() -> None:
    rows = pd.DataFrame({"suite": list("abc"), "lab": list("xyz"), "gain": [0.0, 3.0, 6.0]})
    row = scores(rows, lab=["lab"]).iloc[0]
    # Every prediction is the training mean, so SSE equals SST.
    assert row["estimate"] == 0
    assert row["note"] == "3 rows hold a level never seen in training; its effect is taken as zero."
    both = scores(rows.assign(x=[1.0, 2.0, 4.0]), both=["lab", "x"]).iloc[0]
    assert both["note"].startswith("3 rows hold a level never seen in training")


def test_a_lab_seen_in_training_is_predicted_by_its_mean() -> None:
    rows = pd.DataFrame(
        {"suite": list("abcd"), "lab": list("xxyy"), "gain": [1.0, 3.0, 10.0, 10.0]}
    )
    row = scores(rows, lab=["lab"]).iloc[0]
    # Errors: 1 - 3, 3 - 1, 0, 0. Training means: 23/3, 7, 14/3, 14/3.
    squared_total = (1 - 23 / 3) ** 2 + (3 - 7) ** 2 + 2 * (10 - 14 / 3) ** 2
    assert row["estimate"] == pytest.approx(1 - 8 / squared_total, rel=1e-13)
    # The error of a ratio of means over four suites, and t of three degrees of freedom.
    totals = np.array([(1 - 23 / 3) ** 2, (3 - 7) ** 2, (16 / 3) ** 2, (16 / 3) ** 2])
    deviations = (np.array([4, 4, 0, 0]) - 8 / squared_total * totals) / totals.mean()
    std_error = ((deviations**2).sum() / 3) ** 0.5 / 2
    assert row["std_error"] == pytest.approx(std_error, rel=1e-12)
    assert row["df"] == 3
    assert row["conf_high"] - row["estimate"] == pytest.approx(3.182446305 * std_error, rel=1e-9)


def test_predictors_that_training_cannot_separate_are_noted() -> None:
    row = scores(models, both=["lab", "heritage"]).iloc[0]
    assert "13 of 13 folds training cannot tell the predictors apart" in row["note"]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), scale=st.sampled_from([1e-5, 1e5]))
def test_order_and_units_do_not_matter(seed: int, scale: float) -> None:
    changed = models.assign(
        gain=scale * models["gain"] - 3, density=models["density"] * scale
    ).sample(frac=1, random_state=seed)
    plain, other = scores(models), scores(changed)
    np.testing.assert_allclose(other["estimate"], plain["estimate"], atol=1e-8)
    np.testing.assert_allclose(other["std_error"], plain["std_error"], atol=1e-8)
    assert (plain["estimate"] <= 1).all()
    assert (
        (plain["conf_low"] < plain["estimate"]) & (plain["estimate"] < plain["conf_high"])
    ).all()


def test_the_response_as_predictor_and_one_group_are_refused() -> None:
    with pytest.raises(ColumnError, match=r"not the response; \['gain'\] are used twice"):
        scores(models, cheat=["gain"])
    with pytest.raises(DesignError, match="At least two levels of 'suite'"):
        scores(models.query("suite == 'A1'"), scale=["density"])
