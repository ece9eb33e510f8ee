"""Where a package is wrong: the failing case, by the package and by the function kept here.

The right values are R's, or a property that decides. `quarto/appendix/_engines.qmd` lists them.
"""

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.effect_size import _noncentrality_f
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower

from analysis import mixed
from analysis.inference.association import correlation, regression
from analysis.inference.effects import multiplicity, noncentral
from analysis.mixed import power
from tests.analysis.places import R

models = pd.read_csv(R / "models.csv")


def test_a_missing_p_and_few_ranks_are_taken_amiss_by_statsmodels_and_scipy():
    rows = pd.DataFrame({"family": "a", "p_value": [0.01, np.nan, 0.03]})
    # R: p.adjust(c(.01, NA, .03)) is .02, NA, .03.
    ours = multiplicity.adjust(rows, family="family")["p_adjusted"].tolist()
    assert ours == pytest.approx([0.02, np.nan, 0.03], nan_ok=True)
    theirs = multipletests(rows["p_value"], method="holm")[1].tolist()
    assert theirs == pytest.approx([0.03, np.nan, 0.06], nan_ok=True)
    known = rows["p_value"].dropna().to_numpy()
    assert multipletests(known, method="holm")[1].tolist() == [0.02, 0.03]
    answers = pd.read_csv(R / "correlation.csv").query("method == 'spearman' and n == 7")
    rows, exact = models.head(7), float(answers["p_value"].iloc[0])
    ours = correlation.correlate(rows, x="density", y="gain", method="spearman")["p_value"].iloc[0]
    assert ours == pytest.approx(exact, rel=1e-12)
    assert stats.spearmanr(rows["density"], rows["gain"]).pvalue < exact - 0.01


def test_a_partial_correlation_is_pingouin_s_but_for_its_rounded_interval():
    answer = pd.read_csv(R / "correlation.csv").query("case == 'layers'").iloc[0]
    ours, asked = (
        correlation.partial(
            models, x="density", y="gain", covariates=["layers"], engine=engine
        ).iloc[0]
        for engine in correlation.ENGINES
    )
    assert asked["estimate"] == pytest.approx(ours["estimate"], rel=1e-12)
    theirs = pingouin.partial_corr(models, x="density", y="gain", covar=["layers"]).iloc[0]
    assert theirs["p_val"] == pytest.approx(answer["p_value"], rel=1e-12)
    assert ours["p_value"] == pytest.approx(theirs["p_val"], rel=1e-12)
    assert ours["conf_high"] == pytest.approx(answer["conf_high"], rel=1e-12)
    assert abs(theirs["CI95"][1] - answer["conf_high"]) > 1e-4


def test_tails_and_powers_that_statsmodels_misses():
    ours = noncentral.noncentrality_f(30.0, 2, 40, 0.95)
    theirs = _noncentrality_f(30.0, 2, 40, alpha=0.05).confint
    levels = np.array([0.975, 0.025])
    np.testing.assert_allclose(stats.ncf.cdf(30.0, 2, 40, ours), levels, rtol=1e-9)
    assert np.abs(stats.ncf.cdf(30.0, 2, 40, theirs) - levels).max() > 1e-5
    answers = pd.read_csv(R / "power.csv").query("n == 12 and delta == 3 and alpha == 0.01")
    assert np.isnan(TTestIndPower().power(3, 12, 0.01))
    expected = answers["power"].iloc[0]
    assert power.two_group_power(3, 12, 0.01) == pytest.approx(expected, abs=1e-9)


def test_a_mixed_model_of_four_subjects_is_too_sure_in_statsmodels():
    # Three days of four subjects, balanced: the t test within subjects, df 7, is exact.
    rows = pd.read_csv(R / "mixed_data_sleep.csv").iloc[
        [0, 5, 9, 10, 15, 19, 20, 25, 29, 30, 35, 39]
    ]
    within = regression.fit(rows.astype({"Subject": str}), "Reaction ~ Days + Subject").tidy()
    exact = within.set_index("term").loc["Days", "p_value"]
    ours = mixed.fit("Reaction ~ Days + (1 | Subject)", rows).tidy(["fixed"]).set_index("term")
    theirs = MixedLM.from_formula("Reaction ~ Days", rows, groups="Subject").fit()
    assert ours.loc["Days", "p_value"] == pytest.approx(exact, rel=1e-6)
    assert theirs.pvalues["Days"] < exact / 2
