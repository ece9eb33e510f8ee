"""Profile intervals of mixed models, against lme4's and as roots of its deviance."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from analysis import mixed
from analysis.mixed.refitting.profile_interval import profile_intervals

R = Path(__file__).parents[3] / "r"
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


def test_a_correlation_of_a_variance_that_is_zero_has_no_interval():
    rng = np.random.default_rng(3)
    flat = pd.DataFrame({"g": np.repeat(list("abcdefgh"), 12), "x": rng.normal(size=96)})
    flat["y"] = flat["x"] + rng.normal(size=96)
    noise = flat.groupby("g")["y"].transform("mean")
    model = mixed.fit("y ~ x + (1 + x | g)", flat.assign(y=flat["y"] - noise))
    frame = profile_intervals(model).set_index("term")
    assert frame.loc["sd__Intercept", "estimate"] == 0
    assert frame.loc["cor__Intercept.x", ["estimate", "conf_low", "conf_high"]].isna().all()


def test_at_the_ends_of_a_profile_interval_the_deviance_has_risen_by_the_quantile():
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
