"""Terms of several columns are tested together, means are R's emmeans.

`tests/r/mixed_terms.R` wrote answers with lme4 1.1-31 and car 3.1, `tests/r/mixed_basis.R` those
of scale, poly, bs and ns, which predict other rows with the same constants, `tests/r/mixed_face.R`
those of emmeans 1.8.4 and mvtnorm 1.1-3.
"""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

answers = pd.read_csv(R / "mixed_terms.csv")
rows = pd.read_csv(R / "mixed_data_crossed.csv")
rows = rows.assign(twice=2 * rows["depth"] + 3, half=np.where(np.arange(len(rows)) % 2, "u", "v"))
SPLINES = "gain ~ poly(depth, 3) * kind + ns(rho, df=2) + (1 | model)"


@pytest.fixture(scope="module")
def splines():
    return mixed.fit(SPLINES, rows)


def theirs(name):
    """Return R's answers, terms as we write them; of an interaction in any order."""
    of_name = answers[answers["name"] == name]
    return of_name.assign(term=of_name["term"].map(parts)).set_index("term")


def parts(term):
    plain = term.replace(" ", "").replace(",", ";").replace("(Intercept)", "Intercept")
    return frozenset(plain.replace("[T.", "").replace("]", "").split(":"))


@pytest.mark.parametrize("kind", ["II", "III"])
def test_all_columns_of_a_basis_are_tested_together(splines, kind):
    ours, known = splines.anova(type=kind, df="KR"), theirs(f"anova{len(kind)}")
    assert len(ours) == len(known) == 4
    at = known.loc[list(ours["term"].map(parts))]
    np.testing.assert_allclose(ours["df"], at["df"])
    np.testing.assert_allclose(ours["p_value"], at["p_value"], rtol=1e-4)
    np.testing.assert_allclose(ours["statistic"], at["statistic"], rtol=1e-4)


def test_all_columns_of_a_basis_are_dropped_together_and_taken_by_a_binary_response(splines):
    ours, known = splines.drop1().iloc[1:], theirs("drop1")
    assert len(ours) == len(known)
    at = known.loc[list(ours["term"].map(parts))]
    np.testing.assert_allclose(ours["statistic"], at["statistic"], rtol=1e-6)
    np.testing.assert_allclose(ours["p_value"], at["p_value"], rtol=1e-6)
    ours, known = (
        mixed.fit_binomial("(gain > 1) ~ poly(depth, 2) + ns(rho, 2) + (1 | model)", rows),
        theirs("glmer"),
    )
    at = known.loc[[parts(term) for term in ours.terms]]
    np.testing.assert_allclose(ours.coefficients, at["statistic"], rtol=2e-4)


def test_statistics_carry_the_constants_of_bases_and_places_share_them(splines, tmp_path):
    mixed.write_statistics(mixed.collect_statistics(SPLINES, rows), tmp_path / "sums.parquet")
    held = mixed.read_statistics(tmp_path / "sums.parquet")
    again = mixed.fit_statistics(SPLINES, held)
    np.testing.assert_array_equal(again.coefficients, splines.coefficients)
    with pytest.raises(DesignError, match=r"constants of poly\(depth, 2\) come from the rows"):
        mixed.fit_statistics("gain ~ poly(depth, 2) + (1 | model)", held)
    formula = "gain ~ ns(rho, 2) + (1 | model)"
    first = mixed.collect_statistics(formula, rows[:200], constant=())
    apart = mixed.collect_statistics(formula, rows[200:], constant=())
    with pytest.raises(DesignError, match=r"the same constants of ns\(rho, 2\)"):
        mixed.merge_statistics([first, apart])
    agreed = mixed.collect_statistics(formula, rows[200:], constant=(), bases_of=first)
    joint = mixed.fit_statistics(formula, mixed.merge_statistics([first, agreed]))
    whole = mixed.collect_statistics(formula, rows, constant=(), bases_of=first)
    expected = mixed.fit_statistics(formula, whole).coefficients
    np.testing.assert_allclose(joint.coefficients, expected, rtol=1e-7)


LINE, CELL = "gain ~ depth + twice + kind + (1 | model)", "gain ~ half * kind + (1 | model)"
PART = rows[(rows["half"] != "u") | (rows["kind"] != "chat")]


@pytest.mark.parametrize(
    ("name", "formula", "data", "left_out"),
    [("line", LINE, rows, "twice"), ("cell", CELL, PART, "half[T.v]:kind[T.chat]")],
)
def test_aliased_columns_are_left_out_as_by_lme4(name, formula, data, left_out):
    with pytest.raises(DesignError, match="aliased='drop'"):
        mixed.fit(formula, data)
    model, known = mixed.fit(formula, data, aliased="drop"), theirs(name)
    assert {parts(term) for term in model.terms} == set(known.index)
    at = known.loc[[parts(term) for term in model.terms]]
    np.testing.assert_allclose(model.coefficients, at["statistic"], rtol=1e-6)
    assert model.solution.criterion == pytest.approx(at["p_value"].iloc[0], abs=1e-6)
    assert f": {left_out}." in model.warnings().set_index("guard").loc["columns left out", "note"]
    assert f": {left_out}." in model.glance()["note"].item()
    assert f": {left_out}." in model.summary()
    assert model.update(reml=False).terms == model.terms


