"""Recomputed p against R's statcheck; what the forensics refuse, and how their patterns read."""

import re
from importlib import import_module
from math import nan
from pkgutil import iter_modules

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import forensics
from analysis.forensics import error_bar, mape, p_value, provenance, reported_tests, table_search
from analysis.forensics.rounding import percent_change, ratio, read
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

STATCHECK = pd.read_csv(R / "statcheck.csv")

#: scipy's and R's distributions differ in the last digits.
DIGITS = 1e-11


@pytest.fixture(scope="module")
def judged():
    result = [p_value.check(reported_tests.find(text)) for text in STATCHECK["quoted"]]
    assert [len(rows) for rows in result] == [1] * len(STATCHECK)
    return pd.concat(result, ignore_index=True)


def one(text, **options):
    rows = p_value.check(reported_tests.find(text), **options)
    assert len(rows) == 1
    return rows.iloc[0]


def test_the_recomputed_p_and_its_errors_are_those_of_statcheck(judged):
    np.testing.assert_allclose(judged["p_value"], STATCHECK["computed_p"], rtol=DIGITS)
    is_wrong = judged["consistency"] != "consistent"
    assert is_wrong.tolist() == STATCHECK["error"].tolist()
    is_decision = judged["consistency"] == "decision error"
    assert is_decision.tolist() == STATCHECK["decision_error"].tolist()
    assert 10 < is_wrong.sum() < len(STATCHECK) - 10


def test_without_degrees_of_freedom_the_fitting_ones_are_named():
    row = one("r = −0.81, p = 0.014")
    assert row["consistency"] == "consistent"
    assert row["note"] == "Not printed; the two agree for n = 8."
    assert row["p_value"] == pytest.approx(p_value.from_statistic("r", 0.81, df=6))
    # Tables of t: 2.110, 2.101 and 2.093 at 17, 18 and 19 degrees of freedom.
    assert one("t = 2.101, p = .0500")["note"] == "Not printed; the two agree for df = 18."
    # 3.707 and 3.499 for p = .01 at 6 and 7.
    assert one("t = 3.5, p < .01")["note"].endswith("df = 7 to 10000 or more.")
    assert one("r = .81, p = .9")["consistency"] == "inconsistent"
    assert one("F = 4.1, p = .04")["consistency"] == "not checkable"
    text = "t(28) = 2.20, p = .03"
    assert one(text)["consistency"] == "inconsistent"
    assert one(text, alpha=0.035)["consistency"] == "decision error"
    assert p_value.check(reported_tests.find("Nothing is tested.")).empty
    t = -0.81 * (6 / (1 - 0.81**2)) ** 0.5
    assert p_value.from_statistic("r", -0.81, df=6) == pytest.approx(2 * stats.t.cdf(t, 6))
    assert p_value.from_statistic("r", 1.0, df=6) == 0


def test_the_named_degrees_of_freedom_are_all_that_fit():
    statistic, p = read("2.1"), read("= .04")
    fitting = set(p_value.possible_df("t", statistic, p))
    for df in range(1, 200):
        low, high = 2 * stats.t.sf(2.15, df), 2 * stats.t.sf(2.05, df)
        assert (df in fitting) == (low <= 0.045 and high >= 0.035)


@pytest.mark.parametrize(
    "text",
    [
        "t(28) = 2.20, one-tailed p = .018",
        "t(28) = 2.20, p = .018 (one-tailed)",
        "t(28) = 2.20, p = .018, one sided",
        "one-tailed t(28) = 2.20, p = .018",
        "A one-tailed test of it, as registered, t(28) = 2.20, p = .018.",
        "It held. By a one sided t test the score of 1.5 rose, t(28) = 2.20, p = .018",
    ],
)
def test_a_p_that_is_said_to_be_of_one_tail_is_judged_as_that(text):
    row = one(text)
    assert (row["consistency"], bool(row["is_one_sided"])) == ("consistent", True)
    assert row["p_value"] == pytest.approx(stats.t.sf(2.2, 28))
    assert row["p_low"] <= row["p_value"] <= row["p_high"]
    wrong = one(text.replace(".018", ".001"))
    assert wrong["consistency"] == "inconsistent"
    assert not one(text.replace("one", "two"))["is_one_sided"]


