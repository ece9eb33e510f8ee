"""Tables of a query that have no model in common, or none that its conditions take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.notes.empty.values import number
from analysis.store.notes.query.conditions import conjuncts
from analysis.store.notes.query.query import Query
from analysis.store.statement import all_columns, within

if TYPE_CHECKING:
    from analysis.store.store import Store

#: What can stand after FROM and has rows.
_PARTS = frozenset({"BASE_TABLE", "SUBQUERY"})

#: Models of the paper that others measured.
_REPORTED = """
SELECT count(DISTINCT model_id)
  FROM raw.reported_gain
  SEMI JOIN main.published_model USING (model_id)
"""


def of_conditions(query: Query, node: Any) -> Iterator[str]:
    """Yield the tables that have none of the models that conditions take of another."""
    known: dict[str, set[str]] = {}
    conditions = [*conjuncts(node.get("where_clause"))]
    if "model_id" not in all_columns([node["from_table"], conditions]):
        return
    of_each: dict[str, list[Any]] = {}
    for alias, source in query.sources(node).items():
        if "model_id" in source.columns and (part := _part(node, alias)):
            own = [it for it in conditions if {*query.owners(node, it)} == {alias}]
            rows = query.ungrouped({**query.where(node, own), "from_table": part})
            found = query.counts(rows, [(f'list(DISTINCT "{alias}"."model_id")', None)])
            known[alias], of_each[alias] = {*((found or [([],)])[0][0] or [])}, own
    tables = query.tables(node)
    for pair in combinations(known, 2):
        one, other = pair if of_each[pair[0]] else pair[::-1]
        is_apart = known[one] and known[other] and known[one].isdisjoint(known[other])
        if of_each[one] and is_apart:
            models = number(len(known[one]), "model")
            among = f"among {number(len(known[other]), 'model')} of" if of_each[other] else "in"
            yield (
                f"none of {models} of {tables[one]} that the conditions take is {among} "
                f"{tables[other]}{' that they take' * bool(of_each[other])}; coverage says why"
            )


def _part(node: Any, alias: str) -> Any:
    """Return the part of FROM that a SELECT knows by a name."""
    parts = [it for it in within(node["from_table"]) if it.get("type") in _PARTS]
    named = [it for it in parts if str(it.get("alias") or it.get("table_name")).lower() == alias]
    return next((it for it in named if "class" not in it), None)


def of_tables(query: Query, store: Store, names: Sequence[str]) -> list[str]:
    """Return the pairs of some tables that have no model in common."""
    pairs = contents.apart(query.cursor, names)
    if not pairs:
        return []
    store.make_views("raw.reported_gain", "main.published_model")
    ((n,),) = query.cursor.execute(_REPORTED).fetchall()
    models = "1 model of published_model was" if n == 1 else f"{n} models of published_model were"
    reported = f"; {models} measured by others: raw.reported_gain" if n else ""
    return [
        f"no model_id is both in {one} and in {other}; coverage says which are where"
        f"{reported if {one, other} & {'model_gain', 'published_model'} else ''}"
        for one, other in pairs
    ]
