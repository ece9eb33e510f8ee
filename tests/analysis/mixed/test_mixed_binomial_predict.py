"""Predictions of mixed models of a binary response: glmer's answers, and what is refused.

`tests/r/mixed_predict.R` wrote the answers with lme4 1.1-31.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.mixed.binomial import BinomialModel
from analysis.tidy.errors import AnalysisError, ColumnError
from tests.analysis.mixed.glmer import CASES, ESTIMATE, STD_ERROR, R, rows


@pytest.fixture(scope="module")
def new_rows() -> dict[str, pd.DataFrame]:
    """Return the new rows of every case; the groups of the last were never fitted."""
    answers = pd.read_csv(R / "mixed_predict.csv")
    groups = {"herd", "model", "prompt", "lab"}
    found = {}
    for name, of_case in answers.groupby("name"):
        new = CASES[str(name)][0].iloc[of_case["row"]].reset_index(drop=True)
        new.loc[of_case["is_new"].to_numpy(), list(groups & set(new.columns))] = "never seen"
        found[str(name)] = new
    return found


@pytest.mark.parametrize("groups", ["new", "known"])
@pytest.mark.parametrize("name", ["cows", "sign_slope", "sign_nested", "sign_offset"])
def test_predictions_agree_with_glmer(
    binomial_models: dict[str, BinomialModel],
    new_rows: dict[str, pd.DataFrame],
    name: str,
    groups: str,
) -> None:
    theirs = pd.read_csv(R / "mixed_predict.csv").query("name == @name")
    for kind, atol in (("link", ESTIMATE), ("response", ESTIMATE / 4)):
        ours = binomial_models[name].predict(new_rows[name], kind=kind, groups=groups)
        assert set(ours["method"].str.contains("log odds")) == {kind == "link"}
        np.testing.assert_allclose(ours["estimate"], theirs[f"{kind}_{groups}"], atol=atol)
        if kind == "link":
            np.testing.assert_allclose(ours["std_error"], theirs[f"error_{groups}"], rtol=STD_ERROR)
    told = ours["note"].iloc[-1].count("was not fitted.")
    assert told == (len(binomial_models[name].design.blocks) if groups == "known" else 0)
    assert set(ours["note"].iloc[:-1]) == {""}


def test_a_probability_is_its_log_odds_turned_round(
    binomial_models: dict[str, BinomialModel], new_rows: dict[str, pd.DataFrame]
) -> None:
    new = new_rows["cows"]
    odds = binomial_models["cows"].predict(new, kind="link", groups="known", conf_level=0.9)
    share = binomial_models["cows"].predict(new, groups="known", conf_level=0.9)
    np.testing.assert_allclose(odds["conf_high"] - odds["estimate"], 1.6448536 * odds["std_error"])
    for column in ("estimate", "conf_low", "conf_high"):
        np.testing.assert_allclose(share[column], 1 / (1 + np.exp(-odds[column])))
    error = share["estimate"] * (1 - share["estimate"]) * odds["std_error"]
    np.testing.assert_allclose(share["std_error"], error)
    assert np.isinf(odds["df"]).all()
    assert (odds["conf_level"] == 0.9).all()


@pytest.mark.parametrize("groups", ["new", "known"])
def test_a_row_that_lacks_a_predictor_has_no_probability(
    binomial_models: dict[str, BinomialModel], groups: str
) -> None:
    whole = rows.head(3).set_axis(["a", "b", "a"])
    holes = whole.assign(depth=[whole["depth"].iloc[0], np.nan, whole["depth"].iloc[2]])
    model = binomial_models["sign_slope"]
    found, known = (model.predict(each, groups=groups) for each in (holes, whole))
    assert found["note"].tolist() == ["", "No prediction: 'depth' is no finite number.", ""]
    pd.testing.assert_frame_equal(found.iloc[[0, 2]], known.iloc[[0, 2]])
    assert found[["estimate", "std_error", "conf_low"]].iloc[1].isna().all()


def test_what_cannot_be_predicted_is_refused_as_by_a_linear_model(
    binomial_models: dict[str, BinomialModel],
) -> None:
    model, one = binomial_models["sign_slope"], rows.head(1)
    with pytest.raises(AnalysisError, match="`kind` must be one of 'response', 'link'"):
        model.predict(one, kind="odds")
    with pytest.raises(AnalysisError, match="`groups` must be one of 'new', 'known'"):
        model.predict(one, groups="all")
    with pytest.raises(AnalysisError, match="`conf_level` must lie between 0 and 1"):
        model.predict(one, conf_level=95)
    with pytest.raises(ColumnError, match="must have a column 'prompt'"):
        model.predict(one.drop(columns="prompt"), groups="known")
    with pytest.raises(ColumnError, match=r"must hold levels that were fitted; \['poem'\]"):
        binomial_models["sign_factor"].predict(one.assign(kind="poem"))


def test_a_singular_fit_has_errors_of_known_groups() -> None:
    singular = mixed.fit_binomial("(gain > 1) ~ 0 + kind + (1 | lab / model)", rows)
    known = singular.predict(rows.head(2), kind="link", groups="known")
    assert (known["std_error"] > 0).all()
