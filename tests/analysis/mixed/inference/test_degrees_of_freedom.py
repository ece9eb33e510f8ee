"""Degrees of freedom of tests whose covariances are small enough to count by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.mixed.inference import satterthwaite
from analysis.mixed.inference.kenward_roger import KenwardRoger
from analysis.mixed.inference.satterthwaite import Satterthwaite

R = Path(__file__).parents[3] / "r"


@pytest.mark.parametrize("n_contrasts", [1, 2])
@pytest.mark.parametrize(("uncertainty", "df"), [(0.1, 20), (0.5, 4), (1.0, 2), (0.0, np.inf)])
def test_one_scale_of_uncertain_size_gives_its_degrees_of_freedom(n_contrasts, uncertainty, df):
    # Var(estimates) = s I with Var(s) = w: s has 2 / w degrees of freedom, and F is exact. At two
    # and at four a quotient of Kenward and Roger's formulae is 0 / 0.
    one = np.eye(n_contrasts)
    result = KenwardRoger(
        covariance=one, adjusted=one, slopes=one[None], uncertainty=np.array([[uncertainty]])
    )
    assert result.joint(one) == pytest.approx((df, 1.0))
    assert result.df(one[0]) == pytest.approx(df)


@pytest.mark.parametrize(
    ("uncertainties", "df"),
    [
        # 4 and 8 degrees of freedom: E = 4 / 2 + 8 / 6 = 10 / 3, and 2 E / (E - 2) = 5.
        ((2 / 4, 2 / 8), 5),
        ((2 / 6, 2 / 6), 6),
        # At two or fewer the mean of F does not exist; two is taken unless all agree.
        ((2 / 2, 2 / 8), 2),
        ((2 / 1, 2 / 8), 2),
        ((2 / 1, 2 / 1), 1),
    ],
)
def test_a_joint_test_takes_the_degrees_of_freedom_whose_f_has_the_mean_of_the_parts(
    uncertainties, df
):
    each = np.array([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    result = Satterthwaite(
        covariance=np.eye(2), derivatives=each, uncertainty=np.diag(uncertainties)
    )
    assert result.df_joint(np.eye(2)) == pytest.approx(df)
    assert result.df(np.array([1.0, 0.0])) == pytest.approx(2 / uncertainties[0])


def test_known_and_flat_directions_have_no_uncertainty():
    result = Satterthwaite(
        covariance=np.eye(1), derivatives=np.zeros((1, 1, 1)), uncertainty=np.eye(1)
    )
    assert result.df(np.ones(1)) == np.inf
    # The covariance of the parameters is twice the inverse of the Hessian of the deviance.
    result = satterthwaite._uncertainty(np.diag([4.0, 0.0, -1e-9]), np.ones(3))
    assert result == pytest.approx(np.diag([0.5, 0.0, 0.0]))
    large = satterthwaite._uncertainty(np.diag([4e-10, 0.0]), np.array([1e5, 1.0]))
    assert large == pytest.approx(np.diag([5e9, 0.0]))


@pytest.mark.parametrize("unit", [1e-9, 1e6, 1e9])
def test_degrees_of_freedom_do_not_depend_on_the_unit_of_the_response(against_r, unit):
    rows = against_r.rows("crossed_intercepts")
    other = mixed.fit(
        against_r.formulas["crossed_intercepts"], rows.assign(gain=rows["gain"] * unit)
    )
    result = other.tidy("fixed", df="satterthwaite")["df"]
    wanted = against_r.fitted("crossed_intercepts", "REML").tidy("fixed", df="satterthwaite")["df"]
    assert result.tolist() == pytest.approx(wanted.tolist(), rel=1e-4)


def test_satterthwaite_of_groups_that_deviate_far_more_than_residuals():
    """As many degrees of freedom as groups allow, not as rows do."""
    rng = np.random.default_rng(3)
    group = np.arange(120) % 12
    traits, deviations = rng.normal(size=(2, 12))
    rows = pd.DataFrame(
        {
            "g": [f"g{each:02d}" for each in group],
            "trait": traits[group],
            "y": 1e5 * deviations[group] + rng.normal(size=120),
        }
    )
    fitted = mixed.fit("y ~ trait + (1 | g)", rows).tidy("fixed", df="satterthwaite")
    # 12 groups less two coefficients; the curvature is known to a few per cent here.
    assert fitted["df"].tolist() == pytest.approx([10, 10], rel=0.1)


def test_kenward_roger_allows_for_weights_which_pbkrtest_does_not():
    # A weighted model is an unweighted one of rows times the root of their weight. pbkrtest gives
    # that one our numbers; of the weighted one it takes residuals as of weight one.
    rows = pd.read_csv(R / "mixed_data_crossed.csv")
    formula = "gain ~ rho + depth + (1 | lab) + (1 + depth | model) + (1 | prompt)"
    ours = mixed.fit(formula, rows, weights="precision").tidy(["fixed"]).set_index("term")
    answers = pd.read_csv(R / "mixed_weighted.csv").set_index(["name", "term"])
    columns = ["estimate", "std_error", "df", "p_value"]
    np.testing.assert_allclose(ours[columns], answers.loc["rows times roots", columns], rtol=2e-6)
    ignoring = answers.loc["weights"]
    np.testing.assert_allclose(ours["estimate"], ignoring["estimate"], rtol=1e-6)
    assert (ignoring["df"] > 1.2 * ours["df"]).all()
