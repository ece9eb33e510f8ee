"""A formula's design matrix and response, with explicit factor levels and clear refusals."""

from __future__ import annotations

import ast
import re
import tokenize
from dataclasses import dataclass
from io import StringIO

import numpy as np
import pandas as pd

from analysis.tidy.errors import ColumnError, DesignError
from analysis.tidy.frame import Floats, level_codes, numbers, require_columns

#: A response, and columns that are added up as they are.
_NAME = r"\s*[^\W\d]\w*\s*"
_PLAIN = re.compile(rf"{_NAME}~{_NAME}(?:\+{_NAME})*")

#: R's way to write a column that is no word, and the strings in which a backtick is a character.
_BACKTICKS = re.compile(r"`([^`]*)`?")
_QUOTED = re.compile(r"(?<![\w.])Q\(\s*('[^']*'|\"[^\"]*\")\s*\)")
_STRINGS = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class ModelMatrices:
    """What a formula makes of n rows and p terms.

    Attributes
    ----------
    terms
        Names of the design's columns, length p.
    design
        Shape (n, p).
    response
        Shape (n,).
    references
        Reference level of every factor, as ``lab = AI2``.
    """

    terms: tuple[str, ...]
    design: Floats
    response: Floats
    references: tuple[str, ...]


def model_matrices(frame: pd.DataFrame, formula: str) -> ModelMatrices:
    """Return the design and response that a formula makes of a frame.

    Parameters
    ----------
    frame
        One row per observation. Text and truth values become factors with sorted levels,
        categorical columns keep their order; the first level present is the reference.
    formula
        Such as ``gain ~ lab + np.log10(parameters)``. Only columns (``Q('a name')`` for one that is
        no word) and ``np`` are known to it.

    Raises
    ------
    ColumnError
        If the formula cannot be read, names no column, or makes a value that is not finite.
    DesignError
        If a factor has one level.
    """
    require_no_backticks(formula)
    left, separator, right = formula.partition("~")
    if not separator or not left.strip() or not right.strip():
        raise ColumnError(
            f"A formula must read 'response ~ terms'; found {formula!r}.",
            "For a mean alone write 'response ~ 1'.",
        )
    columns: dict[str, pd.Series | Floats] = {}
    references: dict[str, str] = {}
    for name in _column_names(frame, left):
        columns[name] = numbers(frame, name)
    for name in _column_names(frame, right):
        if _is_factor(frame[name]):
            codes, levels = level_codes(frame, name)
            if len(levels) < 2:
                raise DesignError(
                    f"Factor {name!r} must have at least two levels; found {list(levels)}.",
                    "Drop it from the formula, or widen the filter.",
                )
            columns[name], references[name] = (
                pd.Series(pd.Categorical.from_codes(codes, categories=levels)),
                str(levels[0]),
            )
        else:
            columns[name] = numbers(frame, name)
    terms, design, response = _evaluate(formula, pd.DataFrame(columns, index=range(len(frame))))
    _require_finite(design, response)
    return ModelMatrices(
        terms=terms,
        design=design,
        response=response,
        references=tuple(
            f"{name} = {level}"
            for name, level in references.items()
            if any(_is_dummy_of(name, term) for term in terms)
        ),
    )


def require_no_backticks(formula: str) -> None:
    """Raise ColumnError if a formula names a column in backticks, as R's do."""
    if match := _BACKTICKS.search(_STRINGS.sub("", formula)):
        name = match.group(1).strip()
        raise ColumnError(
            "A column that is not a word must be written Q('its name'), not in backticks; found "
            f"{match.group()!r}.",
            f"Write Q({name!r}); rename a column that is a group, which must be a word.",
        )


def tokens_of(side: str) -> list[tokenize.TokenInfo]:
    """Return Python's tokens of a side of a formula; raise ColumnError if there are none."""
    try:
        return list(tokenize.generate_tokens(StringIO(side).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise ColumnError(
            f"The formula part {side!r} must be readable; {error.args[0]}.",
            "Check its brackets and quotes.",
        ) from error


def _evaluate(formula: str, columns: pd.DataFrame) -> tuple[tuple[str, ...], Floats, Floats]:
    """Return the names of the design's columns, the design and the response."""
    if _PLAIN.fullmatch(formula) and not columns.dtypes.eq("category").any():
        return _plain(formula, columns)
    from patsy import EvalEnvironment, NAAction, dmatrices

    known = EvalEnvironment([{"np": np}])
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            response, design = dmatrices(formula, columns, known, NAAction(on_NA="raise"))
            outcome = np.squeeze(np.asarray(response, dtype=np.float64), axis=1)
    except Exception as error:  # a formula is code, and may raise what it likes
        raise ColumnError(
            f"The formula {formula!r} must be readable and finite; {' '.join(str(error).split())}.",
            "Write it as 'response ~ a + b + a:b', with np.log10(a) for a transformation.",
        ) from error
    terms = tuple(str(name) for name in design.design_info.column_names)
    return terms, np.asarray(design, dtype=np.float64), outcome


def _plain(formula: str, columns: pd.DataFrame) -> tuple[tuple[str, ...], Floats, Floats]:
    """Return what `_evaluate` does of columns of numbers that are only named and added up."""
    left, *right = [name.strip() for name in re.split("[~+]", formula)]
    names = list(dict.fromkeys(right))
    design = np.column_stack([np.ones(len(columns)), *(columns[name] for name in names)])
    return ("Intercept", *names), design, columns[left].to_numpy(dtype=np.float64)


def _column_names(frame: pd.DataFrame, side: str) -> list[str]:
    """Return the columns a side of a formula uses, each checked to exist."""
    from patsy.builtins import __all__ as builtins

    tokens = tokens_of(side.strip())
    names = []
    for previous, token, following in zip(
        [None, *tokens], tokens, [*tokens[1:], None], strict=False
    ):
        is_name = token.type == tokenize.NAME and token.string not in builtins
        is_attribute = previous is not None and previous.string == "."
        leads = following is not None and following.string in ("(", ".", "=")
        if is_name and not is_attribute and not leads:
            names.append(token.string)
    names += [ast.literal_eval(text) for text in _QUOTED.findall(side)]
    require_columns(frame, names)
    return list(dict.fromkeys(names))


def _is_factor(column: pd.Series) -> bool:
    return pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column)


def _is_dummy_of(name: str, term: str) -> bool:
    """Tell whether a term is a treatment dummy of a factor, alone or in an interaction."""
    spelt = tuple(f"{each}[T." for each in (name, f"Q('{name}')", f'Q("{name}")'))
    return any(part.startswith(spelt) for part in term.split(":"))


def _require_finite(design: Floats, response: Floats) -> None:
    unusable = ~np.isfinite(design).all(axis=1) | ~np.isfinite(response)
    if unusable.any():
        raise ColumnError(
            f"Every term of the formula must be finite; it is not in {int(unusable.sum())} of "
            f"{len(unusable)} rows.",
            "A logarithm of zero or a division by zero makes such rows.",
        )
