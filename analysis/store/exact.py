"""The rows of an answer as text that loses nothing, written by the engine itself.

A frame of pandas holds NULL and NaN alike, rounds integers beyond 64 bits, and knows no NULL within
a list. Here every value is what DuckDB writes: for CSV its text, for JSON its JSON, lists and
structures as JSON in both. A number that JSON does not have is the word for it: "NaN", "Infinity",
"-Infinity"; NULL is nothing in CSV and null in JSON. Columns of one name are numbered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import duckdb

from analysis.store.statement import explained, kinds

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Whether lists and structures are JSON, every value is, or none.
Form = Literal["csv", "json", "table"]

#: Rows that cross from the engine at a time.
AT_A_TIME = 10_000

#: Types whose values are made of others.
_NESTED = frozenset({"list", "array", "struct", "tuple", "map", "union", "variant"})

#: Types that a spreadsheet could take for a formula.
_WORDS = frozenset({"varchar", "enum", "blob", *_NESTED})

#: The type of a column that holds NULL alone; the engine would not ask for its values to make JSON.
_NOTHING = "null"

#: What JSON has no number for, as the engine's JSON writes it bare; a column of JSON, as it was.
_NO_NUMBER = re.compile(r"(-?)(nan|inf(?:inity)?)", re.IGNORECASE)

#: A text within JSON, or such a word.
_TEXT_OR_WORD = re.compile(rf'"(?:[^"\\]|\\.)*"|{_NO_NUMBER.pattern}', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer: its name, and its type as DuckDB calls it."""

    name: str
    type: str

    @property
    def is_text(self) -> bool:
        """Whether its text may hold any characters."""
        return self.type in _WORDS

    @property
    def is_float(self) -> bool:
        """Whether it holds numbers that need rounding to be read."""
        return self.type in ("float", "double")

    def is_json(self, form: Form) -> bool:
        """Whether its values are written as JSON."""
        return self.type != _NOTHING and (
            form == "json" or (form == "csv" and self.type in _NESTED)
        )


def columns(sql: str, cursor: DuckDBPyConnection) -> tuple[Column, ...]:
    """Return the columns that a statement would answer with; nothing of it is run.

    Raises
    ------
    duckdb.Error
        If the engine refuses the statement.
    """
    cursor.execute(
        f"EXPLAIN {explained(sql)}"
        if _is_explain(sql)
        else f"SELECT * FROM (\n{bare(sql)}\n) AS answer LIMIT 0"
    )
    return tuple(Column(str(name), str(kind.id)) for name, kind, *_ in cursor.description or ())


def rows(
    sql: str, header: Sequence[Column], cursor: DuckDBPyConnection, form: Form
) -> Iterator[list[str | None]]:
    """Yield the rows of a statement, each value as text, None for NULL.

    Parameters
    ----------
    sql
        One reading statement.
    header
        Its `columns`.
    cursor
        Runs it.
    form
        What values are written for.

    Raises
    ------
    duckdb.Error
        If the engine refuses the statement or fails in it, also between two rows.
    """
    are_json = [column.is_json(form) for column in header]
    if _is_explain(sql):
        for row in cursor.execute(sql).fetchall():
            yield [json.dumps(text, ensure_ascii=False) if any(are_json) else text for text in row]
        return
    written = [
        f"{f'to_json(#{place})' if is_json else f'#{place}'}::VARCHAR"
        for place, is_json in enumerate(are_json, start=1)
    ]
    cursor.execute(f"SELECT {', '.join(written)} FROM (\n{bare(sql)}\n) AS answer")
    while several := cursor.fetchmany(AT_A_TIME):
        for row in several:
            pairs = zip(row, are_json, strict=True)
            yield [strict(text) if is_json and text else text for text, is_json in pairs]


def bare(sql: str) -> str:
    """Return one statement without the semicolons around it and what follows them.

    >>> bare("; SELECT ';' AS a; -- a comment")
    "SELECT ';' AS a"
    """
    (statement,) = duckdb.extract_statements(sql)
    text = statement.query.encode()
    ends = [
        place
        for place, kind in duckdb.tokenize(statement.query)
        if kind == duckdb.token_type.operator and text[place : place + 1] == b";"
    ]
    return (text[: ends[0]] if ends else text).decode()


def strict(text: str) -> str:
    """Return JSON as the engine writes it as JSON that every reader takes.

    >>> strict("[1.50,null,NaN]"), strict('"NaN"'), strict("-Infinity"), strict('{"inf":inf}')
    ('[1.50,null,"NaN"]', '"NaN"', '"-Infinity"', '{"inf":"Infinity"}')
    """
    return _TEXT_OR_WORD.sub(_quote, text) if _NO_NUMBER.search(text) else text


def _quote(match: re.Match[str]) -> str:
    sign, word = match[1], match[2]
    if word is None:
        return match[0]
    return '"NaN"' if word.lower() == "nan" else f'"{sign}Infinity"'


def _is_explain(sql: str) -> bool:
    return kinds(sql) == ["EXPLAIN"]
