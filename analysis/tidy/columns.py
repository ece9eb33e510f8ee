"""Columns of a printed table: what heads each, what it is written from, and what writes a cell.

>>> import pandas as pd
>>> names = {"size": Column("Size", "n", str), "span": Column("Span", ["low", "high"], max)}
>>> texts(pd.DataFrame({"n": [1, 2], "low": [3, 4], "high": [5, 6]}), names).to_dict("list")
{'size': ['1', '2'], 'span': [5, 6]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a printed table.

    Attributes
    ----------
    header
        What stands above it.
    of
        The column of the frame, or the columns, whose values one cell is written from.
    write
        Returns a cell from these values, or gives a word for each; None leaves them as they are.
    once
        Whether a cell that repeats the one above is left empty.
    """

    header: str
    of: str | Sequence[str]
    write: Callable[..., object] | Mapping[Any, object] | None = None
    once: bool = False


def texts(rows: pd.DataFrame, columns: Mapping[str, Column | str]) -> pd.DataFrame:
    """Return the cells of a table, one row per row; a name that has a header alone stays as it is.

    Parameters
    ----------
    rows
        Any frame.
    columns
        The printed columns by name, in their order.
    """
    import pandas as pd  # here: pages of plain text have none, and need none

    cells: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, str):
            cells[name] = rows[name].tolist()
            continue
        names = [column.of] if isinstance(column.of, str) else column.of
        write = column.write.get if isinstance(column.write, Mapping) else column.write
        values = zip(*(rows[each] for each in names), strict=True)
        cells[name] = [value[0] if write is None else write(*value) for value in values]
        if column.once:
            cells[name] = once(pd.Series(cells[name], dtype=object)).tolist()
    return pd.DataFrame(cells)


def once(cells: pd.Series[str]) -> pd.Series[str]:
    """Return cells with those that repeat the one above left empty.

    >>> import pandas as pd
    >>> once(pd.Series(["a", "a", "b", "a"])).tolist()
    ['a', '', 'b', 'a']
    """
    return cells.mask(cells == cells.shift(), "")
