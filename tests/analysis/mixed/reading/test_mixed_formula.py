"""The formula language is lme4's, and the columns are the ones R and patsy make."""

import numpy as np
import pandas as pd
import patsy
import pytest

from analysis import mixed
from analysis.mixed.reading.expression import translate
from analysis.mixed.reading.formula import RandomTerm, parse
from analysis.tidy.errors import ColumnError
from tests.analysis.places import R

rows = pd.read_csv(R / "mixed_data_crossed.csv")

RANDOM = {
    "(1 | lab)": [("1", ("lab",))],
    "(1 + depth | model)": [("1 + depth", ("model",))],
    "(depth | model)": [("depth", ("model",))],
    "(1 + depth || model)": [("1", ("model",)), ("0 + depth", ("model",))],
    "(0 + depth || model)": [("0 + depth", ("model",))],
    "(1 | lab/model)": [("1", ("lab",)), ("1", ("lab", "model"))],
    "(1 | a/b/c)": [("1", ("a",)), ("1", ("a", "b")), ("1", ("a", "b", "c"))],
    "(1 | lab:prompt)": [("1", ("lab", "prompt"))],
    "(1 + log(x) | g)": [("1 + log(x)", ("g",))],
}


@pytest.mark.parametrize("text", RANDOM)
def test_random_terms_are_read_as_by_lme4(text):
    expected = [RandomTerm(left, group) for left, group in RANDOM[text]]
    assert list(parse(f"y ~ x + {text}").random) == expected
    assert list(parse(f"y ~ {text} + x").random) == expected


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("y ~ x + (1 | g)", "x"),
        ("y ~ (1 | g) + x", "x"),
        ("y ~ (1 | g)", "1"),
        ("y ~ 0 + x + (1 | g)", "0 + x"),
        ("y ~ (a + b) * c + (1 | g)", "(a + b) * c"),
        ("y ~ x + offset(z) + (1 | g)", "x"),
        ("y ~ offset(z) + (1 | g)", "1"),
    ],
)
def test_the_fixed_part_is_what_is_left(text, fixed):
    assert parse(text).fixed == fixed


def test_offsets_and_words_of_python_are_told_from_columns():
    result = parse("y ~ x + offset(a + log(b)) + (1 | g)").offset
    assert result is not None
    assert result.columns == ("a", "b")
    for text in ("x if y else z", "not x", "'class' <", "Q('class') Q('lambda')"):
        with pytest.raises(ColumnError) as refused:
            translate(text)
        assert "must be written" not in str(refused.value)
    with pytest.raises(ColumnError, match=r"must be written Q\('None'\)"):
        translate("None")


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("x", 'CAST("x" AS DOUBLE)'),
        ("log(x)", 'ln(CAST("x" AS DOUBLE))'),
        ("np.log10(x) + 1", '(log10(CAST("x" AS DOUBLE)) + 1.0)'),
        ("I(x^2)", '(pow(CAST("x" AS DOUBLE), 2.0))'),
        ("-x / Q('a b')", '((-CAST("x" AS DOUBLE)) / CAST("a b" AS DOUBLE))'),
    ],
)
def test_arithmetic_becomes_sql(text, sql):
    assert translate(text).sql == sql


@pytest.mark.parametrize("text", ["x if y else z", "x[0]", "f(x)(y)", "log(x, 2)", "'text'", "x <"])
def test_anything_else_is_refused(text):
    with pytest.raises(ColumnError, match="The expression"):
        translate(text)


@pytest.mark.parametrize(
    "text",
    [
        "gain ~ class + (1 | model)",
        "gain ~ log(class) + (1 | model)",
        "gain ~ kind:class + (1 | model)",
        "gain ~ depth + (class | model)",
        "gain ~ depth + offset(class) + (1 | model)",
        "class ~ depth + (1 | model)",
    ],
)
def test_a_column_named_by_a_word_of_python_is_told_its_spelling(text):
    named = rows.assign(**{"class": rows["gain"] ** 2 + rows["rho"] + 20})
    with pytest.raises(ColumnError) as refused:
        mixed.fit(text, named)
    assert "must be written Q('class')" in str(refused.value)
    spelt = mixed.fit(text.replace("class", "Q('class')"), named)
    renamed = mixed.fit(text.replace("class", "own"), named.rename(columns={"class": "own"}))
    np.testing.assert_array_equal(spelt.coefficients, renamed.coefficients)


def design_over_rows(formula):
    """Return the fixed design of a fit, written out over rows by its own fitted values."""
    model = mixed.fit(formula, rows)
    columns = [model.statistics.factors[name].codes for name in model.statistics.factors]
    cells = {key: cell for cell, key in enumerate(zip(*map(tuple, columns), strict=True))}
    levels = {
        name: {level: code for code, level in enumerate(factor.levels)}
        for name, factor in model.statistics.factors.items()
    }
    of_row = [
        cells[tuple(levels[name][str(row[name])] for name in levels)] for _, row in rows.iterrows()
    ]
    numbers = {"": np.ones(len(rows)), "depth": rows["depth"].to_numpy()}
    numbers["rho"] = rows["rho"].to_numpy()
    numbers["I(depth ** 2)"] = rows["depth"].to_numpy() ** 2
    products = [
        np.prod([numbers[name] for name in names], axis=0) if names else numbers[""]
        for names in model.statistics.basis
    ]
    matrix = [column.coefficient[of_row] * products[column.basis] for column in model.design.fixed]
    return list(model.terms), np.column_stack(matrix)


