"""Marginal means, trends and their adjustments are those of R's emmeans and mvtnorm.

`tests/r/mixed_face.R` wrote the answers with emmeans 1.8.4 and mvtnorm 1.1-3, and
`tests/r/mixed_emmeans.R` those at lme4's theta.
"""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.mixed.frames import means
from analysis.tidy.errors import AnalysisError, DesignError
from tests.analysis.places import R

answers = pd.read_csv(R / "mixed_face_means.csv")
at_theta_of_r = pd.read_csv(R / "mixed_emmeans.csv")
cake = pd.read_csv(R / "mixed_data_cake.csv")
crossed = pd.read_csv(R / "mixed_data_crossed.csv")

FORMULAS = {
    "cake": "angle ~ recipe * temp + (1 | recipe:replicate)",
    "cake_factor": "angle ~ recipe * temperature + (1 | recipe:replicate)",
    "crossed_interaction": "gain ~ kind * depth + log(rho) + I(depth^2) + (1 | model)"
    " + (1 | prompt)",
    "crossed_two": "gain ~ kind * lab + depth + (1 | model) + (1 | prompt)",
    "crossed_offset": "gain ~ kind + depth + offset(known) + (1 | model) + (1 | prompt)",
    "crossed_weighted": "gain ~ kind + log(rho) + depth + (1 | model) + (1 | prompt)",
}

#: Both optima are found to about eight digits of the deviance.
ESTIMATES = 2e-5


@pytest.fixture(scope="module")
def fits():
    return {
        name: mixed.fit(
            formula,
            cake if name.startswith("cake") else crossed,
            weights="precision" if name.endswith("weighted") else None,
        )
        for name, formula in FORMULAS.items()
    }


CASES = list(
    answers[["case", "kind", "adjust"]].drop_duplicates().itertuples(index=False, name=None)
)


@pytest.mark.parametrize(("case", "asked", "adjust"), CASES)
def test_means_and_trends_are_those_of_emmeans(fits, case, asked, adjust):
    theirs = answers[
        (answers["case"] == case) & (answers["kind"] == asked) & (answers["adjust"] == adjust)
    ].set_index("contrast")
    words = asked.split()
    options = {
        "pairs": "pairs" in words,
        "adjust": adjust,
        "df": "satterthwaite" if case == "crossed_weighted" else None,
    }
    if "trends" in words:
        factor = "recipe" if case == "cake" else "kind"
        ours = fits[case].trends(words[-1], factor, **options)
    else:
        ours = fits[case].means(words[-1].split("+"), **options)
    ours = ours.set_index("contrast").loc[theirs.index]
    slack = 1e-3 if case == "crossed_weighted" else ESTIMATES  # lmerTest's df by differences
    # A difference quotient of R's trends has a hundred-thousandth of the range as step.
    slack = 2e-4 if asked == "trends rho" else slack
    size = theirs["std_error"].max()
    np.testing.assert_allclose(ours["estimate"], theirs["estimate"], rtol=slack, atol=slack * size)
    np.testing.assert_allclose(ours["std_error"], theirs["std_error"], rtol=slack)
    np.testing.assert_allclose(ours["df"], theirs["df"], rtol=max(slack, 1e-4))
    for end in ("conf_low", "conf_high"):
        np.testing.assert_allclose(ours[end], theirs[end], rtol=slack, atol=2e-4 * size)
    if "pairs" in words:
        column = "p_value" if adjust == "none" else "p_adjusted"
        np.testing.assert_allclose(ours[column], theirs["p_value"], rtol=2e-3, atol=2e-6)


def test_the_multivariate_t_is_genz_and_bretzs_and_of_equal_means_tukeys():
    theirs = pd.read_csv(R / "mixed_face_mvt.csv").set_index("contrast")
    model = mixed.fit("angle ~ recipe + temperature + (1 | recipe:replicate)", cake)
    ours = model.means("temperature", pairs=True, adjust="mvt").set_index("contrast")
    ours = ours.loc[theirs.index]
    np.testing.assert_allclose(ours["statistic"], theirs["statistic"], rtol=1e-5)
    np.testing.assert_allclose(ours["p_adjusted"], theirs["p_value"], rtol=2e-3, atol=5e-6)
    reach = (ours["conf_high"] - ours["estimate"]) / ours["std_error"]
    np.testing.assert_allclose(reach, theirs["critical"], rtol=1e-3)
    for df in ("wald", "kenward-roger"):
        ours = model.means("temperature", pairs=True, adjust="mvt", df=df)
        tukey = model.means("temperature", pairs=True, adjust="tukey", df=df)
        np.testing.assert_allclose(ours["p_adjusted"], tukey["p_adjusted"], rtol=1e-2, atol=1e-11)
        np.testing.assert_allclose(ours["conf_low"], tukey["conf_low"], rtol=2e-3)


