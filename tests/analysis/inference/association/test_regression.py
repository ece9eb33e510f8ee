import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.association import regression
from analysis.tidy.errors import ColumnError, DesignError
from tests.analysis.places import R

#: Both solve by QR; log-scaled products and incomplete beta functions lose a few digits.
AGREEMENT = 1e-11

#: clubSandwich inverts (I - H) and forms degrees of freedom from n x n products.
SATTERTHWAITE = 1e-9

FORMULAS = {
    "trait": "gain ~ heritage + density + log_parameters",
    "logs": "gain ~ np.log(density) * layers",
    "labs": "gain ~ lab + density",
    "mean": "gain ~ 1",
}
COMPARED = ["estimate", "std_error", "statistic", "df", "p_value", "conf_low", "conf_high"]

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "regression.csv", keep_default_na=False)
FITS = list(answers.groupby(["name", "kind", "cluster"], sort=False).groups)

#: Fixed effects of labs with few suites: clubSandwich reports a variance that no comparison
#: of clusters shows.
SINGLE_CLUSTER = "One cluster alone determines this term"


def fitted(name, kind, cluster):
    if kind == "classical":
        return regression.fit(models, FORMULAS[name])
    return regression.fit(models, FORMULAS[name], cluster=cluster)


@pytest.mark.parametrize(("name", "kind", "cluster"), FITS)
def test_coefficients_and_standard_errors_agree_with_r(name, kind, cluster):
    tidy = fitted(name, kind, cluster).tidy()
    answer = answers.query("name == @name and kind == @kind and cluster == @cluster")
    # R and patsy both put interactions last and factors before numbers here.
    testable = ~tidy["note"].str.contains(SINGLE_CLUSTER).to_numpy()
    np.testing.assert_allclose(tidy["estimate"], answer["estimate"].astype(float), rtol=AGREEMENT)
    np.testing.assert_allclose(
        tidy.loc[testable, COMPARED],
        answer.loc[testable, COMPARED].astype(float),
        rtol=SATTERTHWAITE if kind == "CR2" else AGREEMENT,
    )
    assert tidy.loc[~testable, "std_error"].isna().all()
    assert testable.any()


def test_lines_and_means_counted_by_hand():
    # Slope (0 * -1 + 1 * 2) / 2 by deviations: x -1, 0, 1 and y 0, 3, 2 give 1; residual ss 8/3.
    rows = pd.DataFrame({"x": [-1, 0, 1], "y": [0, 3, 2]})
    tidy = regression.fit(rows, "y ~ x").tidy().set_index("term")
    assert tidy.loc["x", "estimate"] == pytest.approx(1)
    assert tidy.loc["Intercept", "estimate"] == pytest.approx(5 / 3)
    assert tidy.loc["x", "std_error"] == pytest.approx(np.sqrt(8 / 3 / 2))
    assert tidy.loc["x", "df"] == 1
    rows = pd.DataFrame({"lab": list("abcd"), "y": [1.0, 2.0, 4.0, 9.0]})
    tidy = regression.fit(rows, "y ~ 1", cluster="lab").tidy().iloc[0]
    assert tidy["std_error"] == pytest.approx(rows["y"].std() / 2)
    assert tidy["df"] == pytest.approx(3)
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0, 5.0]}).assign(y=lambda frame: 2 * frame["x"] + 1)
    assert "perfect up to rounding" in regression.fit(rows, "y ~ x").note


def test_reference_levels_are_stated_and_unused_categories_are_no_terms():
    ordered = models.assign(lab=pd.Categorical(models["lab"], sorted(set(models["lab"]))[::-1]))
    sorted_fit = regression.fit(models, "gain ~ lab").tidy()
    ordered_fit = regression.fit(ordered, "gain ~ lab").tidy()
    assert sorted_fit["note"].iloc[0] == "Reference level: lab = Ainu."
    assert ordered_fit["note"].iloc[0] == "Reference level: lab = Guarani."
    assert sorted_fit["term"].iloc[1] == "lab[T.Basque]"
    rows = models.assign(lab=models["lab"].astype("category")).query("lab != 'Basque'")
    terms = regression.fit(rows, "gain ~ lab + density").terms
    assert "lab[T.Basque]" not in terms
    assert len(terms) == 7


