from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.effects import meta_analysis
from analysis.tidy.errors import DesignError

R = Path(__file__).parents[3] / "r"

#: Closed forms but for tau squared; metafor's REML steps stop at 1e-14, its Q-profile at 1e-12.
AGREEMENT = 1e-7

answers = pd.read_csv(R / "meta_analysis.csv")
studies = pd.read_csv(R / "meta_analysis_studies.csv")
COMPARED = [
    *("estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"),
    *("predicted_low", "predicted_high", "tau_squared", "tau_squared_low", "tau_squared_high"),
    *("q_statistic", "p_value_q", "i_squared"),
]


@pytest.mark.parametrize("position", range(len(answers)))
def test_every_number_agrees_with_metafor(position: int) -> None:
    answer = answers.loc[position]
    row = meta_analysis.pool(
        studies[studies["set"] == answer["set"]],
        model=answer["model"],
        variance=answer["variance"],
        test=answer["test"],
    ).iloc[0]
    np.testing.assert_allclose(
        row[COMPARED].astype(float),
        answer[COMPARED].astype(float),
        rtol=AGREEMENT,
        atol=1e-10,
    )


def test_two_studies_are_pooled_by_hand() -> None:
    # Weights 1 and 1, Q = 2: DerSimonian-Laird tau squared (2 - 1) / (2 - 1) = 1.
    rows = pd.DataFrame({"estimate": [0.0, 2.0], "std_error": [1.0, 1.0]})
    row = meta_analysis.pool(rows, variance="dersimonian-laird", test="normal").iloc[0]
    assert row["estimate"] == 1
    assert row["q_statistic"] == 2
    assert row["tau_squared"] == 1
    assert row["std_error"] == pytest.approx(1)
    assert row["i_squared"] == 0.5
    common = meta_analysis.pool(rows, model="common").iloc[0]
    assert common["std_error"] == pytest.approx(np.sqrt(0.5))
    assert np.isnan(common["predicted_low"])


def test_with_equal_errors_reml_is_the_variance_less_the_sampling_variance() -> None:
    rows = pd.DataFrame({"estimate": [0.1, 0.9, 1.4, -0.6], "std_error": 0.3})
    row = meta_analysis.pool(rows).iloc[0]
    assert row["tau_squared"] == pytest.approx(rows["estimate"].var() - 0.09, rel=1e-10)
    # Hartung and Knapp's test is then the t test of the estimates.
    assert row["std_error"] == pytest.approx(rows["estimate"].sem(), rel=1e-10)
    assert row["df"] == 3


@settings(max_examples=40, deadline=None)
@given(
    estimates=st.lists(st.floats(-5, 5), min_size=3, max_size=8, unique=True),
    errors=st.lists(st.floats(0.05, 3), min_size=8, max_size=8),
)
def test_reml_is_where_the_restricted_likelihood_is_largest(
    estimates: list[float], errors: list[float]
) -> None:
    effects = meta_analysis.Effects(np.array(estimates), np.array(errors[: len(estimates)]) ** 2)
    found = meta_analysis.reml(effects)

    def likelihood(tau_squared: float) -> float:
        precision = np.diag(1 / (effects.variances + tau_squared))
        ones = np.ones((len(estimates), 1))
        information = ones.T @ precision @ ones
        projection = precision - precision @ ones @ np.linalg.inv(information) @ ones.T @ precision
        return float(
            np.linalg.slogdet(precision)[1]
            - np.linalg.slogdet(information)[1]
            - effects.estimates @ projection @ effects.estimates
        )

    top = likelihood(found)
    for other in np.concatenate([[0.0], np.geomspace(1e-5, 100, 60)]):
        assert likelihood(other) <= top + 1e-7 * (1 + abs(top))


def test_few_studies_are_said_and_what_cannot_be_pooled_is_refused() -> None:
    row = meta_analysis.pool(studies[studies["set"] == "alike"]).iloc[0]
    assert row["tau_squared"] == 0
    assert "Only 4 studies" in row["note"]
    with pytest.raises(DesignError, match="at least two studies; found 1"):
        meta_analysis.pool(studies.head(1))
    with pytest.raises(DesignError, match=r"must be positive; the smallest is 0\.0"):
        meta_analysis.pool(studies.assign(std_error=0.0))
    with pytest.raises(DesignError, match="must differ for a Hartung-Knapp test"):
        meta_analysis.pool(pd.DataFrame({"estimate": [1.0, 1.0], "std_error": [0.5, 0.5]}))