def test_what_aliased_columns_leave_open_is_refused():
    line = mixed.fit(LINE, rows, aliased="drop")
    plain = mixed.fit("gain ~ depth + kind + (1 | model)", rows)
    np.testing.assert_allclose(line.predict(rows)["estimate"], plain.predict(rows)["estimate"])
    np.testing.assert_allclose(line.anova()["p_value"], plain.anova()["p_value"], rtol=1e-6)
    np.testing.assert_allclose(line.means(["kind"])["estimate"], plain.means(["kind"])["estimate"])
    with pytest.raises(
        DesignError, match=f"{len(rows)} of {len(rows)} points are not. There twice"
    ):
        line.predict(rows.assign(twice=0.0))
    cell = mixed.fit(CELL, PART, aliased="drop")
    assert list(cell.anova(type="II")["df"]) == [1, 2, 1]
    with pytest.raises(DesignError, match="some of half:kind are combinations of others"):
        cell.anova()
    with pytest.raises(DesignError, match="1 of 6 points are not"):
        cell.means(["kind"])
    with pytest.raises(AnalysisError, match="aliased"):
        mixed.fit(LINE, rows, aliased="keep")


basis_answers = pd.read_csv(R / "mixed_basis.csv")

BASES = {
    "scale": "gain ~ scale(depth) + kind + (1 | model)",
    "poly": "gain ~ poly(depth, 3) * kind + (1 | model)",
    "bs": "gain ~ bs(depth, df=5) + (1 | model)",
    "ns": "gain ~ ns(depth, df=4) + (1 | model)",
    "ns_log": "gain ~ ns(log(rho), 2) + (1 | model)",
    "slope": "gain ~ scale(depth) + (1 + scale(depth) | model)",
}

NEW = pd.DataFrame({"depth": [-0.2, 0.31, 0.5, 1.3], "rho": [0.1, 0.2, 0.3, 0.6], "kind": "chat"})


@pytest.mark.parametrize("name", BASES)
def test_fits_and_predictions_of_bases_are_rs(name):
    model = mixed.fit(BASES[name], rows)
    known = basis_answers[basis_answers["name"] == name]
    assert model.solution.criterion == pytest.approx(known["criterion"].iloc[0], abs=1e-6)
    new = known[known["term"].str.startswith("new")]["estimate"]
    ours = model.predict(NEW, df="wald")["estimate"]
    np.testing.assert_allclose(ours, new, rtol=1e-5, atol=1e-6)
    coefficients = known[~known["term"].str.startswith("new")]["estimate"]
    if name != "poly":  # patsy orders interactions by factors first
        np.testing.assert_allclose(sorted(model.coefficients), sorted(coefficients), rtol=1e-4)


def test_columns_are_named_as_written_and_fixed_factors_nest_as_in_r():
    model = mixed.fit("gain ~ poly(depth, 2) + scale(rho) + (1 + scale(depth) | model)", rows)
    assert model.terms == ("Intercept", "poly(depth, 2)1", "poly(depth, 2)2", "scale(rho)")
    assert "sd__scale(depth)" in set(model.tidy()["term"])
    whole = ["poly(depth, 2)", "scale(rho)"]
    assert list(model.anova()["term"]) == whole
    assert "poly(depth, 2) + scale(rho)" in model.summary()
    assert set(model.drop1()["term"]) == {"", *whole}
    augmented = model.augment()
    predicted = model.predict(rows, groups="known", df="wald")["estimate"]
    np.testing.assert_allclose(predicted, augmented["fitted"], atol=1e-10)
    nested = mixed.fit("gain ~ kind/depth + (1 | model)", rows)
    crossed = mixed.fit("gain ~ kind*depth + (1 | model)", rows)
    assert nested.terms[3:] == ("kind[base]:depth", "kind[chat]:depth", "kind[code]:depth")
    slopes = crossed.trends("depth", "kind", df="wald")["estimate"]
    np.testing.assert_allclose(nested.coefficients[3:], slopes, atol=1e-6)


CALLS_REFUSED = {
    "gain ~ poly(depth) + (1 | model)": r"must read poly\(x, degree\)",
    "gain ~ poly(depth, 2.5) + (1 | model)": "with a whole number of at least 1",
    "gain ~ bs(depth, 2) + (1 | model)": r"must read bs\(x, df\) with a whole number of at least 3",
    "gain ~ scale(kind) + (1 | model)": "'kind' must hold numbers",
    "gain ~ ns(depth, 4, 2) + (1 | model)": r"must read ns\(x, df\)",
    "gain ~ poly(step, 4) + (1 | model)": "needs 5 distinct values",
    "gain ~ scale(one) + (1 | model)": "must be of numbers that vary",
}


@pytest.mark.parametrize("formula", CALLS_REFUSED)
def test_calls_without_a_meaning_are_refused(formula):
    data = rows.assign(step=np.arange(len(rows)) % 3, one=1.0)
    with pytest.raises(ColumnError, match=CALLS_REFUSED[formula]):
        mixed.fit(formula, data)


emmeans = pd.read_csv(R / "mixed_face_means.csv")
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
    emmeans[["case", "kind", "adjust"]].drop_duplicates().itertuples(index=False, name=None)
)


@pytest.mark.parametrize(("case", "asked", "adjust"), CASES)
def test_means_and_trends_are_those_of_emmeans(fits, case, asked, adjust):
    theirs = emmeans[
        (emmeans["case"] == case) & (emmeans["kind"] == asked) & (emmeans["adjust"] == adjust)
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


def test_an_adjustment_is_named_and_what_has_no_means_is_refused(fits):
    model = fits["crossed_offset"]
    frame = model.means("kind", pairs=True, adjust="tukey")
    assert set(frame["adjustment"]) == {"tukey"}
    assert set(frame["n_tests"]) == {3}
    assert "p-values are not adjusted" in model.means("kind", pairs=True)["note"][0]
    with pytest.raises(DesignError, match="Tukey's adjustment takes all pairs"):
        model.means("kind", adjust="tukey")
    with pytest.raises(AnalysisError, match="`adjust` must be one of 'none', 'holm'"):
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