@pytest.mark.parametrize("df", [[0.02, 5.0], [5.0, 5.000002, 5.000004], [0.4, 16.0, np.inf]])
def test_a_joint_critical_value_leaves_its_chance_at_any_df(df):
    tail = means._largest_t(np.full((3, 3), 0.5) + np.diag([0.5] * 3))
    result = means._critical(tail, np.array(df), 0.95)
    assert [tail(t, own) for t, own in zip(result, df, strict=True)] == pytest.approx(
        [0.05] * len(df), abs=1e-6
    )


def test_an_adjustment_is_named_and_what_has_no_means_is_refused(fits):
    model = fits["crossed_offset"]
    frame = model.means("kind", pairs=True, adjust="tukey")
    assert set(frame["adjustment"]) == {"tukey"}
    assert set(frame["n_tests"]) == {3}
    assert "p-values are not adjusted" in model.means("kind", pairs=True)["note"][0]
    with pytest.raises(DesignError, match="Tukey's adjustment must be of all pairs"):
        model.means("kind", adjust="tukey")
    with pytest.raises(AnalysisError, match="`adjust` must be one of 'none', 'tukey'"):
        model.means("kind", adjust="scheffe")
    with pytest.raises(DesignError, match="between at least two; there is one slope by depth"):
        fits["crossed_two"].trends("depth", pairs=True)
    with pytest.raises(DesignError, match="Every factor must be named once"):
        fits["crossed_two"].means(["kind", "kind"])
    model = mixed.fit("gain ~ I(depth > 0.25) + (1 | model)", crossed)
    with pytest.raises(DesignError, match="slope at the mean of 'depth'; it has none"):
        model.trends("depth")


def test_from_statistics_alone_numbers_are_at_the_means_they_name():
    formula = "gain ~ kind + log(rho) + (1 | model)"
    alone = mixed.fit_statistics(formula, mixed.collect_statistics(formula, crossed))
    means = alone.means("kind").set_index("contrast")
    assert means["note"].iloc[0].startswith("From statistics alone: log(rho) at its own mean.")
    b = dict(zip(alone.terms, alone.coefficients, strict=True))
    at = b["Intercept"] + b["log(rho)"] * np.log(crossed["rho"]).mean()
    assert means.loc["base", "estimate"] == pytest.approx(at)
    with pytest.raises(DesignError, match="Trends need the rows"):
        alone.trends("rho")
    formula = "gain ~ kind + rho + depth + (1 | model) + (1 | prompt)"
    sums = mixed.collect_statistics(formula, crossed, weights="precision")
    means = mixed.fit_statistics(formula, sums).means("kind")
    note = "From statistics alone: depth at the mean over weights."
    assert means["note"].str.contains(note, regex=False).all()
    model = mixed.fit(formula, crossed, weights="precision")
    heavier = np.average(crossed["depth"], weights=crossed["precision"]) - crossed["depth"].mean()
    moved = means["estimate"] - model.means("kind")["estimate"]
    slope = model.coefficients[model.terms.index("depth")]
    np.testing.assert_allclose(moved, slope * heavier, rtol=1e-4)


@pytest.mark.parametrize("df", [0.7, 5.0, np.inf])
def test_cells_of_directions_stand_for_all_of_them(monkeypatch, df):
    correlation = np.corrcoef(np.random.default_rng(1).normal(size=(8, 11)))
    tail = means._largest_t(correlation)
    monkeypatch.setattr(means, "CELLS", 2**26)
    finely = means._largest_t(correlation)
    for t in (0.5, 2.5, 4.0, 8.0):
        assert tail(t, df) == pytest.approx(finely(t, df), rel=1e-5, abs=1e-14)
    assert tail(2.5, df) != finely(2.5, df)


#: The fixed effects agree to 1e-8 at the same theta; the means are sums of them.
MEANS = 1e-8


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", at_theta_of_r["name"].unique())
def test_marginal_means_agree_with_emmeans(against_r, name, pairs):
    model = against_r.at_r(name, "REML")
    factor = "kind" if name.startswith("crossed") else "recipe"
    ours = model.means(factor, pairs=pairs).set_index("contrast")
    theirs = at_theta_of_r[(at_theta_of_r["name"] == name) & (at_theta_of_r["pair"] == pairs)]
    ours = ours.loc[theirs["contrast"]]
    for column in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=MEANS, atol=1e-12)
