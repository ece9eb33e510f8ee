"""Read lme4's formula language: ``y ~ x + (1 + x | model) + (1 | lab/suite)``.

Bates, Maechler, Bolker and Walker (2015), Journal of Statistical Software 67(1), section 2.1
and table 2, define it; `patsy` reads what stands outside the random terms.
"""

from __future__ import annotations

import itertools
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from analysis.mixed.reading.expression import Expression, keyword_hint, translate, whole
from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.formula import require_no_backticks, tokens_of

#: Wrappers that make a factor of a column: patsy's and R's.
FACTOR_CALLS = ("C(", "factor(", "as_factor(")

#: A dot that stands for the old side of a formula, and a random term that is dropped.
DOT = re.compile(r"(?<![\w.])\.(?![\w.])")
DROPPED = re.compile(r"-\s*\(\s*([^()]*\|[^()]*?)\s*\)")


@dataclass(frozen=True, slots=True)
class RandomTerm:
    """Coefficients that vary among the levels of a group, correlated with each other."""

    left: str  #: What varies, such as ``1 + depth``.
    #: Factors whose combinations are the levels: ``("lab", "suite")`` for ``lab:suite``.
    group: tuple[str, ...]

    @property
    def group_name(self) -> str:
        """The group as lme4 writes it, such as ``lab:suite``."""
        return ":".join(self.group)


@dataclass(frozen=True, slots=True)
class MixedFormula:
    """A formula in its parts."""

    text: str  #: As the caller wrote it.
    response: Expression  #: Left side.
    fixed: str  #: Right side without random terms and offsets, in patsy's language.
    #: Random terms, nested ones expanded and uncorrelated ones split, as in lme4.
    random: tuple[RandomTerm, ...]
    offset: Expression | None  #: What is added with coefficient one, None without.
    #: Calls of ``scale``, ``poly``, ``bs`` and ``ns``, written out with their constants.
    bases: Mapping[str, str] = field(default_factory=dict)

    @property
    def offset_text(self) -> str:
        """The offset as the caller wrote it, empty without one."""
        return "" if self.offset is None else self.offset.text


def parse(text: str) -> MixedFormula:
    """Return the parts of a mixed-model formula.

    Examples
    --------
    >>> [term.group_name for term in parse("y ~ x + (1 | lab/suite)").random]
    ['lab', 'lab:suite']
    """
    text = " ".join(text.splitlines())
    require_no_backticks(text)
    left, separator, right = text.partition("~")
    if not separator or not left.strip() or not right.strip() or "~" in right:
        raise ColumnError(
            f"A formula must read 'response ~ terms + (1 | group)'; found {text!r}.",
            "Such as: log_gain ~ rho + (1 | lab).",
        )
    rest, inner = _random_parts(right, text)
    fixed, offset = _split_offsets(rest, text)
    random = tuple(itertools.chain.from_iterable(_random_terms(part, text) for part in inner))
    if not random:
        raise DesignError(
            f"A mixed model must have a random term; {text!r} has none.",
            "Add one such as (1 | model), or fit it with analysis.inference.regression.",
        )
    return MixedFormula(text, translate(left), fixed, random, offset)


def updated(old: str, change: str) -> str:
    """Return a formula with a change in R's language, where a dot stands for the old side.

    Examples
    --------
    >>> updated("y ~ x + (1 | lab) + (1 | model)", ". ~ . + z - (1 | lab)")
    'y ~ x + (1 | model) + z'
    """
    (old_left, _, old_right), (left, separator, right) = old.partition("~"), change.partition("~")
    if not separator:
        raise ColumnError(
            f"A change of a formula must read 'response ~ terms'; found {change!r}.",
            "Such as . ~ . + depth, where a dot stands for the old side.",
        )
    response = old_left.strip() if left.strip() == "." else left.strip()
    combined = DOT.sub(lambda _: old_right.strip(), right.strip())
    for dropped in DROPPED.findall(combined):
        pattern = r"\s*".join(map(re.escape, "".join(dropped.split())))
        combined = re.sub(rf"-\s*\(\s*{pattern}\s*\)", "", combined)
        combined, n_removed = re.subn(rf"(^|\+)\s*\(\s*{pattern}\s*\)", "", combined, count=1)
        if not n_removed:
            raise ColumnError(
                f"A random term that is dropped must be there; ({dropped}) is not in {old!r}.",
                "Write it as the formula has it.",
            )
    return f"{response} ~ {' '.join(combined.split()).removeprefix('+').strip()}"


@cache
def terms(side: str) -> tuple[Any, ...]:
    """Return patsy's terms of a right side, in the order their columns will have."""
    from patsy import PatsyError
    from patsy.desc import ModelDesc

    try:
        parsed = tuple(ModelDesc.from_formula(side.replace("^", "**")).rhs_termlist)
    except (PatsyError, SyntaxError, tokenize.TokenError, AssertionError) as error:
        # An operator of Python that formulas do not have fails an assertion of patsy's.
        sentence = str(error).partition("\n")[0] or "an operator has no meaning in a formula"
        raise ColumnError(
            f"The formula part {side.strip()!r} must be readable; {sentence}.",
            keyword_hint(side, "Write terms as 'a + b + a:b', and random ones as (1 + a | group)."),
        ) from error
    for factor in itertools.chain.from_iterable(term.factors for term in parsed):
        _require_one_expression(factor.code, side)
        if whole(factor.code) == "Intercept":
            raise ColumnError(
                "A predictor must not be called 'Intercept', which names the constant; "
                f"found one in {side.strip()!r}.",
                "Rename the column; write 1 for the constant.",
            )
    return parsed


