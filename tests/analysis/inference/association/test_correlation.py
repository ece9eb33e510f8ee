from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.association import correlation, regression
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

#: R and scipy sum in another order and use other series for the t and normal distributions.
AGREEMENT = 1e-12

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "correlation.csv")
COMPARED = ["estimate", "statistic", "df", "p_value", "conf_low", "conf_high"]

pairs = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=8
).filter(lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True)))


def points(x, y):
    return pd.DataFrame({"x": x, "y": y}, dtype=float)


def computed(answer):
    rows = models.head(int(answer["n"]))
    level, method = answer["conf_level"], answer["method"]
    if method == "partial":
        names = {"x": "density", "y": "gain", "covariates": answer["case"].split("+")}
        return correlation.partial(rows, **names, conf_level=level)
    y, x = answer["case"].split(" ~ ")
    return correlation.correlate(rows, x=x, y=y, method=method, conf_level=level)


@pytest.mark.parametrize("position", range(len(answers)))
def test_every_number_agrees_with_r(position):
    answer = answers.loc[position]
    row = computed(answer).iloc[0]
    np.testing.assert_allclose(
        row[COMPARED].astype(float), answer[COMPARED].astype(float), rtol=AGREEMENT
    )


@pytest.mark.parametrize("n", [9, 10, 30])
def test_two_orders_of_all_are_as_far_out_as_a_perfect_one(n):
    order = list(range(n))
    rows = points(order, order)
    row = correlation.correlate(rows, x="x", y="y", method="spearman").iloc[0]
    assert row["p_value"] == pytest.approx(2 / factorial(n), rel=1e-12)


def test_exact_spearman_p_by_hand_and_by_every_order():
    row = correlation.correlate(
        points([1, 2, 3, 4, 5], [10, 20, 30, 40, 500]), x="x", y="y", method="spearman"
    ).iloc[0]
    assert row["estimate"] == 1
    assert row["p_value"] == 2 / factorial(5)
    assert "no width" in row["note"]
    rows = points([1, 1, 2, 3, 3, 4], [2, 1, 1, 5, 4, 4])
    x, y = (column.tolist() for _, column in (2 * rows.rank() - 7).items())
    sums = [abs(sum(a * b for a, b in zip(order, y, strict=True))) for order in permutations(x)]
    expected = sum(it >= sums[0] for it in sums) / factorial(6)
    row = correlation.correlate(rows, x="x", y="y", method="spearman").iloc[0]
    assert row["p_value"] == pytest.approx(expected, abs=1e-15)


def test_a_printed_r_gives_the_row_of_the_data_and_three_rows_the_whole_range():
    whole = correlation.correlate(models, x="density", y="gain")
    printed = correlation.from_summary(float(whole["estimate"].iloc[0]), len(models))
    numeric = ["estimate", "statistic", "df", "p_value", "conf_low", "conf_high", "n_obs"]
    pd.testing.assert_frame_equal(whole[numeric], printed[numeric], rtol=1e-13)
    row = correlation.correlate(points([1, 2, 3], [1, 3, 2]), x="x", y="y").iloc[0]
    assert (row["conf_low"], row["conf_high"]) == (-1, 1)
    assert "whole range" in row["note"]


@settings(max_examples=60, deadline=None)
@given(rows=pairs, method=st.sampled_from(correlation.METHODS), seed=st.integers(0, 99))
def test_order_of_rows_and_of_x_and_y_does_not_matter(rows, method, seed):
    frame = pd.DataFrame(rows, columns=["x", "y"])
    shuffled = frame.sample(frac=1, random_state=seed)
    first = correlation.correlate(frame, x="x", y="y", method=method).iloc[0]
    second = correlation.correlate(shuffled, x="y", y="x", method=method).iloc[0]
    for name in ("estimate", "p_value", "conf_low", "conf_high"):
        assert first[name] == pytest.approx(second[name], rel=1e-9, abs=1e-12)
    assert 0 <= first["p_value"] <= 1
    assert first["conf_low"] <= first["estimate"] <= first["conf_high"]