@pytest.mark.parametrize(
    "text",
    [
        "A one-tailed test was planned. It gave t(28) = 2.20, p = .018.",
        "A one-tailed test, p = .02, and another, t(28) = 2.20, p = .018.",
        "The one-tailed test was dropped: t(28) = 2.20, p = .018, two-tailed",
    ],
)
def test_tails_of_another_sentence_or_another_p_say_nothing(text):
    found = p_value.check(reported_tests.find(text)).iloc[-1]
    assert (found["consistency"], found["note"]) == ("inconsistent", "A one-sided p would agree.")


def test_what_cannot_be_is_inconsistent():
    row = one("t(28) = 2.20, p = .018")
    assert (row["consistency"], row["note"]) == ("inconsistent", "A one-sided p would agree.")
    assert one("F(1, 28) = 4.84, p = .018")["note"] == ""
    row = one("t(198) = -2.22, p = -.22")
    assert (row["consistency"], row["note"]) == ("inconsistent", "A p lies between 0 and 1.")
    assert one("r(8) = 1.20, p < .001")["note"] == "A correlation cannot be beyond 1."
    assert one("t(10) = 20.00, p = .000")["note"] == "A p cannot be 0."
    beyond = one("t(23) = 2.50, p = 1.2")
    assert (beyond["consistency"], beyond["note"]) == ("inconsistent", "A p lies between 0 and 1.")
    degrees = "The degrees of freedom of F must be above 0; found 0 and 3."
    assert one("F(0, 3) = 2.00, p = .5")["note"] == degrees
    assert one("p < .001")["consistency"] == "not checkable"


def test_a_bound_on_the_statistic_is_exact():
    p = p_value.from_statistic("t", 1.0, df=9)
    row = one("t(9) < 1.00, p = .35")
    assert (row["p_low"], row["p_high"]) == (pytest.approx(p), 1.0)
    assert row["consistency"] == "consistent"
    assert one("t(9) < 1.00, p = .04")["consistency"] == "decision error"
    assert one("t(9) > 9.0, p < .001")["consistency"] == "consistent"
    assert one("t(9) > 9.0, p = .20")["consistency"] == "decision error"
    far = one("t(28) < -2.20, p = .01")
    assert (far["consistency"], far["p_low"]) == ("consistent", 0.0)
    assert far["p_high"] == pytest.approx(p_value.from_statistic("t", 2.2, df=28))
    assert one("t(28) < -2.20, p = .20")["consistency"] == "decision error"
    assert one("t(28) > -1, p = .20")["consistency"] == "inconsistent"
    assert one("t(28) ≤ 1, p ≥ .30")["consistency"] == "consistent"


@settings(deadline=None)
@given(
    value=st.floats(-6, 6),
    df=st.integers(1, 300),
    decimals=st.integers(1, 4),
    p_decimals=st.integers(1, 5),
)
def test_an_honest_report_is_never_called_inconsistent(value, df, decimals, p_decimals):
    p = 2 * stats.t.sf(abs(value), df)
    printed = f"{p:.{p_decimals}f}"
    if float(printed) == 0:
        return
    row = one(f"t({df}) = {value:.{decimals}f}, p = {printed}")
    assert row["consistency"] == "consistent"


@settings(max_examples=25, deadline=None)
@given(r=st.floats(-0.999, 0.999), n=st.integers(4, 200))
def test_the_true_n_is_among_those_that_fit(r, n):
    p = p_value.from_statistic("r", r, df=n - 2)
    fitting = p_value.possible_df("r", read(f"{r:.2f}"), read(f"= {p:.3f}"))
    assert n - 2 in fitting


