"""What the forensics refuse; no pattern of theirs gives back what a repetition took."""

import re
from importlib import import_module
from math import nan
from pkgutil import iter_modules

import numpy as np
import pandas as pd
import pytest

from analysis import forensics
from analysis.forensics import error_bar, mape, p_value, provenance, reported_tests, table_search
from analysis.forensics.rounding import percent_change, ratio, read
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError

FIVE, PAIR = [1.0, 2.0, 3.0, 4.0, 5.0], ["80 %", "0 %"]
CASES = pd.DataFrame({"predicted": [6.0, 6.0, 9.0], "found": [3.0, 6.0, 10.0], "size": 12.0})
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
        (lambda: percent_change("0", "1", "1"), DesignError, "first number must not round from 0"),
        (lambda: error_bar.kinds(1.0, 1, "0.5"), DesignError, "at least 2 values; found 1"),
        (lambda: error_bar.subsets(FIVE, 6, "1", "1"), DesignError, "2 to 5, with at most 1,000,"),
        (lambda: error_bar.subsets(list(range(40)), 20, "1", "1"), DesignError, "found 20"),
        (lambda: mape.definitions(CASES.assign(found=0.0), "1 %"), DesignError, "0; found 3 cases"),
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
