"""Frames as CSV that programs read as it stands and that a spreadsheet opens without running it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: What a spreadsheet takes for the beginning of a formula.
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")

#: A number is no formula, whatever its sign.
NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")


def to_csv(rows: pd.DataFrame) -> str:
    """Return rows as CSV text: ten significant digits, so that a diff is never rounding noise.

    A text that would be a formula has an apostrophe in front, which says so to a spreadsheet.

    >>> import pandas as pd
    >>> print(to_csv(pd.DataFrame({"a": ["=1+1", "-0.5", "b"], "n": [1, -2, 1 / 3]})), end="")
    a,n
    '=1+1,1
    -0.5,-2
    b,0.3333333333
    """
    import pandas as pd

    columns = [_inert_column(column) for _, column in rows.items()]
    inert = pd.concat(columns, axis="columns") if columns else rows
    inert = inert.set_axis([_inert(name) for name in rows.columns], axis="columns")
    return inert.to_csv(index=False, lineterminator="\n", float_format="%.10g")


def line(values: Iterable[str | None], are_words: Iterable[bool]) -> str:
    r"""Return one line of CSV: nothing for None, quotes where a text needs them, no formula.

    >>> line(["a,b", None, "", "=1", "-1", "a\rb"], [True, True, True, True, False, True])
    '"a,b",,"",\'=1,-1,"a\rb"\n'
    """
    pairs = zip(values, are_words, strict=True)
    cells = (_cell(_no_formula(text) if is_word and text else text) for text, is_word in pairs)
    return ",".join(cells) + "\n"


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    if text == "" or any(character in text for character in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _inert_column(column: pd.Series[Any]) -> pd.Series[Any]:
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column.dtype):
        return column
    return column.astype(object).map(_inert)


def _inert(value: Any) -> Any:
    """Return a text that starts no formula and ends no line early; anything else as it is."""
    if not isinstance(value, str):
        return value
    return _no_formula(value).replace("\r\n", "\n").replace("\r", "\n")


def _no_formula(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text