FIVE, PAIR = [1.0, 2.0, 3.0, 4.0, 5.0], ["80 %", "0 %"]
CASES = pd.DataFrame({"predicted": [6.0, 6.0, 9.0], "observed": [3.0, 6.0, 10.0], "size": 12.0})
FIGURE = pd.DataFrame({"subject": ["a", "b"], "printed": ["1.1", ""], "accuracy": [np.nan, 0.1]})
FILES = pd.DataFrame({"file": ["f", "f"], "subject": ["a", "b"], "value": [1.1, 0.9]})
TESTS = reported_tests.find("t(3) = 1, p = .4")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *((lambda text=text: read(text), AnalysisError, "A printed number must be digits")
          for text in ("", "about 3", "1.2.3", "3 of 5", ".", "1,23")),
        (lambda: read("50", trailing_zeros_count="no"), AnalysisError, "must be True or False"),
        (lambda: read(2.5), AnalysisError, "must be text, which keeps its last zeros"),
        (lambda: read("1e400"), AnalysisError, "at most 300 places"),
        (lambda: ratio("1", "0.0", "1"), DesignError, r"denominator must not .* found '0\.0'"),
        (lambda: percent_change("0", "1", "1"), DesignError, "first number must not be 0 within"),
        (lambda: error_bar.kinds(1.0, 1, "0.5"), DesignError, "at least 2 values; found 1"),
        (lambda: error_bar.subsets(FIVE, 6, "1", "1"), DesignError, "2 to 5, with at most 1,000,"),
        (lambda: error_bar.subsets(list(range(40)), 20, "1", "1"), DesignError, "found 20"),
        (lambda: mape.definitions(CASES.assign(observed=0), "1 %"), DesignError, "found 3 cases"),
        (lambda: mape.definitions(CASES.iloc[:0], "1 %"), DesignError, "found 0 cases"),
        (lambda: mape.definitions(CASES.drop(columns="size"), "1 %"), ColumnError, "'size'"),
        (lambda: p_value.from_statistic("u", 1.0), AnalysisError, "one of 't', 'r', 'z'"),
        (lambda: p_value.from_statistic("t", 1.0), DesignError, "t must be above 0; found nan"),
        (lambda: p_value.from_statistic("F", 1.0, df=3.0, df_numerator=nan), DesignError,
         "of F must be above 0; found nan and 3"),
        (lambda: p_value.check(TESTS, alpha=5), AnalysisError, "`alpha` .* 0 and 1; found 5"),
        (lambda: p_value.check(TESTS.drop(columns="df")), ColumnError, "'df'"),
        (lambda: provenance.sources(FIGURE.drop(columns="accuracy"), FILES), ColumnError,
         "'accuracy'"),
        (lambda: provenance.sources(FIGURE, FILES.assign(value=np.nan)), ColumnError, "finite"),
        (lambda: provenance.sources(FIGURE.assign(printed="about one"), FILES), AnalysisError,
         "must be digits"),
        (lambda: table_search.tables(PAIR, "< 0.05"), AnalysisError, "`n` or `sizes` .* None"),
        (lambda: table_search.tables(PAIR, "< 0.05", sizes=[1, 2, 3]), DesignError,
         "2 shares and 3 sizes"),
        (lambda: table_search.tables(["50 %"] * 6, "< 0.05", n=200), DesignError,
         "At most 2,000,000 splits"),
        (lambda: table_search.exact_p([50] * 5, [100] * 5), DesignError,
         "At most 2,000,000 tables can be enumerated"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


_parser, _constants = re._parser, re._constants  # the parsed form has no public name

MODULES = [
    *(f"analysis.forensics.{found.name}" for found in iter_modules(forensics.__path__)),
    "analysis.tidy.numerals",
]


def patterns():
    for name in MODULES:
        for attribute, value in vars(import_module(name)).items():
            for each in value if isinstance(value, tuple) else (value,):
                pattern = each[0] if isinstance(each, tuple) and each else each
                if isinstance(pattern, re.Pattern):
                    yield pytest.param(pattern, id=f"{name.rpartition('.')[2]}.{attribute}")


def unbounded(parsed):
    """Yield the repetitions without an upper limit that may give back what they took."""
    for code, value in parsed:
        if code in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and value[1] > 1_000:
            yield value
        for part in value if isinstance(value, tuple | list) else ():
            for inner in part if isinstance(part, list) else (part,):
                if isinstance(inner, _parser.SubPattern):
                    yield from unbounded(inner)


@pytest.mark.parametrize("pattern", list(patterns()))
def test_no_unbounded_repetition_gives_back(pattern):
    assert not list(unbounded(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)))


def test_the_search_sees_what_it_looks_for():
    assert len(list(patterns())) > 20
    for pattern in (r"a*", r"(?:b|(c+)d)?", r"(?:[ ,]*x)*+", r"(?=a+)"):
        assert list(unbounded(_parser.parse(pattern)))
    assert not list(unbounded(_parser.parse(r"(?:a*+|b++){1,3}c?")))