def term_name(term: Any) -> str:
    """Return what tables call a term of patsy's; all columns of a basis have one name."""
    return ":".join(whole(factor.code) for factor in term.factors) or "Intercept"


def term_parts(term: Any) -> frozenset[str]:
    """Return the factors and numbers that a term of patsy's multiplies, a basis as one."""
    return frozenset(whole(factor.code) for factor in term.factors)


def is_factor_call(code: str) -> bool:
    """Tell whether a piece of a formula makes a factor of its column, as ``C(layer)`` does."""
    return code.startswith(FACTOR_CALLS)


def _require_one_expression(code: str, side: str) -> None:
    try:
        compile(code, "formula", "eval")
    except SyntaxError as error:
        raise ColumnError(
            f"The formula part {side.strip()!r} must be readable; {code!r} is not one term.",
            keyword_hint(code, "An operator may be missing between two names."),
        ) from error


def _random_parts(right: str, text: str) -> tuple[str, list[str]]:
    """Return the right side without its random terms, and what stands inside them."""
    fixed, inner, position = "", [], 0
    while position < len(right):
        if right[position] != "(":
            fixed, position = fixed + right[position], position + 1
            continue
        end = closing(right, position, text)
        content = right[position + 1 : end]
        if not _has_bar(content):
            fixed, position = fixed + right[position : end + 1], end + 1
            continue
        before = fixed.rstrip()
        _require_added(before, f"({content})", right[end + 1 :].lstrip(), text)
        fixed, position = before.removesuffix("+"), end + 1
        inner.append(content)
    if "|" in fixed:
        raise ColumnError(
            f"A random term must stand in brackets; {text!r} has a bar outside them.",
            "Write (1 | group).",
        )
    return fixed.strip().removeprefix("+").strip() or "1", inner


def closing(right: str, opening: int, text: str) -> int:
    """Return the place of the bracket that closes one, refusing a formula without it."""
    depth = 0
    for position in range(opening, len(right)):
        depth += {"(": 1, ")": -1}.get(right[position], 0)
        if depth == 0:
            return position
    raise ColumnError(
        f"The formula {text!r} must be readable; a bracket is not closed.", "Check its brackets."
    )


def _has_bar(content: str) -> bool:
    """Tell whether a bar stands outside all brackets."""
    while (outside := re.sub(r"\([^()]*\)", "", content)) != content:
        content = outside
    return "|" in content


def _random_terms(content: str, text: str) -> list[RandomTerm]:
    """Return the terms that one bracket stands for."""
    correlated = "||" not in content
    left, _, right = content.partition("|" if correlated else "||")
    if not left.strip() or not right.strip() or "|" in right:
        raise ColumnError(
            f"A random term must read (what varies | group); ({content}) in {text!r} does not.",
            "Such as (1 + depth | model).",
        )
    lefts = [left.strip()] if correlated else _separate(left)
    return [RandomTerm(each, group) for group in _groups(right, text) for each in lefts]


def _groups(right: str, text: str) -> list[tuple[str, ...]]:
    """Return the factors of every group: ``a/b`` stands for ``a`` and ``a:b``."""
    groups: list[tuple[str, ...]] = []
    outer: tuple[str, ...] = ()
    for part in right.split("/"):
        names = tuple(name.strip() for name in part.split(":"))
        if not all(name.isidentifier() for name in names):
            raise ColumnError(
                f"A group must be a column, a:b or a/b; {right.strip()!r} in {text!r} is not.",
                "A group's column must be a word: rename it, or make the group a column first.",
            )
        outer += tuple(name for name in names if name not in outer)
        groups.append(outer)
    return groups


def _separate(left: str) -> list[str]:
    """Return the uncorrelated pieces of ``1 + x`` in ``(1 + x || group)``."""
    pieces = []
    for term in terms(left):
        names = ":".join(factor.code for factor in term.factors)
        pieces.append(f"0 + {names}" if names else "1")
    return pieces


def _split_offsets(rest: str, text: str) -> tuple[str, Expression | None]:
    """Return the fixed part without ``offset(x)`` terms, and their sum."""
    tokens = tokens_of(rest) if "offset" in rest else []
    places = [place for place, token in enumerate(tokens) if token.string == "offset"]
    if not places:
        return rest, None
    start, opening = tokens[places[0]].start[1], tokens[places[0] + 1]
    if len(places) > 1 or opening.string != "(":
        raise ColumnError(
            f"A formula may have one term offset(x); {text!r} does not.",
            "Add the columns inside one offset: offset(a + b).",
        )
    end = closing(rest, opening.start[1], text)
    before, after = rest[:start].rstrip(), rest[end + 1 :].strip()
    _require_added(before, rest[start : end + 1], after, text)
    fixed = f"{before.removesuffix('+')} {after}".strip().removeprefix("+").strip()
    return fixed or "1", translate(rest[opening.end[1] : end])


def _require_added(before: str, term: str, after: str, text: str) -> None:
    """Raise ColumnError unless a term that is taken out of a formula is one of its summands."""
    is_inside = before.count("(") != before.count(")")
    if is_inside or before[-1:] not in ("", "+") or after[:1] not in ("", "+", "-", ")"):
        raise ColumnError(
            f"The term {term} must be added to the others; in {text!r} it is not.",
            "Put it outside other brackets, with a + before it and, where terms follow, after it.",
        )
