"""statsmodels as a second engine, against lme4's answers in tests/r."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from analysis import mixed
from analysis.mixed import second_engine
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.mixed.conftest import FORMULAS, R

#: Where the optimum is inside, statsmodels agrees with lme4.
CASES = {
    "sleep_correlated": "sleep",
    "sleep_uncorrelated": "sleep",
    "penicillin": "penicillin",
    "dyestuff": "dyestuff",
    "cake_nested": "cake",
    "machines_nested": "machines",
}

AGAINST = pd.read_csv(R / "mixed_glance.csv").query("estimator == 'REML'")


def data(name):
    return pd.read_csv(R / f"mixed_data_{name}.csv")


@pytest.mark.parametrize("name", CASES)
def test_both_engines_agree_with_lme4(name):
    fitted = mixed.fit(FORMULAS[name], data(CASES[name]), engine="statsmodels")
    ours = mixed.fit(FORMULAS[name], data(CASES[name]))
    [expected] = AGAINST[AGAINST["name"] == name].to_dict("records")
    assert fitted.glance()["criterion"].item() == pytest.approx(expected["criterion"], abs=1e-4)
    both = (
        fitted.tidy()
        .fillna({"group": ""})
        .merge(
            ours.tidy(df="wald").fillna({"group": ""}),
            on=["effect", "term", "group"],
            how="outer",
        )
    )
    assert len(both) == len(ours.tidy())
    np.testing.assert_allclose(both["estimate_x"], both["estimate_y"], rtol=2e-3)
    of_fixed = both["effect"] == "fixed"
    np.testing.assert_allclose(
        both.loc[of_fixed, "std_error_x"], both.loc[of_fixed, "std_error_y"], rtol=2e-3
    )
    assert fitted.glance()["converged"].item()


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ 1 + offset(x) + (1 | g)",
        "y ~ 1 + (1 + x | g) + (1 + x | h)",
        "y ~ 1 + (1 + x | g) + (1 | h)",
    ],
)
def test_what_it_cannot_fit_is_refused(formula):
    rows = pd.DataFrame({"y": [1.0], "x": [1.0], "g": ["a"], "h": ["b"]})
    with pytest.raises(DesignError, match="statsmodels"):
        second_engine.fit(formula, rows)


def test_an_unknown_engine_and_weights_are_refused():
    rows = data("dyestuff")
    with pytest.raises(AnalysisError, match="engine"):
        mixed.fit(FORMULAS["dyestuff"], rows, engine="lme4")
    with pytest.raises(DesignError, match="weights"):
        mixed.fit(FORMULAS["dyestuff"], rows, weights="Yield", engine="statsmodels")


@pytest.mark.parametrize(("first", "is_balanced"), [(0, True), (7, False)])
def test_errors_are_of_the_expected_information(first: int, is_balanced: bool) -> None:
    """statsmodels inverts the observed information of fixed effects and covariances together.

    lme4 and this package invert the expected one, in which the two do not meet. On balanced rows
    both are the same; on others statsmodels' errors are larger, by half a per mille here.
    """
    chosen = data("sleep").iloc[first:]
    ours = mixed.fit("Reaction ~ Days + (1 | Subject)", chosen, reml=False)
    errors = ours.tidy(["fixed"], df="wald")["std_error"].to_numpy()
    model = MixedLM.from_formula("Reaction ~ Days", chosen, groups="Subject")
    theirs = model.fit(reml=False, gtol=1e-10)
    information = -model.hessian(theirs.params_object)[0]
    n_fixed = len(errors)
    joint = np.linalg.inv(information)[:n_fixed, :n_fixed]
    np.testing.assert_allclose(theirs.bse_fe, np.sqrt(np.diag(joint)), rtol=1e-9)
    alone = np.linalg.inv(information[:n_fixed, :n_fixed])
    np.testing.assert_allclose(errors, np.sqrt(np.diag(alone)), rtol=1e-8)
    excess = theirs.bse_fe / errors - 1
    assert (np.abs(excess) < 1e-8).all() if is_balanced else (excess > 3e-4).all()
