"""Planned contrasts, values of covariates, families and adjustments against emmeans."""

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

crossed = pd.read_csv(R / "mixed_data_crossed.csv")
cake = pd.read_csv(R / "mixed_data_cake.csv")
theirs = pd.read_csv(R / "mixed_planned.csv", keep_default_na=False, na_values=["NA"])
FORMULAS = {
    "cake": ("angle ~ recipe * temperature + (1 | recipe:replicate)", cake),
    "crossed": ("gain ~ kind * depth + log(rho) + (1 | model) + (1 | prompt)", crossed),
    "two": ("gain ~ kind * lab + depth + (1 | model) + (1 | prompt)", crossed),
}
TEMPERATURES = ("t175", "t185", "t195", "t205", "t215", "t225")
PLANNED = {
    "linear": dict(zip(TEMPERATURES, (-5, -3, -1, 1, 3, 5), strict=True)),
    "early - late": {t: (1 if t < "t200" else -1) / 3 for t in TEMPERATURES},
}
LAST = "kind[T.code]:depth"


@pytest.fixture(scope="module")
def fits():
    return {case: mixed.fit(*given) for case, given in FORMULAS.items()}


def ones(model):
    return dict.fromkeys(model.terms, 1)


def asked(fits, case, what, **how):
    """Return what emmeans was asked for."""
    model = fits[case]
    weights = {"slope of the last": {"depth": 1, LAST: 1}, "sum": ones(model)}
    two_labs = sorted(crossed["lab"].unique())[:2]
    calls = {
        "planned": lambda: model.means("temperature", contrasts=PLANNED, **how),
        "control": lambda: model.means("temperature", control="t185", **how),
        "by": lambda: model.means("kind", by="lab", pairs=True, **how),
        "at": lambda: model.means("kind", at={"depth": 0.9, "rho": 0.5}, **how),
        "at pairs": lambda: model.means("kind", at={"depth": 0.9, "rho": 0.5}, pairs=True, **how),
        "at levels": lambda: model.means("kind", at={"lab": two_labs, "depth": 0.25}, **how),
        "coefficients": lambda: model.contrast(weights, **how),
    }
    return calls[what]()


CASES = theirs.loc[theirs["asked"] != "joint", ["case", "asked", "method", "adjust"]]


@pytest.mark.parametrize(
    ("case", "what", "df", "adjust"),
    list(CASES.drop_duplicates().itertuples(index=False, name=None)),
)
def test_contrasts_are_those_of_emmeans(fits, case, what, df, adjust):
    answer = theirs[
        (theirs[["case", "asked", "method", "adjust"]] == [case, what, df, adjust]).all(axis=1)
    ]
    ours = asked(fits, case, what, df=df, adjust="dunnett" if adjust == "mvt" else adjust)
    assert ours["contrast"].tolist() == answer["contrast"].tolist()
    if what == "by":
        assert ours["level"].tolist() == answer["level"].tolist()
    size = answer["std_error"].max()
    # lmerTest's df of Satterthwaite are by differences.
    slack = 2e-5 if df == "kenward-roger" else 1e-3
    for column in ("estimate", "conf_low", "conf_high"):
        loose = 2e-3 if adjust == "mvt" else max(slack, 2e-4 if adjust == "tukey" else 0)
        np.testing.assert_allclose(ours[column], answer[column], rtol=slack, atol=loose * size)
    np.testing.assert_allclose(ours["std_error"], answer["std_error"], rtol=slack)
    np.testing.assert_allclose(ours["df"], answer["df"], rtol=max(slack, 1e-4))
    if answer["p_value"].notna().all():
        column = "p_value" if adjust == "none" else "p_adjusted"
        loose = 5e-3 if adjust == "mvt" else 2e-3
        np.testing.assert_allclose(ours[column], answer["p_value"], rtol=loose, atol=2e-6)


