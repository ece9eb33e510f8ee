"""Mixed models of a binary response: glmer's answers, whole cells, and what is refused.

`tests/r/mixed_binomial.R` wrote the answers with lme4 1.1-31 and performance 0.10.2,
`tests/r/mixed_predict.R` those on new rows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis import mixed
from analysis.mixed.algebra import laplace
from analysis.mixed.algebra.separation import separating_columns
from analysis.mixed.binomial import BinomialModel
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError, MissingExtraError

R = Path(__file__).parents[2] / "r"
rows = pd.read_csv(R / "mixed_data_crossed.csv")
cows = pd.read_csv(R / "mixed_data_cows.csv")

#: Both programs search the same function for its maximum, which is flat: an error of 1e-5 in a
#: parameter changes it by 1e-9. Both differentiate it twice for the standard errors, glmer by
#: differences of step 1e-4, which keep four digits where a variance is hardly known.
ESTIMATE = 2e-5
STD_ERROR = 3e-4
DEVIATION = 1e-4
MODE = 1e-4
LOG_LIKELIHOOD = 1e-6

CASES = {
    "cows": (cows, "ill ~ period + (1 | herd)"),
    "sign_crossed": (rows, "(gain > 1) ~ rho + depth + (1 | model) + (1 | prompt)"),
    "sign_factor": (rows, "(gain > 1) ~ kind * depth + (1 | model) + (1 | prompt)"),
    "sign_slope": (rows, "(gain > 1) ~ depth + (1 + depth | model) + (1 | prompt)"),
    "sign_nested": (rows, "(gain > 1) ~ rho + (1 | lab / model) + (1 | prompt)"),
    "sign_offset": (rows, "(gain > 1) ~ depth + offset(known) + (1 | model)"),
}


@pytest.fixture(scope="module")
def models() -> dict[str, BinomialModel]:
    return {name: mixed.fit_binomial(formula, frame) for name, (frame, formula) in CASES.items()}


def answer(table: str, name: str) -> pd.DataFrame:
    answers = pd.read_csv(R / f"mixed_binomial_{table}.csv", keep_default_na=False)
    return answers[answers["name"] == name].reset_index(drop=True)


def plain(name: str) -> str:
    """Return a name that is the same in R's and patsy's spelling."""
    for junk in ("(", ")", "[T.", "[", "]", " "):
        name = name.replace(junk, "")
    return ":".join(sorted(name.split(":")))


@pytest.mark.parametrize("name", CASES)
def test_fixed_effects_agree_with_glmer(models: dict[str, BinomialModel], name: str) -> None:
    ours = models[name].tidy(["fixed"])
    ours.index = pd.Index([plain(term) for term in ours["term"]])
    theirs = answer("fixed", name)
    ours = ours.loc[[plain(term) for term in theirs["term"]]]
    np.testing.assert_allclose(ours["estimate"], theirs["estimate"], rtol=ESTIMATE)
    np.testing.assert_allclose(ours["std_error"], theirs["std_error"], rtol=STD_ERROR)
    np.testing.assert_allclose(ours["statistic"], theirs["statistic"], rtol=STD_ERROR)
    np.testing.assert_allclose(ours["p_value"], theirs["p_value"], rtol=20 * STD_ERROR)


@pytest.mark.parametrize("name", CASES)
def test_variance_parameters_agree_with_glmer(models: dict[str, BinomialModel], name: str) -> None:
    ours = models[name].tidy(["ran_pars"])
    for row in answer("pars", name).itertuples():
        kind = "cor" if row.term2 else "sd"
        effects = {plain(str(each)) for each in (row.term1, row.term2) if each}
        found = [
            each.estimate
            for each in ours.itertuples()
            if plain(each.group) == plain(row.group)
            and each.term.startswith(kind)
            and {plain(part) for part in each.term.partition("__")[2].split(".")} == effects
        ]
        # glmer leaves a variance that is zero at 1e-5 or so.
        assert found == pytest.approx([row.sdcor], rel=DEVIATION, abs=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_the_maximum_is_never_lower_than_glmers(
    models: dict[str, BinomialModel], name: str
) -> None:
    ours, theirs = models[name].glance().iloc[0], answer("glance", name).iloc[0]
    assert ours["log_likelihood"] > float(theirs["log_likelihood"]) - 1e-9
    for column in ("log_likelihood", "aic", "bic"):
        assert ours[column] == pytest.approx(float(theirs[column]), abs=LOG_LIKELIHOOD, rel=0)
    assert ours["n_obs"] == theirs["n_obs"]
    assert bool(ours["singular"]) == (theirs["singular"] == "TRUE")
    assert ours["converged"]


@pytest.mark.parametrize("name", CASES)
def test_shares_of_variance_agree_with_performance(
    models: dict[str, BinomialModel], name: str
) -> None:
    ours, theirs = models[name].glance().iloc[0], answer("glance", name).iloc[0]
    if theirs["icc"] == "NA":
        assert ours["singular"]
        return
    for column in ("r_squared_marginal", "r_squared_conditional", "icc"):
        assert ours[column] == pytest.approx(float(theirs[column]), rel=DEVIATION)


@pytest.mark.parametrize("name", ["cows", "sign_crossed", "sign_slope"])
def test_conditional_modes_agree_with_glmer(models: dict[str, BinomialModel], name: str) -> None:
    ours, theirs = models[name].ranef(), answer("modes", name)
    theirs["term"] = [plain(term) for term in theirs["term"]]
    theirs["estimate"] = theirs["estimate"].astype(float)
    both = ours.assign(term=[plain(term) for term in ours["term"]]).merge(
        theirs, on=["group", "level", "term"], suffixes=("", "_r")
    )
    assert len(both) == len(ours) == len(theirs)
    np.testing.assert_allclose(both["estimate"], both["estimate_r"], atol=MODE)


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
    models: dict[str, BinomialModel], new_rows: dict[str, pd.DataFrame], name: str, groups: str
) -> None:
    theirs = pd.read_csv(R / "mixed_predict.csv").query("name == @name")
    for kind, atol in (("link", ESTIMATE), ("response", ESTIMATE / 4)):
        ours = models[name].predict(new_rows[name], kind=kind, groups=groups)
        assert set(ours["method"].str.contains("log odds")) == {kind == "link"}
        np.testing.assert_allclose(ours["estimate"], theirs[f"{kind}_{groups}"], atol=atol)
        if kind == "link":
            np.testing.assert_allclose(ours["std_error"], theirs[f"error_{groups}"], rtol=STD_ERROR)
    told = ours["note"].iloc[-1].count("was not fitted.")
    assert told == (len(models[name].design.blocks) if groups == "known" else 0)
    assert set(ours["note"].iloc[:-1]) == {""}


def test_a_probability_is_its_log_odds_turned_round(
    models: dict[str, BinomialModel], new_rows: dict[str, pd.DataFrame]
) -> None:
    new = new_rows["cows"]
    odds = models["cows"].predict(new, kind="link", groups="known", conf_level=0.9)
    share = models["cows"].predict(new, groups="known", conf_level=0.9)
    np.testing.assert_allclose(odds["conf_high"] - odds["estimate"], 1.6448536 * odds["std_error"])
    for column in ("estimate", "conf_low", "conf_high"):
        np.testing.assert_allclose(share[column], 1 / (1 + np.exp(-odds[column])))
    error = share["estimate"] * (1 - share["estimate"]) * odds["std_error"]
    np.testing.assert_allclose(share["std_error"], error)
    assert np.isinf(odds["df"]).all()
    assert (odds["conf_level"] == 0.9).all()


@pytest.mark.parametrize("groups", ["new", "known"])
def test_a_row_that_lacks_a_predictor_has_no_probability(
    models: dict[str, BinomialModel], groups: str
) -> None:
    whole = rows.head(3).set_axis(["a", "b", "a"])
    holes = whole.assign(depth=[whole["depth"].iloc[0], np.nan, whole["depth"].iloc[2]])
    model = models["sign_slope"]
    found, known = (model.predict(each, groups=groups) for each in (holes, whole))
    assert found["note"].tolist() == ["", "No prediction: 'depth' is no finite number.", ""]
    pd.testing.assert_frame_equal(found.iloc[[0, 2]], known.iloc[[0, 2]])
    assert found[["estimate", "std_error", "conf_low"]].iloc[1].isna().all()


def test_what_cannot_be_predicted_is_refused_as_by_a_linear_model(
    models: dict[str, BinomialModel],
) -> None:
    model, one = models["sign_slope"], rows.head(1)
    with pytest.raises(AnalysisError, match="`kind` must be one of 'response', 'link'"):
        model.predict(one, kind="odds")
    with pytest.raises(AnalysisError, match="`groups` must be one of 'new', 'known'"):
        model.predict(one, groups="all")
    with pytest.raises(AnalysisError, match="`conf_level` must lie between 0 and 1"):
        model.predict(one, conf_level=95)
    with pytest.raises(ColumnError, match="must have a column 'prompt'"):
        model.predict(one.drop(columns="prompt"), groups="known")
    with pytest.raises(ColumnError, match=r"must hold levels that were fitted; \['poem'\]"):
        models["sign_factor"].predict(one.assign(kind="poem"))


def test_a_singular_fit_has_errors_of_known_groups() -> None:
    singular = mixed.fit_binomial("(gain > 1) ~ 0 + kind + (1 | lab / model)", rows)
    known = singular.predict(rows.head(2), kind="link", groups="known")
    assert (known["std_error"] > 0).all()


def test_rows_of_one_cell_count_together_as_they_do_alone() -> None:
    cells = mixed.fit_binomial("(gain > 1) ~ rho + (1 | model)", rows)
    assert len(cells.statistics.counts) == 12
    assert cells.statistics.counts.sum() == len(rows)
    glmm = laplace._glmm()
    frame = rows.assign(high=(rows["gain"] > 1).astype(float))
    by_row = glmm.fit(frame, "high ~ rho + (1 | model)", family="binomial")
    assert cells.found.log_likelihood == pytest.approx(by_row.loglik, abs=1e-9)
    np.testing.assert_allclose(cells.coefficients, by_row.beta, rtol=ESTIMATE)


def test_a_truth_value_a_comparison_and_zeros_and_ones_are_the_same_response() -> None:
    formula = "~ depth + (1 | model)"
    high = rows["gain"] > 1
    found = [
        mixed.fit_binomial(f"(gain > 1) {formula}", rows),
        mixed.fit_binomial(f"high {formula}", rows.assign(high=high)),
        mixed.fit_binomial(f"high {formula}", rows.assign(high=high.astype(int))),
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.coefficients, found[0].coefficients)


def test_contrasts_and_references_are_the_callers() -> None:
    chosen = mixed.fit_binomial("(gain > 1) ~ kind + (1 | model)", rows, contrasts={"kind": "code"})
    first = mixed.fit_binomial("(gain > 1) ~ kind + (1 | model)", rows)
    assert chosen.terms == ("Intercept", "kind[T.base]", "kind[T.chat]")
    difference = first.coefficients[2] - first.coefficients[1]
    assert -chosen.coefficients[2] == pytest.approx(difference, rel=1e-4)
    assert chosen.tidy(["fixed"])["note"].str.contains("Reference level: kind = code").all()


def test_aliased_columns_are_left_out_and_named() -> None:
    doubled = rows.assign(twice=2 * rows["depth"])
    formula = "(gain > 1) ~ rho + depth + twice + (1 | model) + (1 | prompt)"
    with pytest.raises(DesignError, match="aliased='drop'"):
        mixed.fit_binomial(formula, doubled)
    model = mixed.fit_binomial(formula, doubled, aliased="drop")
    known = mixed.fit_binomial(CASES["sign_crossed"][1], rows)
    assert model.terms == known.terms
    np.testing.assert_allclose(model.coefficients, known.coefficients, rtol=1e-9)
    note = "Left out, as linear combinations of the terms before them: twice."
    assert note in model.glance()["note"].item()
    with pytest.raises(AnalysisError, match="aliased"):
        mixed.fit_binomial(formula, doubled, aliased="keep")


def test_the_frames_have_the_columns_of_a_linear_mixed_model(
    models: dict[str, BinomialModel],
) -> None:
    linear = mixed.fit("gain ~ depth + (1 + depth | model) + (1 | prompt)", rows)
    effects = ["fixed", "ran_pars", "ran_vals"]
    ours, theirs = models["sign_slope"].tidy(effects), linear.tidy(effects)
    assert set(ours.columns) == set(theirs.columns) <= set(glossary.GLOSSARY)
    keys = ["effect", "group", "level", "term"]
    assert not ours.duplicated(keys).any()
    left_out = {("Residual", "sd__Observation")}
    named = set(theirs[keys].itertuples(index=False, name=None))
    assert {
        (effect, group, level, term)
        for effect, group, level, term in named
        if (group, term) not in left_out
    } == set(ours[keys].itertuples(index=False, name=None))
    assert models["cows"].glance().columns.tolist() == linear.glance().columns.tolist()


def test_guards_speak(models: dict[str, BinomialModel]) -> None:
    nested = models["sign_nested"].warnings()
    few = nested.set_index("guard").loc["few groups for a z test", "note"]
    assert few.endswith("rejects too often: confirm it by permuting the levels.")
    assert "variance at the boundary" not in set(nested["guard"])
    singular = mixed.fit_binomial("(gain > 1) ~ 0 + kind + (1 | lab / model)", rows)
    assert "variance at the boundary" in set(singular.warnings()["guard"])
    assert singular.tidy(["ran_pars"])["note"].str.startswith("The fit is singular").all()
    rare = mixed.fit_binomial("(gain > 2.2) ~ depth + (1 | model)", rows)
    note = rare.warnings().set_index("guard").loc["rare outcome", "note"]
    n_rare = int((rows["gain"] > 2.2).sum())
    assert note.startswith(f"The rarer outcome occurs in {n_rare} rows for 2 fixed effects")
    assert note in rare.glance()["note"].iloc[0]


def test_a_search_that_failed_is_told(
    models: dict[str, BinomialModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = laplace._glmm()

    def unfinished(*arguments: object, **options: object) -> object:
        fit = known.fit(*arguments, **options)
        fit.diagnostics["notes"] = [{"kind": "pirls_exhausted", "final_eval": True}]
        return fit

    monkeypatch.setattr(laplace, "_glmm", lambda: SimpleNamespace(fit=unfinished))
    model = mixed.fit_binomial("(gain > 1) ~ depth + (1 | model)", rows)
    assert not model.glance()["converged"].iloc[0]
    assert "not converged" in set(model.warnings()["guard"])


def test_without_the_package_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "glmm", None)
    with pytest.raises(MissingExtraError) as refusal:
        mixed.fit_binomial("(gain > 1) ~ depth + (1 | model)", rows)
    assert refusal.value.exit_code == 3
    assert str(refusal.value) == (
        "A mixed model of a binary response needs the package 'glmm'; it is not installed.\n"
        'hint: Run: pip install "thermoscope[glmm]"'
    )


high = rows.assign(high=(rows["gain"] > 1).astype(float))

REFUSED: dict[str, tuple[str, pd.DataFrame, type[AnalysisError], str]] = {
    "a number": (
        "gain ~ depth + (1 | model)",
        rows,
        ColumnError,
        f"'gain' must be 0 or 1 in every row; rows where it is neither: {len(rows)} of "
        f"{len(rows)}.",
    ),
    "a missing outcome": (
        "high ~ depth + (1 | model)",
        high.assign(high=[np.nan, *high["high"][1:]]),
        ColumnError,
        f"'high' must be 0 or 1 in every row; rows where it is neither: 1 of {len(rows)}.",
    ),
    "a missing number under a comparison": (
        "(gain > 1) ~ depth + (1 | model)",
        rows.assign(gain=[np.nan, *rows["gain"][1:]]),
        ColumnError,
        f"'(gain > 1)' must be 0 or 1 in every row; rows where it is neither: 1 of {len(rows)}.",
    ),
    "one outcome": (
        "(gain > 99) ~ depth + (1 | model)",
        rows,
        DesignError,
        f"'(gain > 99)' must hold both outcomes; all {len(rows)} rows have the same.",
    ),
    "no rows": (
        "high ~ depth + (1 | model)",
        high[:0],
        DesignError,
        "A mixed model needs rows; the selection is empty.",
    ),
    "a missing predictor": (
        "high ~ depth + (1 | model)",
        high.assign(depth=[np.nan, *high["depth"][1:]]),
        ColumnError,
        f"'depth' must be a finite number in every row; rows where it is not: 1 of {len(rows)}.",
    ),
    "a missing level": (
        "high ~ depth + (1 | model)",
        high.assign(model=[None, *high["model"][1:]]),
        ColumnError,
        f"Column 'model' must name a level in every row; rows without: 1 of {len(rows)}.",
    ),
    "separation by a factor": (
        "high ~ kind + (1 | model)",
        high.assign(high=high["high"].where(high["kind"] != "chat", 1.0)),
        DesignError,
        "Both outcomes must occur whatever the predictors say; ['kind[T.chat]'] tell them apart "
        "without error, and the likelihood has no maximum.",
    ),
    "separation by a number": (
        "(depth > 0.5) ~ depth + (1 | model)",
        rows,
        DesignError,
        "Both outcomes must occur whatever the predictors say; ['depth'] tell them apart "
        "without error, and the likelihood has no maximum.",
    ),
    "separation by a group": (
        "high ~ 1 + (1 | model)",
        high.assign(high=(high["model"] < "m06").astype(float)),
        DesignError,
        "Some level of 'model' must hold both outcomes; none of its 12 levels does, and their "
        "variance has no estimate.",
    ),
    "a repeated predictor": (
        "high ~ depth + I(2 * depth) + (1 | model)",
        high,
        DesignError,
        "Every term must add something; ['I(2 * depth)'] are linear combinations of the terms "
        "before them.",
    ),
    "uncorrelated slopes": (
        "high ~ depth + (1 + depth || model)",
        high,
        DesignError,
        "The random effects of 'model' must be an intercept and slopes correlated with it, for a "
        "binary response.",
    ),
    "a slope that is not fixed": (
        "high ~ 1 + (1 + depth | model)",
        high,
        DesignError,
        "A random slope must also be a fixed effect, for a binary response; 'depth' of 'model' "
        "is none.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(name: str) -> None:
    formula, frame, kind, sentence = REFUSED[name]
    with pytest.raises(kind) as refusal:
        mixed.fit_binomial(formula, frame)
    assert refusal.value.problem == sentence
    assert refusal.value.hint


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(4, 12))
@example(seed=3819, n=4)  # all points are zero
def test_two_numbers_separate_outcomes_when_a_line_does(seed: int, n: int) -> None:
    # By hand: some direction in the plane has all of one outcome on one side, tried densely.
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (n, 1)).astype(float)
    outcome = rng.integers(0, 2, n).astype(float)
    design = np.column_stack([np.ones(n), points])
    found = bool(separating_columns(design, np.ones(n), outcome))
    ones, zeros = points[outcome == 1], points[outcome == 0]
    if not len(ones) or not len(zeros):
        assert found
        return
    one_sided = ones.min() >= zeros.max() or zeros.min() >= ones.max()
    assert found == (one_sided and bool(np.ptp(points)))
