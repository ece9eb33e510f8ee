from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats

from analysis import mixed
from analysis.inference.association import regression
from analysis.inference.effects import equivalence
from analysis.tidy.errors import AnalysisError, DesignError

R = Path(__file__).parents[3] / "r"

#: The same formulas; pt and pnorm use other series.
AGREEMENT = 1e-11

answers = pd.read_csv(R / "equivalence.csv").set_index("case")
models = pd.read_csv(R / "models.csv")
COMPARED = ["estimate", "df", "p_value", "conf_low", "conf_high"]


def computed(case: str) -> pd.DataFrame:
    answer = answers.loc[case]
    bounds = {name: float(answer[name]) for name in ("low", "high", "alpha")}
    if case.startswith("correlation"):
        rows = models.head(int(case.rsplit(maxsplit=1)[-1]))
        return equivalence.correlation(rows, x="density", y="gain", **bounds)
    if case == "one":
        return equivalence.means(models, value="gain", **bounds)
    return equivalence.means(
        models, value="gain", group="heritage", equal_variance=case == "student", **bounds
    )


@pytest.mark.parametrize("case", answers.index)
def test_every_number_agrees_with_r(case: str) -> None:
    row = computed(case).iloc[0]
    np.testing.assert_allclose(
        row[COMPARED].astype(float), answers.loc[case, COMPARED].astype(float), rtol=AGREEMENT
    )


def test_symmetric_bounds_agree_with_pingouin() -> None:
    first = models.loc[models["heritage"] == 0, "gain"]
    second = models.loc[models["heritage"] == 1, "gain"]
    theirs = pingouin.tost(first, second, bound=0.3, correction=True)["pval"].iloc[0]
    ours = equivalence.means(models, value="gain", group="heritage", low=-0.3, high=0.3)
    assert ours["p_value"].iloc[0] == pytest.approx(theirs, rel=1e-9)


def test_a_half_unit_effect_between_bounds_of_one_is_counted_by_hand() -> None:
    terms = pd.DataFrame({"term": ["a", "b"], "estimate": [0.5, 0.0], "std_error": 0.25, "df": 4})
    rows = equivalence.estimates(terms, low=-1, high=1)
    assert rows["statistic"].tolist() == [-2.0, 4.0]
    np.testing.assert_allclose(rows["p_value"], stats.t.sf([2, 4], 4), rtol=1e-13)
    assert rows["conf_level"].unique().tolist() == [0.9]


def test_the_interval_lies_within_the_bounds_exactly_when_p_is_below_alpha() -> None:
    terms = pd.DataFrame(
        {"term": "a", "estimate": np.linspace(-1.2, 1.2, 97), "std_error": 0.3, "df": 6.5}
    )
    rows = equivalence.estimates(terms, low=-1, high=0.9)
    within = (rows["conf_low"] > -1) & (rows["conf_high"] < 0.9)
    assert (within == (rows["p_value"] < 0.05)).all()
    assert within.any()


def test_the_terms_of_a_clustered_regression_can_be_tested_as_they_are() -> None:
    tidy = regression.fit(models, "gain ~ heritage + density", cluster="lab").tidy()
    rows = equivalence.estimates(tidy, low=-2, high=2)
    assert rows["n_groups"].tolist() == tidy["n_groups"].tolist()
    assert rows["df"].tolist() == tidy["df"].tolist()
    infinite = equivalence.estimates(tidy.assign(df=np.inf), low=-2, high=2)
    assert (infinite["p_value"] < rows["p_value"]).iloc[1:].all()


def test_the_fixed_effects_of_a_mixed_model_can_be_tested_as_they_are() -> None:
    rows = pd.read_csv(R / "mixed_data_sleep.csv")
    response, slope, subject = rows.columns
    tidy = mixed.fit(f"{response} ~ {slope} + (1 | {subject})", rows).tidy()
    fixed = tidy[tidy["effect"] == "fixed"]
    tested = equivalence.estimates(fixed, low=0, high=20).set_index("term").loc[slope]
    known = fixed.set_index("term").loc[slope]
    t = (known["estimate"] - 20) / known["std_error"]
    assert tested["p_value"] == pytest.approx(stats.t.cdf(t, known["df"]), rel=1e-12)


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(AnalysisError, match="low < high; found 1 and -1"):
        equivalence.means(models, value="gain", low=1, high=-1)
    with pytest.raises(AnalysisError, match=r"`alpha` must be below 0\.5"):
        equivalence.means(models, value="gain", low=-1, high=1, alpha=0.6)
    with pytest.raises(AnalysisError, match="`equal_variance` must be True or False; found 'no'"):
        equivalence.means(models, value="gain", low=-1, high=1, equal_variance="no")
    with pytest.raises(AnalysisError, match="between -1 and 1; found -2"):
        equivalence.correlation(models, x="density", y="gain", low=-2, high=0.3)
    with pytest.raises(DesignError, match="'lab' has 7"):
        equivalence.means(models, value="gain", group="lab", low=-1, high=1)
    with pytest.raises(DesignError, match="one has 3 rows of one value"):
        equivalence.means(models.head(3).assign(gain=1.0), value="gain", low=-1, high=1)
    terms = pd.DataFrame({"term": ["a"], "estimate": [0.5], "std_error": 0.0, "df": 4})
    with pytest.raises(DesignError, match=r"must be positive; the smallest are 0\.0"):
        equivalence.estimates(terms, low=-1, high=1)