@settings(max_examples=40, deadline=None)
@given(rows=pairs, shift=st.integers(-9, 9), scale=st.integers(1, 9))
def test_pearson_ignores_shift_and_scale_and_follows_the_sign(rows, shift, scale):
    frame = pd.DataFrame(rows, columns=["x", "y"])
    plain = correlation.correlate(frame, x="x", y="y").iloc[0]
    moved = correlation.correlate(frame.assign(x=shift - scale * frame["x"]), x="x", y="y").iloc[0]
    assert moved["estimate"] == pytest.approx(-plain["estimate"], abs=1e-12)
    assert moved["conf_low"] == pytest.approx(-plain["conf_high"], abs=1e-9)


REFUSED = [
    (models, {"x": "densty"}, ColumnError, "'densty'; the nearest is 'density'"),
    (models, {"x": "lab"}, ColumnError, "'lab' must hold numbers; it holds str"),
    (models, {"method": "spear"}, AnalysisError, "'pearson', 'spearman'; found 'spear'"),
    (models, {"conf_level": 95}, AnalysisError, "between 0 and 1; found 95"),
    (models.assign(density=models.index % 2 / 0), {}, ColumnError, "numbers; .* not: 24 of 24"),
    (models.assign(density=2.0), {}, DesignError, r"'density' must vary; all 24 rows hold 2\.0"),
    (models.head(2), {}, DesignError, "needs at least 3 rows; found 2"),
]


@pytest.mark.parametrize(("frame", "options", "error", "message"), REFUSED)
def test_what_has_no_correlation_is_refused(frame, options, error, message):
    with pytest.raises(error, match=message):
        correlation.correlate(frame, **{"x": "density", "y": "gain"} | options)


def test_a_covariate_that_repeats_another_is_refused():
    rows = models.assign(twice=2 * models["layers"])
    with pytest.raises(DesignError, match="linear combination"):
        correlation.partial(rows, x="density", y="gain", covariates=["layers", "twice"])
    with pytest.raises(ColumnError, match="Name each column once"):
        correlation.partial(rows, x="density", y="gain", covariates=["gain"])


@pytest.mark.parametrize(
    ("r", "n", "error", "message"),
    [
        (-1.2, 8, AnalysisError, r"\[-1, 1\]; found -1\.2"),
        (0.5, 2, DesignError, "at least 3; found 2"),
        (0.5, float("nan"), DesignError, "at least 3; found nan"),
        (0.5, float("inf"), DesignError, "at least 3; found inf"),
        ("0.3", 10, AnalysisError, "numbers"),
        (0.3, "10", AnalysisError, "numbers"),
    ],
)
def test_an_impossible_printed_r_is_refused(r, n, error, message):
    with pytest.raises(error, match=message):
        correlation.from_summary(r, n)


#: Both solve by QR; log-scaled products and incomplete beta functions lose a few digits.
BY_QR = 1e-11

#: clubSandwich inverts (I - H) and forms degrees of freedom from n x n products.
SATTERTHWAITE = 1e-9

FORMULAS = {
    "trait": "gain ~ heritage + density + log_parameters",
    "logs": "gain ~ np.log(density) * layers",
    "labs": "gain ~ lab + density",
    "mean": "gain ~ 1",
}
OF_TERMS = ["estimate", "std_error", "statistic", "df", "p_value", "conf_low", "conf_high"]

by_r = pd.read_csv(R / "regression.csv", keep_default_na=False)
FITS = list(by_r.groupby(["name", "kind", "cluster"], sort=False).groups)

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
    answer = by_r.query("name == @name and kind == @kind and cluster == @cluster")
    # R and patsy both put interactions last and factors before numbers here.
    testable = ~tidy["note"].str.contains(SINGLE_CLUSTER).to_numpy()
    np.testing.assert_allclose(tidy["estimate"], answer["estimate"].astype(float), rtol=BY_QR)
    np.testing.assert_allclose(
        tidy.loc[testable, OF_TERMS],
        answer.loc[testable, OF_TERMS].astype(float),
        rtol=SATTERTHWAITE if kind == "CR2" else BY_QR,
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
