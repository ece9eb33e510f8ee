import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from analysis import mixed
from analysis.inference.association import regression
from analysis.inference.effects import equivalence, multiplicity
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

#: The same formulas; pt uses another series.
AGREEMENT = 1e-11

models = pd.read_csv(R / "models.csv")


def test_the_difference_of_two_means_agrees_with_r_and_with_statsmodels():
    answer = pd.read_csv(R / "equivalence.csv").set_index("case").loc["student"]
    terms = regression.fit(models, "gain ~ heritage").tidy().tail(1)
    # R takes group 0 less group 1.
    terms = terms.assign(estimate=-terms["estimate"])
    row = equivalence.estimates(terms, low=-0.4, high=0.4, alpha=0.01).iloc[0]
    compared = ["estimate", "df", "p_value", "conf_low", "conf_high"]
    np.testing.assert_allclose(row[compared].astype(float), answer[compared], rtol=AGREEMENT)
    groups = [models.loc[models["heritage"] == code, "gain"] for code in (0, 1)]
    assert row["p_value"] == pytest.approx(ttost_ind(*groups, -0.4, 0.4)[0], rel=AGREEMENT)


def test_a_half_unit_effect_between_bounds_of_one_is_counted_by_hand():
    terms = pd.DataFrame({"term": ["a", "b"], "estimate": [0.5, 0.0], "std_error": 0.25, "df": 4})
    rows = equivalence.estimates(terms, low=-1, high=1)
    assert rows["statistic"].tolist() == [-2.0, 4.0]
    np.testing.assert_allclose(rows["p_value"], stats.t.sf([2, 4], 4), rtol=1e-13)
    assert rows["conf_level"].unique().tolist() == [0.9]
    terms = pd.DataFrame(
        {"term": "a", "estimate": np.linspace(-1.2, 1.2, 97), "std_error": 0.3, "df": 6.5}
    )
    rows = equivalence.estimates(terms, low=-1, high=0.9)
    within = (rows["conf_low"] > -1) & (rows["conf_high"] < 0.9)
    assert (within == (rows["p_value"] < 0.05)).all()
    assert within.any()


def test_terms_of_clustered_and_mixed_models_can_be_tested_as_they_are():
    tidy = regression.fit(models, "gain ~ heritage + density", cluster="lab").tidy()
    rows = equivalence.estimates(tidy, low=-2, high=2)
    assert rows["n_groups"].tolist() == tidy["n_groups"].tolist()
    assert rows["df"].tolist() == tidy["df"].tolist()
    infinite = equivalence.estimates(tidy.assign(df=np.inf), low=-2, high=2)
    assert (infinite["p_value"] < rows["p_value"]).iloc[1:].all()
    rows = pd.read_csv(R / "mixed_data_sleep.csv")
    response, slope, subject = rows.columns
    tidy = mixed.fit(f"{response} ~ {slope} + (1 | {subject})", rows).tidy()
    fixed = tidy[tidy["effect"] == "fixed"]
    tested = equivalence.estimates(fixed, low=0, high=20).set_index("term").loc[slope]
    known = fixed.set_index("term").loc[slope]
    t = (known["estimate"] - 20) / known["std_error"]
    assert tested["p_value"] == pytest.approx(stats.t.cdf(t, known["df"]), rel=1e-12)


def test_what_cannot_be_tested_or_adjusted_is_refused():
    terms = pd.DataFrame({"term": ["a"], "estimate": [0.5], "std_error": 0.0, "df": 4})
    with pytest.raises(AnalysisError, match="low < high; found 1 and -1"):
        equivalence.estimates(terms, low=1, high=-1)
    with pytest.raises(AnalysisError, match=r"`alpha` must be below 0\.5"):
        equivalence.estimates(terms, low=-1, high=1, alpha=0.6)
    with pytest.raises(DesignError, match=r"must be positive; the smallest are 0\.0"):
        equivalence.estimates(terms, low=-1, high=1)
    with pytest.raises(AnalysisError, match=r"'p_value' holds 1\.2"):
        multiplicity.adjust(tests.assign(p_value=1.2), family="family")
    with pytest.raises(ColumnError, match="must hold numbers"):
        multiplicity.adjust(tests.assign(p_value="< .001"), family="family")
    with pytest.raises(ColumnError, match="must name a level in every row"):
        multiplicity.adjust(tests.assign(family=None), family="family")
    with pytest.raises(ColumnError, match=r"it has \['n_tests'\]"):
        multiplicity.adjust(tests.assign(n_tests=1), family="family")
    with pytest.raises(AnalysisError, match="Did you mean 'holm'"):
        multiplicity.adjust(tests, family="family", method="Holm")


#: A multiplication and a division by whole numbers.
EXACT = 1e-14

adjusted_by_r = pd.read_csv(R / "multiplicity.csv")
tests = adjusted_by_r[["family", "p_value"]]


@pytest.mark.parametrize(("method", "column"), [("holm", "holm"), ("benjamini-hochberg", "BH")])
def test_adjusted_p_values_agree_with_r_within_every_family(method, column):
    adjusted = multiplicity.adjust(tests, family="family", method=method)
    np.testing.assert_allclose(adjusted["p_adjusted"], adjusted_by_r[column], rtol=EXACT)


def test_three_tests_are_adjusted_by_hand():
    rows = pd.DataFrame({"claim": "a", "p_value": [0.03, 0.01, 0.02]})
    holm = multiplicity.adjust(rows, family="claim")["p_adjusted"]
    np.testing.assert_allclose(holm, [0.04, 0.03, 0.04], rtol=EXACT)
    shares = multiplicity.adjust(rows, family="claim", method="benjamini-hochberg")["p_adjusted"]
    np.testing.assert_allclose(shares, [0.03, 0.03, 0.03], rtol=EXACT)
    rows = tests.assign(estimate=1.0).set_index(pd.Index(range(100, 100 + len(tests))))
    adjusted = multiplicity.adjust(rows, family="family")
    columns = ["family", "p_value", "p_adjusted", "n_tests", "adjustment", "estimate"]
    assert list(adjusted.columns) == columns
    pd.testing.assert_frame_equal(adjusted[list(rows.columns)], rows)
    adjusted = multiplicity.adjust(tests, family="family").set_index("family")
    assert adjusted.loc["with a gap", "n_tests"].tolist() == [3, 3, 3, 3]
    assert adjusted.loc["with a gap", "p_adjusted"].isna().tolist() == [False, True, False, False]


@settings(max_examples=80, deadline=None)
@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusting_never_lowers_a_p_and_holm_is_the_stricter(p_values):
    rows = pd.DataFrame({"claim": "a", "p_value": p_values})
    holm = multiplicity.adjust(rows, family="claim")["p_adjusted"]
    shares = multiplicity.adjust(rows, family="claim", method="benjamini-hochberg")["p_adjusted"]
    assert (rows["p_value"] <= shares * (1 + 1e-12)).all()
    assert (shares <= holm * (1 + 1e-12)).all()
    assert (holm <= 1).all()