@pytest.mark.parametrize(
    "fixed",
    [
        "kind * depth",
        "kind:depth",
        "0 + kind + kind:rho",
        "C(kind, Sum) * rho",
        "C(kind, Treatment('code')) + depth:rho",
        "C(kind, Treatment('code')) * lab",
        "(kind + lab)**2",
        "I(depth**2) + depth",
        "C(kind, Helmert):depth",
    ],
)
def test_columns_over_cells_are_patsys_columns_over_rows(fixed):
    expected = patsy.dmatrix(fixed, rows)
    names, matrix = design_over_rows(f"gain ~ {fixed} + (1 | model)")
    assert names == expected.design_info.column_names
    np.testing.assert_allclose(matrix, np.asarray(expected), atol=1e-12)


def test_levels_and_comparisons_are_factors_as_they_stand_with_a_stated_reference():
    first = mixed.fit("gain ~ kind + (1 | model)", rows)
    chosen = mixed.fit("gain ~ kind + (1 | model)", rows, contrasts={"kind": "code"})
    assert first.design.references == ("kind = base",)
    assert chosen.design.references == ("kind = code",)
    assert chosen.terms == ("Intercept", "kind[T.base]", "kind[T.chat]")
    assert chosen.solution.criterion == pytest.approx(first.solution.criterion, abs=1e-10)
    tidy = chosen.tidy(["fixed"])
    assert tidy["note"].str.contains("Reference level: kind = code").all()
    ordered = rows.assign(kind=pd.Categorical(rows["kind"], categories=["code", "chat", "base"]))
    model = mixed.fit("gain ~ kind + (1 | model)", ordered)
    assert model.terms == ("Intercept", "kind[T.chat]", "kind[T.base]")
    tenths = rows.assign(tenth=(rows["depth"] * 3).astype(int))
    model = mixed.fit("gain ~ C(tenth) + (1 | model)", tenths)
    assert model.terms[:2] == ("Intercept", "C(tenth)[T.1]")
    model = mixed.fit("gain ~ I(depth > 0.5) + (1 | model)", rows)
    column = mixed.fit("gain ~ deep + (1 | model)", rows.assign(deep=1.0 * (rows["depth"] > 0.5)))
    np.testing.assert_array_equal(model.coefficients, column.coefficients)
    for text, sign in (("<", "<"), (">=", ">="), ("==", "="), ("!=", "<>")):
        assert f' {sign} CAST("rho" AS DOUBLE)' in translate(f"depth {text} rho").sql
    holes = rows.assign(depth=[np.nan, np.inf, *rows["depth"][2:]])
    with pytest.raises(ColumnError, match=r"rows where it is not: 2 of 371"):
        mixed.fit("gain ~ I(depth > 0.5) + (1 | model)", holes)


@pytest.mark.parametrize(
    "right",
    [
        "offset)(x) + (1 | g)",
        "x + offset(x)) + (1 | g)",
        "x[offset + (1 | g)",
        "x + (1 | g) + offset('''x)",
        # Each of these was read as a formula that nobody wrote.
        "x + offset + log(z) + (1 | g)",
        "x * offset(z) + w + (1 | g)",
        "x - offset(z) + w + (1 | g)",
        "I(x + offset(z)) + (1 | g)",
        "w * (x + offset(z)) + (1 | g)",
        "offset(z):x + (1 | g)",
        "x + (1 | g):z",
        "x + (1 | g) * z",
        "1 +\n(1 | g\n) * z",
    ],
)
def test_a_malformed_formula_is_refused_in_one_line(right):
    with pytest.raises(ColumnError) as caught:
        parse(f"y ~ {right}")
    assert "\n" not in caught.value.problem


@pytest.mark.parametrize(
    ("fixed", "contrasts", "reference"),
    [
        ("kind", {"kind": patsy.Treatment("code")}, "kind = code"),
        ("C(kind, Treatment('chat'))", {}, "kind = chat"),
        ("rho + rho:kind", {}, "kind = base"),
        ('Q("kind")', {}, "kind = base"),
        ("C(size)", {"size": 3}, "size = 3"),
        ("C(size, Treatment(3))", {}, "size = 3"),
        ("C(size)", {"size": np.int64(2)}, "size = 2"),
    ],
)
def test_the_reference_is_the_level_without_a_column(fixed, contrasts, reference):
    sized = rows.assign(size=1 + pd.factorize(rows["kind"])[0])
    model = mixed.fit(f"gain ~ {fixed} + (1 | model)", sized, contrasts=contrasts)
    assert model.design.references == (reference,)


@pytest.mark.parametrize(
    ("fixed", "contrasts"),
    [
        ("kind", {"kind": ["base"]}),
        ("kind", {"kind": patsy.Treatment("chta")}),
        ("C(kind, Treatment(99))", {}),
        ("C(kind, Poly(scores=[1, 2]))", {}),
        ("C(kind, 'chta')", {}),
        ("C(kind, 1 / 0)", {}),
    ],
)
def test_what_is_no_contrast_of_the_levels_is_refused(fixed, contrasts):
    with pytest.raises(ColumnError, match=r"^The (contrast|reference) (of|in) .* must be"):
        mixed.fit(f"gain ~ {fixed} + (1 | model)", rows, contrasts=contrasts)
