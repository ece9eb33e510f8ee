"""Profile intervals against lme4 and as roots of its deviance; degrees of freedom by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from analysis import mixed
from analysis.mixed.inference import satterthwaite
from analysis.mixed.inference.kenward_roger import KenwardRoger
from analysis.mixed.inference.satterthwaite import Satterthwaite
from analysis.mixed.refitting.profile_interval import profile_intervals
from tests.analysis.places import R

rows = pd.read_csv(R / "mixed_data_crossed.csv")

#: lme4 interpolates its profile with splines.
PROFILE = 1e-3


@pytest.mark.parametrize("name", ["sleep_uncorrelated", "penicillin", "crossed_intercepts"])
@pytest.mark.slow
def test_profile_intervals_agree_with_lme4(against_r, name):
    answer = pd.read_csv(R / "mixed_profile.csv").query("name == @name")
    ours = profile_intervals(against_r.fitted(name, "ML"))
    for row in answer.itertuples():
        effect, _, group = row.parameter.removeprefix("sd_").partition("|")
        effect = effect.replace("(Intercept)", "Intercept")
        named = ("Residual", "sd__Observation") if row.parameter == "sigma" else None
        named = named or ((group, f"sd__{effect}") if group else ("", effect))
        result = ours[(ours["group"] == named[0]) & (ours["term"] == named[1])]
        assert len(result) == 1
        for column in ("conf_low", "conf_high"):
            value = getattr(row, column)
            assert result[column].iloc[0] == pytest.approx(value, rel=PROFILE, abs=1e-9)


@pytest.mark.parametrize("name", [11, 37])
def test_profile_intervals_of_nine_rows_end_where_lme4s_do(name):
    """The first set's searches leave the region where a deviance has digits."""
    small = pd.read_csv(R / "mixed_data_small.csv", dtype={"g": str, "h": str})
    ours = profile_intervals(mixed.fit("y ~ x + (1 | g) + (1 | h)", small[small["set"] == name]))
    known = pd.read_csv(R / "mixed_profile_small.csv").query("set == @name")
    theirs = known.set_index("parameter").loc["sigma", ["conf_low", "conf_high"]]
    sigma = ours[ours["group"] == "Residual"].iloc[0]
    assert [sigma["conf_low"], sigma["conf_high"]] == pytest.approx(list(theirs), rel=PROFILE)
    assert np.isfinite(ours[["conf_low", "conf_high"]].to_numpy(dtype=float)).all()


#: Both are roots of the same function, found to 1e-9 or so; nothing is interpolated.
PROFILE_ROOT = 1e-6


#: Names of R's parameters of a correlated slope.
TIED = {
    "sleep_correlated": {"sd1": "sd__Intercept", "sd2": "sd__Days", "rho": "cor__Intercept.Days"},
    "crossed_slope": {"sd1": "sd__Intercept", "sd2": "sd__depth", "rho": "cor__Intercept.depth"},
}


@pytest.mark.parametrize(
    ("name", "formula", "data"),
    [
        ("sleep_correlated", "Reaction ~ Days + (1 + Days | Subject)", "sleep"),
        ("crossed_slope", "gain ~ rho + depth + (1 + depth | model) + (1 | prompt)", "crossed"),
    ],
)
def test_profile_intervals_of_correlated_slopes_are_roots_of_lme4s_deviance(name, formula, data):
    answer = pd.read_csv(R / "mixed_profile_correlated.csv").query("name == @name")
    ours = profile_intervals(mixed.fit(formula, pd.read_csv(R / f"mixed_data_{data}.csv")))
    ours = ours[ours["group"].isin(["Subject", "model"])].set_index("term")
    for row in answer.itertuples():
        result = ours.loc[TIED[name][row.parameter]]
        ends = [result["conf_low"], result["conf_high"]]
        assert ends == pytest.approx([row.conf_low, row.conf_high], rel=PROFILE_ROOT)


def test_the_order_of_three_correlated_effects_does_not_move_their_intervals():
    machines = pd.read_csv(R / "mixed_data_machines.csv")
    result = []
    for order in ("ABC", "CAB"):
        ordered = machines.assign(
            Machine=pd.Categorical(machines["Machine"], categories=list(order))
        )
        model = mixed.fit("score ~ Machine + (0 + Machine | Worker)", ordered)
        frame = profile_intervals(model).query("effect == 'ran_pars'")
        keys = [frozenset(term.partition("__")[2].split(".")) for term in frame["term"]]
        result.append(frame.assign(key=keys).set_index("key").sort_values("estimate"))
    assert len(result[0]) == 7
    for column in ("estimate", "conf_low", "conf_high"):
        one, other = result[0][column], result[1].loc[result[0].index, column]
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_profile_ends_where_the_deviance_has_risen_or_nowhere():
    rng = np.random.default_rng(3)
    flat = pd.DataFrame({"g": np.repeat(list("abcdefgh"), 12), "x": rng.normal(size=96)})
    flat["y"] = flat["x"] + rng.normal(size=96)
    noise = flat.groupby("g")["y"].transform("mean")
    model = mixed.fit("y ~ x + (1 + x | g)", flat.assign(y=flat["y"] - noise))
    frame = profile_intervals(model).set_index("term")
    assert frame.loc["sd__Intercept", "estimate"] == 0
    assert frame.loc["cor__Intercept.x", ["estimate", "conf_low", "conf_high"]].isna().all()
    model = mixed.fit("gain ~ depth + (1 | model)", rows, reml=False)
    low = profile_intervals(model).set_index("term").loc["depth", "conf_low"]
    held = rows.assign(gain=rows["gain"] - low * rows["depth"])
    null = mixed.fit("gain ~ 1 + (1 | model)", held, reml=False)
    rise = null.solution.criterion - model.solution.criterion
    assert rise == pytest.approx(stats.chi2.isf(0.05, 1), abs=1e-5)


def test_a_restricted_profile_of_a_balanced_layout_ends_where_its_two_mean_squares_say():
    """With groups of equal size it is the likelihood of two independent sums of squares."""
    a, n = 7, 3
    rng = np.random.default_rng(7)
    layout = pd.DataFrame({"g": np.repeat(list("abcdefg"), n), "y": rng.normal(size=a * n)})
    layout["y"] += np.repeat(rng.normal(size=a), n)
    means = layout.groupby("g")["y"].transform("mean")
    between = float(((means - layout["y"].mean()) ** 2).sum())
    within = float(((layout["y"] - means) ** 2).sum())

    def least(deviation):
        def deviance(log_sigma):
            sigma = np.exp(2 * log_sigma)
            group = sigma + n * deviation**2
            whole = (a - 1) * np.log(group) + between / group
            return float(whole + a * (n - 1) * np.log(sigma) + within / sigma)

        return float(optimize.minimize_scalar(deviance, bounds=(-5, 5), method="bounded").fun)

    model = mixed.fit("y ~ 1 + (1 | g)", layout)
    result = profile_intervals(model, reml=True).set_index("group").loc["g"]
    assert set(profile_intervals(model, reml=True)["effect"]) == {"ran_pars"}
    estimate = np.sqrt((between / (a - 1) - within / (a * (n - 1))) / n)
    assert result["estimate"] == pytest.approx(estimate, rel=1e-6)
    for end in ("conf_low", "conf_high"):
        rise = least(result[end]) - least(estimate)
        assert rise == pytest.approx(stats.chi2.isf(0.05, 1), abs=1e-4)


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
