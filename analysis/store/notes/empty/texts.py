"""Texts that a query asks a column to be and that no row of its table has.

A name may be written in another way, or stand in another table: the nearest is named, or the tables
of main that have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.notes.query.query import Query
from analysis.store.statement import every, named_within, within
from collect import schema
from collect.errors import nearest

if TYPE_CHECKING:
    from analysis.store.store import Store

#: Tables of main that are short, whose texts are looked through, and those of raw.
_FRONT = ("model", "model_gain", "published_model", "network", "claim", "coverage")
_SHORT = frozenset(
    {*_FRONT, f"{schema.RAW}.trained_network"}
    | {f"{schema.RAW}.{name}" for name in ("model", "run", "prompt", "metric", "claim", "verdict")}
)

#: Where the texts of others stand, each of them.
_CATALOGUES = {
    "metric": "raw.metric",
    **dict.fromkeys(("model_id", "lab", "suite", "family"), "raw.model"),
}


def notes(query: Query, store: Store) -> Iterator[str]:
    """Yield a sentence for each equality that no row can meet.

    Parameters
    ----------
    query
        The query.
    store
        Where it was answered.
    """
    made = {str(node["alias"]).lower() for node in every(query.tree) if node.get("alias")}
    known = contents.columns_by_table(query.cursor)
    for tables, column, text in dict.fromkeys(_equalities(query)):
        read = tables or tuple(name for name in query.names if column in known.get(name, ()))
        places = {name: name if name in _SHORT else _CATALOGUES.get(column, "") for name in read}
        if column in made or not read or "" in places.values():
            continue
        texts = _texts(query, column, [*places.values()])
        if text in texts:
            continue
        is_own = [*places] == [*places.values()]
        others = [it for it in _elsewhere(query, store, column, text) if it not in places]
        if texts or others:
            no = f"no row of {', '.join(places)} has {column}" if is_own else f"no {column} is"
            yield f"{no} {text!r}{_where(others) or _like(text, texts)}"


def _texts(query: Query, column: str, places: Sequence[str]) -> list[str]:
    """Return the texts of a column in some tables."""
    sql = " UNION ".join(
        f'SELECT "{column}"::VARCHAR FROM {place}' for place in dict.fromkeys(places)
    )
    return [text for (text,) in query.cursor.execute(sql).fetchall() if text is not None]


def _elsewhere(query: Query, store: Store, column: str, text: str) -> list[str]:
    """Return the short tables of main that have a text in a column of this name."""
    columns = schema.commented(schema.front_sql())[1]
    there = [name for name in _FRONT if f"{schema.FRONT}.{name}.{column}" in columns]
    store.make_views(*(f"{schema.FRONT}.{name}" for name in there))
    return [name for name in there if text in _texts(query, column, [name])]


def _where(others: Sequence[str]) -> str:
    return f"; {', '.join(others)} {'has' if len(others) == 1 else 'have'} it" if others else ""


def _like(text: str, texts: Sequence[str]) -> str:
    return "".join(f"; the nearest is {name!r}" for name in nearest(text, texts))


def _equalities(query: Query) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield tables, column and text of each comparison that asks one to be the other.

    Several tables where a join makes their columns one; none where an inner query has the column.
    """
    for node in query.selects:
        for each in within(node):
            if each.get("type") == "COMPARE_EQUAL":
                for one, other in ((each["left"], each["right"]), (each["right"], each["left"])):
                    is_text = (
                        other.get("class") == "CONSTANT" and other["literal"]["kind"] == "STRING"
                    )
                    if one.get("class") == "COLUMN_REF" and is_text:
                        tables = _tables(query, node, one["column_names"])
                        yield tables, one["column_names"][-1].lower(), other["literal"]["text"]


def _tables(query: Query, node: Any, path: Sequence[str]) -> tuple[str, ...]:
    """Return the tables of a SELECT whose column is meant, as far as they are known."""
    owner, sources = query.owner(node, path), query.sources(node)
    if len(path) == 1 and len(named_within(node["from_table"])) > len(sources):
        return ()
    names = [owner] if owner in sources else [*sources] if len(path) == 1 else []
    column = str(path[-1]).lower()
    return tuple(sources[it].table for it in names if column in sources[it].columns)