def test_few_clusters_are_noted():
    fit = regression.fit(models, FORMULAS["trait"], cluster="lab")
    notes = fit.tidy().set_index("term")["note"]
    assert notes["Intercept"] == "Only 7 clusters: read the degrees of freedom."
    assert notes["density"].endswith("Fewer than 4 degrees of freedom: the p-value is unreliable.")
    assert (fit.tidy()["n_groups"] == 7).all()
    assert regression.fit(models, FORMULAS["trait"], cluster="suite").note == ""
    tidy = regression.fit(models, FORMULAS["labs"], cluster="lab").tidy().set_index("term")
    assert SINGLE_CLUSTER in tidy.loc["lab[T.Basque]", "note"]
    assert np.isnan(tidy.loc["lab[T.Basque]", "p_value"])
    assert tidy.loc["density", "p_value"] > 0


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 999),
    scale=st.sampled_from([0.001, 3.0, 5000.0]),
    cluster=st.sampled_from([None, "lab"]),
)
def test_estimates_scale_with_the_units_and_tests_do_not(seed, scale, cluster):
    rows = models.sample(frac=1, random_state=seed)
    rescaled = rows.assign(gain=scale * rows["gain"], density=rows["density"] / scale)
    plain = regression.fit(models, FORMULAS["trait"], cluster=cluster).tidy().set_index("term")
    other = regression.fit(rescaled, FORMULAS["trait"], cluster=cluster).tidy().set_index("term")
    assert other.loc["heritage", "estimate"] == pytest.approx(
        scale * plain.loc["heritage", "estimate"], rel=1e-8
    )
    assert other.loc["density", "std_error"] == pytest.approx(
        scale**2 * plain.loc["density", "std_error"], rel=1e-8
    )
    np.testing.assert_allclose(other["p_value"], plain["p_value"], rtol=1e-7)
    assert (
        (plain["conf_low"] < plain["estimate"]) & (plain["estimate"] < plain["conf_high"])
    ).all()
    assert plain["p_value"].between(0, 1, inclusive="right").all()


@pytest.mark.slow
def test_cr2_keeps_its_size_with_seven_labs_where_the_row_test_does_not():
    rng = np.random.default_rng(20261120)
    labs = models["lab"].astype("category").cat.codes.to_numpy()
    n_simulations = 250
    rejected = {"rows": 0, "CR2": 0}
    for _ in range(n_simulations):
        gain = rng.normal(size=7)[labs] + rng.normal(scale=0.5, size=len(models))
        rows = models.assign(gain=gain)
        fits = {
            "rows": regression.fit(rows, "gain ~ heritage"),
            "CR2": regression.fit(rows, "gain ~ heritage", cluster="lab"),
        }
        for name, fit in fits.items():
            rejected[name] += fit.tidy()["p_value"].iloc[1] <= 0.1
    size = {name: count / n_simulations for name, count in rejected.items()}
    # Two Monte-Carlo standard errors at a nominal 0.1 are 0.038.
    assert size["CR2"] == pytest.approx(0.1, abs=0.038)
    assert size["rows"] > 0.25


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("gain ~ np.log(densty)", "'densty'; the nearest is 'density'"),
        ("gain", "must read 'response ~ terms'; found 'gain'"),
        ("gain ~ (density", r"part '\(density' must be readable"),
        ("gain ~ density +", "must be readable and finite"),
        ("gain ~ density + (1 |:| lab)", "must be readable and finite"),
        ("gain ~ bs(density, 1)", "df=1 is too small"),
        ("gain ~ bs(lab, 4)", "must be readable and finite"),
        ("gain ~ shout(density)", "name 'shout' is not defined"),
        ("lab ~ density", "'lab' must hold numbers; it holds str"),
        ("gain ~ np.log(heritage)", "must be finite; it is not in 12 of 24 rows"),
    ],
)
def test_a_formula_that_cannot_be_used_says_why(formula, message):
    with pytest.raises(ColumnError, match=message):
        regression.fit(models, formula)


def test_a_column_that_is_no_word_is_written_in_q():
    named = models.rename(columns={"density": "the density", "lab": "the lab"})
    result = regression.fit(named, """gain ~ Q('the density') + Q("the lab")""")
    plain = regression.fit(models, "gain ~ density + lab")
    ours, theirs = (each.tidy().set_index("term")["estimate"] for each in (result, plain))
    assert ours["Q('the density')"] == pytest.approx(theirs["density"])
    assert "Reference level: the lab = Ainu." in result.note
    with pytest.raises(ColumnError, match="not in backticks; found '`the density`'") as refusal:
        regression.fit(named, "gain ~ `the density`")
    assert refusal.value.hint.startswith("Write Q('the density');")


def test_designs_without_information_are_refused():
    with pytest.raises(DesignError, match="At least two levels of 'lab' are needed; found 1"):
        regression.fit(models.query("lab == 'Ainu'"), "gain ~ density", cluster="lab")
    with pytest.raises(DesignError, match="'lab' must have at least two levels"):
        regression.fit(models.query("lab == 'Ainu'"), "gain ~ lab")
    with pytest.raises(DesignError, match="4 terms need at least 5 rows; found 4"):
        regression.fit(models.tail(4), "gain ~ density + layers + log_parameters")
    with pytest.raises(DesignError, match="needs at least 2 rows; found 0"):
        regression.fit(models.head(0), "gain ~ density")
    with pytest.raises(DesignError, match="response must vary"):
        regression.fit(models.assign(gain=1.0), "gain ~ density")
    rows = models.assign(density=models["density"].where(models["density"] < 0.2))
    with pytest.raises(ColumnError, match=r"'density' must hold finite numbers; .* 6 of 24"):
        regression.fit(rows, "gain ~ density")
    with pytest.raises(DesignError, match=r"\['heritage'\] are linear combinations"):
        regression.fit(models, "gain ~ lab + heritage + density")
