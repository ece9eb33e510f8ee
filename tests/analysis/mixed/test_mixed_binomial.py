"""Mixed models of a binary response: glmer's answers, whole cells, and what is refused.

`tests/r/mixed_binomial.R` wrote the answers with lme4 1.1-31 and performance 0.10.2, and
`tests/r/mixed_predict.R` those of predictions.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis import mixed
from analysis.mixed.algebra import laplace
from analysis.mixed.algebra.rank import SPANNED, separating_columns
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError, MissingExtraError
from analysis.tidy.extra import extra
from tests.analysis.mixed.at_theta import parameter, plain
from tests.analysis.mixed.glmer import (
    CASES,
    DEVIATION,
    ESTIMATE,
    LOG_LIKELIHOOD,
    MODE,
    STD_ERROR,
    R,
    rows,
)


def answer(table, name):
    answers = pd.read_csv(R / f"mixed_binomial_{table}.csv", keep_default_na=False)
    return answers[answers["name"] == name].reset_index(drop=True)


@pytest.mark.parametrize("name", CASES)
def test_estimates_likelihoods_and_shares_agree_with_glmer(binomial_models, name):
    ours = binomial_models[name].tidy(["fixed"])
    ours.index = pd.Index([plain(term) for term in ours["term"]])
    theirs = answer("fixed", name)
    ours = ours.loc[[plain(term) for term in theirs["term"]]]
    np.testing.assert_allclose(ours["estimate"], theirs["estimate"], rtol=ESTIMATE)
    np.testing.assert_allclose(ours["std_error"], theirs["std_error"], rtol=STD_ERROR)
    np.testing.assert_allclose(ours["statistic"], theirs["statistic"], rtol=STD_ERROR)
    np.testing.assert_allclose(ours["p_value"], theirs["p_value"], rtol=20 * STD_ERROR)
    ours = binomial_models[name].tidy(["ran_pars"])
    for row in answer("pars", name).itertuples():
        result = parameter(ours, row)
        # glmer leaves a variance that is zero at 1e-5 or so.
        assert result == pytest.approx([row.sdcor], rel=DEVIATION, abs=1e-4)
    ours, theirs = binomial_models[name].glance().iloc[0], answer("glance", name).iloc[0]
    assert ours["log_likelihood"] > float(theirs["log_likelihood"]) - 1e-9
    for column in ("log_likelihood", "aic", "bic"):
        assert ours[column] == pytest.approx(float(theirs[column]), abs=LOG_LIKELIHOOD, rel=0)
    assert ours["n_obs"] == theirs["n_obs"]
    assert bool(ours["singular"]) == (theirs["singular"] == "TRUE")
    assert ours["converged"]
    if theirs["icc"] == "NA":
        assert ours["singular"]
        return
    for column in ("r_squared_marginal", "r_squared_conditional", "icc"):
        assert ours[column] == pytest.approx(float(theirs[column]), rel=DEVIATION)


@pytest.mark.parametrize("name", ["cows", "sign_crossed", "sign_slope"])
def test_conditional_modes_agree_with_glmer(binomial_models, name):
    ours, theirs = binomial_models[name].ranef(), answer("modes", name)
    theirs["term"] = [plain(term) for term in theirs["term"]]
    theirs["estimate"] = theirs["estimate"].astype(float)
    both = ours.assign(term=[plain(term) for term in ours["term"]]).merge(
        theirs, on=["group", "level", "term"], suffixes=("", "_r")
    )
    assert len(both) == len(ours) == len(theirs)
    np.testing.assert_allclose(both["estimate"], both["estimate_r"], atol=MODE)


def test_the_same_response_and_the_same_cells_count_alike():
    cells = mixed.fit_binomial("(gain > 1) ~ rho + (1 | model)", rows)
    assert len(cells.statistics.counts) == 12
    assert cells.statistics.counts.sum() == len(rows)
    glmm = extra("glmm")
    frame = rows.assign(high=(rows["gain"] > 1).astype(float))
    by_row = glmm.fit(frame, "high ~ rho + (1 | model)", family="binomial")
    assert cells.solution.log_likelihood == pytest.approx(by_row.loglik, abs=1e-9)
    np.testing.assert_allclose(cells.coefficients, by_row.beta, rtol=ESTIMATE)
    formula = "~ depth + (1 | model)"
    high = rows["gain"] > 1
    result = [
        mixed.fit_binomial(f"(gain > 1) {formula}", rows),
        mixed.fit_binomial(f"high {formula}", rows.assign(high=high)),
        mixed.fit_binomial(f"high {formula}", rows.assign(high=high.astype(int))),
    ]
    for other in result[1:]:
        np.testing.assert_array_equal(other.coefficients, result[0].coefficients)


def test_contrasts_and_references_are_the_callers_and_aliased_columns_are_named():
    chosen = mixed.fit_binomial("(gain > 1) ~ kind + (1 | model)", rows, contrasts={"kind": "code"})
    first = mixed.fit_binomial("(gain > 1) ~ kind + (1 | model)", rows)
    assert chosen.terms == ("Intercept", "kind[T.base]", "kind[T.chat]")
    difference = first.coefficients[2] - first.coefficients[1]
    assert -chosen.coefficients[2] == pytest.approx(difference, rel=1e-4)
    assert chosen.tidy(["fixed"])["note"].str.contains("Reference level: kind = code").all()
    doubled = rows.assign(twice=2 * rows["depth"])
    formula = "(gain > 1) ~ rho + depth + twice + (1 | model) + (1 | prompt)"
    with pytest.raises(DesignError, match="aliased='drop'"):
        mixed.fit_binomial(formula, doubled)
    model = mixed.fit_binomial(formula, doubled, aliased="drop")
    known = mixed.fit_binomial(CASES["sign_crossed"][1], rows)
    assert model.terms == known.terms
    np.testing.assert_allclose(model.coefficients, known.coefficients, rtol=1e-9)
    assert ": twice." in model.warnings().set_index("guard").loc["columns left out", "note"]
    assert ": twice." in model.glance()["note"].item()
    with pytest.raises(AnalysisError, match="aliased"):
        mixed.fit_binomial(formula, doubled, aliased="keep")


def test_a_search_that_failed_is_told_and_without_the_package_there_is_none(
    binomial_models, monkeypatch
):
    known = extra("glmm")

    def unfinished(*arguments, **options):
        fit = known.fit(*arguments, **options)
        fit.diagnostics["notes"] = [{"kind": "pirls_exhausted", "final_eval": True}]
        return fit

    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "glmm", None)
        with pytest.raises(MissingExtraError) as refusal:
            mixed.fit_binomial("(gain > 1) ~ depth + (1 | model)", rows)
    assert refusal.value.exit_code == 3
    assert "thermoscope[glmm]" in refusal.value.hint
    monkeypatch.setattr(laplace, "extra", lambda *_, **__: SimpleNamespace(fit=unfinished))
    model = mixed.fit_binomial("(gain > 1) ~ depth + (1 | model)", rows)
    assert not model.glance()["converged"].iloc[0]
    assert "not converged" in set(model.warnings()["guard"])


high = rows.assign(high=(rows["gain"] > 1).astype(float))
chatting = high["high"].where(high["kind"] != "chat", 1.0)

PLAIN = "high ~ depth + (1 | model)"
OTHERS = rows.index > 0

#: A formula, what is changed in the rows, the error, and what its sentence names.
REFUSED = [
    ("gain ~ depth + (1 | model)", {}, ColumnError, "'gain' must be 0 or 1.*: 371 of 371"),
    (PLAIN, {"high": high["high"].where(OTHERS)}, ColumnError, "'high' must be 0 or 1.*: 1 of 371"),
    ("(gain > 1) ~ 1 + (1 | lab)", {"gain": rows["gain"].where(OTHERS)}, ColumnError, ": 1 of 371"),
    ("(gain > 99) ~ depth + (1 | model)", {}, DesignError, "both outcomes; all 371 rows"),
    (PLAIN, {"depth": rows["depth"].where(OTHERS)}, ColumnError, "'depth' must be.*: 1 of"),
    (PLAIN, {"model": rows["model"].where(OTHERS)}, ColumnError, "'model' must name.*: 1 of"),
    ("high ~ kind + (1 | model)", {"high": chatting}, DesignError, r"\['kind\[T.chat\]'\] separ"),
    ("(depth > 0.5) ~ depth + (1 | model)", {}, DesignError, r"\['depth'\] separate them"),
    ("high ~ 1 + (1 | model)", {"high": rows["model"] < "m06"}, DesignError, "of its 12 levels"),
    ("high ~ depth + I(2 * depth) + (1 | model)", {}, DesignError, f"are {SPANNED}"),
    ("high ~ depth + (1 + depth || model)", {}, DesignError, "'model'.* slopes correlated"),
    ("high ~ 1 + (1 + depth | model)", {}, DesignError, "'depth' of 'model'"),
]


@pytest.mark.parametrize(("formula", "changed", "kind", "named"), REFUSED)
def test_bad_input_is_refused_in_one_sentence(formula, changed, kind, named):
    with pytest.raises(kind, match=named) as refusal:
        mixed.fit_binomial(formula, high.assign(**changed))
    assert refusal.value.hint
    with pytest.raises(DesignError, match="the selection is empty"):
        mixed.fit_binomial(PLAIN, high[:0])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(4, 12))
@example(seed=3819, n=4)  # all points are zero
def test_two_numbers_separate_outcomes_when_a_line_does(seed, n):
    # By hand: some direction in the plane has all of one outcome on one side, tried densely.
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (n, 1)).astype(float)
    outcome = rng.integers(0, 2, n).astype(float)
    design = np.column_stack([np.ones(n), points])
    result = bool(separating_columns(design, np.ones(n), outcome))
    ones, zeros = points[outcome == 1], points[outcome == 0]
    if not len(ones) or not len(zeros):
        assert result
        return
    one_sided = ones.min() >= zeros.max() or zeros.min() >= ones.max()
    assert result == (one_sided and bool(np.ptp(points)))


@pytest.fixture(scope="module")
def new_rows():
    """Return the new rows of every case; the groups of the last were never fitted."""
    answers = pd.read_csv(R / "mixed_predict.csv")
    groups = {"herd", "model", "prompt", "lab"}
    result = {}
    for name, of_case in answers.groupby("name"):
        new = CASES[str(name)][0].iloc[of_case["row"]].reset_index(drop=True)
        new.loc[of_case["is_new"].to_numpy(), list(groups & set(new.columns))] = "never seen"
        result[str(name)] = new
    return result


@pytest.mark.parametrize("groups", ["new", "known"])
@pytest.mark.parametrize("name", ["cows", "sign_slope", "sign_nested", "sign_offset"])
def test_predictions_agree_with_glmer(binomial_models, new_rows, name, groups):
    theirs = pd.read_csv(R / "mixed_predict.csv").query("name == @name")
    for kind, atol in (("link", ESTIMATE), ("response", ESTIMATE / 4)):
        ours = binomial_models[name].predict(new_rows[name], kind=kind, groups=groups)
        assert set(ours["method"].str.contains("log odds")) == {kind == "link"}
        np.testing.assert_allclose(ours["estimate"], theirs[f"{kind}_{groups}"], atol=atol)
        if kind == "link":
            np.testing.assert_allclose(ours["std_error"], theirs[f"error_{groups}"], rtol=STD_ERROR)
    told = ours["note"].iloc[-1].count("was not fitted.")
    assert told == (len(binomial_models[name].design.blocks) if groups == "known" else 0)
    assert set(ours["note"].iloc[:-1]) == {""}


def test_a_probability_is_its_log_odds_turned_round(binomial_models, new_rows):
    new = new_rows["cows"]
    odds = binomial_models["cows"].predict(new, kind="link", groups="known", conf_level=0.9)
    share = binomial_models["cows"].predict(new, groups="known", conf_level=0.9)
    np.testing.assert_allclose(odds["conf_high"] - odds["estimate"], 1.6448536 * odds["std_error"])
    for column in ("estimate", "conf_low", "conf_high"):
        np.testing.assert_allclose(share[column], 1 / (1 + np.exp(-odds[column])))
    error = share["estimate"] * (1 - share["estimate"]) * odds["std_error"]
    np.testing.assert_allclose(share["std_error"], error)
    assert np.isinf(odds["df"]).all()
    assert (odds["conf_level"] == 0.9).all()
    singular = mixed.fit_binomial("(gain > 1) ~ 0 + kind + (1 | lab / model)", rows)
    known = singular.predict(rows.head(2), kind="link", groups="known")
    assert (known["std_error"] > 0).all()


@pytest.mark.parametrize("groups", ["new", "known"])
def test_a_row_that_lacks_a_predictor_has_no_probability(binomial_models, groups):
    whole = rows.head(3).set_axis(["a", "b", "a"])
    holes = whole.assign(depth=[whole["depth"].iloc[0], np.nan, whole["depth"].iloc[2]])
    model = binomial_models["sign_slope"]
    result, known = (model.predict(each, groups=groups) for each in (holes, whole))
    assert result["note"].tolist() == ["", "No prediction: 'depth' is no finite number.", ""]
    pd.testing.assert_frame_equal(result.iloc[[0, 2]], known.iloc[[0, 2]])
    assert result[["estimate", "std_error", "conf_low"]].iloc[1].isna().all()


def test_what_cannot_be_predicted_is_refused_as_by_a_linear_model(binomial_models):
    model, one = binomial_models["sign_slope"], rows.head(1)
    with pytest.raises(AnalysisError, match="`kind` must be one of 'response', 'link'"):
        model.predict(one, kind="odds")
    with pytest.raises(AnalysisError, match="`groups` must be one of 'new', 'known'"):
        model.predict(one, groups="all")
    with pytest.raises(AnalysisError, match="`conf_level` must lie between 0 and 1"):
        model.predict(one, conf_level=95)
    with pytest.raises(ColumnError, match="must have a column 'prompt'"):
        model.predict(one.drop(columns="prompt"), groups="known")
    with pytest.raises(ColumnError, match=r"must hold levels that were fitted; \['poem'\]"):
        binomial_models["sign_factor"].predict(one.assign(kind="poem"))
