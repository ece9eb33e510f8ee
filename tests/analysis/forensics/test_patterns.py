"""No pattern of the forensics gives back what an unbounded repetition took.

A repetition that gives nothing back makes an attempt linear; one that gives back may make it
exponential where another is around it. Read off the parsed patterns themselves.
"""

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest

from analysis import forensics

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