@pytest.mark.parametrize("df", ["kenward-roger", "satterthwaite"])
def test_a_joint_test_is_lmertests(fits, df):
    model = fits["crossed"]
    weights = {"slope of the last": {"depth": 1, LAST: 1}, "sum": ones(model)}
    row = model.contrast(weights, joint=True, df=df).iloc[0]
    answer = theirs[(theirs["asked"] == "joint") & (theirs["method"] == df)].iloc[0]
    assert row["statistic"] == pytest.approx(answer["estimate"], rel=1e-4)
    assert row["df"] == answer["std_error"] == 2
    assert row["df_residual"] == pytest.approx(answer["df"], rel=1e-3)
    assert row["p_value"] == pytest.approx(answer["p_value"], rel=1e-3)


@pytest.mark.parametrize("method", ["wald", "kenward-roger"])
def test_covariances_of_the_fixed_effects_are_rs(fits, method):
    answers = pd.read_csv(R / "mixed_planned_vcov.csv")
    answer = answers[answers["method"] == method].drop(columns="method")
    ours = fits["crossed"].vcov(df=method)
    assert list(ours.index) == list(ours.columns) == list(fits["crossed"].terms)
    names = ours.columns.str.replace(r"\[T\.(\w+)\]", r"\1", regex=True)
    named = ours.set_axis(names.str.replace("Intercept", "(Intercept)"), axis=1)
    named = named.set_axis(named.columns, axis=0).loc[answer.columns, answer.columns]
    np.testing.assert_allclose(named, answer, rtol=1e-5, atol=1e-8)


def test_slopes_too_have_values_families_and_controls(fits):
    model = fits["crossed"]
    moved = model.trends("rho", at={"rho": 0.5})["estimate"].item()
    plain = model.tidy(["fixed"]).set_index("term")["estimate"]
    assert moved == pytest.approx(plain["log(rho)"] / 0.5, rel=1e-6)
    differences = model.trends("depth", "kind", control="base", adjust="dunnett")
    assert differences["contrast"].tolist() == ["chat - base", "code - base"]
    assert differences["estimate"].iloc[1] == pytest.approx(plain[LAST], rel=1e-6)


def test_from_statistics_alone_values_stand_where_nothing_bends():
    sums = mixed.collect_statistics("gain ~ kind + depth + log(rho) + (1 | model)", crossed)
    alone = mixed.fit_statistics("gain ~ kind + depth + log(rho) + (1 | model)", sums)
    gap = alone.means("kind", at={"depth": 1.5})["estimate"] - alone.means("kind")["estimate"]
    slope = alone.tidy(["fixed"]).set_index("term").loc["depth", "estimate"]
    assert gap.to_numpy() == pytest.approx(slope * (1.5 - crossed["depth"].mean()), rel=1e-9)
    with pytest.raises(ColumnError, match="rho"):
        alone.means("kind", at={"rhoo": 0.5})
    with pytest.raises(DesignError, match="transformed"):
        alone.means("kind", at={"rho": 0.5})


@pytest.mark.parametrize(
    ("how", "error", "named"),
    [
        ({"pairs": True, "control": "base"}, AnalysisError, "At most one"),
        ({"adjust": "dunnett"}, DesignError, "Dunnett"),
        ({"control": "bse"}, ColumnError, "'bse'"),
        ({"contrasts": {"x": {"bse": 1}}}, ColumnError, "'bse'"),
        ({"contrasts": {"x": {"base": "1"}}}, ColumnError, "'base'"),
        ({"contrasts": {"x": {}}}, ColumnError, "'x'"),
        ({"contrasts": {}}, ColumnError, "At least one"),
        ({"at": {"depht": 1}}, ColumnError, "'depth'"),
        ({"at": {"depth": "deep"}}, ColumnError, "'depth'"),
        ({"at": {"depth": [0, 1]}}, ColumnError, "'depth'"),
        ({"at": {"kind": ["bse"]}}, ColumnError, "'kind'"),
        ({"by": "lab"}, DesignError, "'lab'"),
    ],
)
def test_what_is_not_there_is_refused_by_name(fits, how, error, named):
    with pytest.raises(error, match=named):
        fits["crossed"].means("kind", **how)
    with pytest.raises(ColumnError, match="'rohh'"):
        fits["crossed"].contrast({"x": {"rohh": 1}})
