"""What a query lacks and another column or table has: the same gain on other prompts, other models.

Columns that hold one quantity of some models each, on prompts of their own, are declared
(`collect.schema.SIBLINGS`). Models measured here and models of the paper stand in two tables, which
a query over models may take for all there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.store.notes.query import Query, called, column_groups, name_of
from analysis.store.notes.sampling import conjuncts, constants
from analysis.store.statement import columns_of, named_within
from collect import schema

_MEASURED, _PUBLISHED = "model_gain", "published_model"

#: Models measured here, and models of the paper that are not.
_MODELS = f"""
SELECT count(*) FILTER (WHERE is_measured),
       count(*) FILTER (WHERE is_published AND NOT is_measured)
  FROM main.model
 WHERE NOT {schema.KIND}
"""


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for the columns and the table that have what a query lacks."""
    yield from dict.fromkeys(_siblings(query))
    if _MEASURED in query.names and _PUBLISHED not in query.names:
        yield from dict.fromkeys(_published(query))


def _siblings(query: Query) -> Iterator[str]:
    """Yield how many models without a value have it in another column that nothing asks for."""
    asked_anywhere = columns_of(query.tree)
    for node in query.selects:
        asked = columns_of([node["select_list"], node.get("where_clause"), node.get("modifiers")])
        for alias, source in query.sources(node).items():
            for column, other in schema.SIBLINGS.get(source.table, {}).items():
                if column not in asked or other in asked_anywhere:
                    continue
                if not {column, other} <= source.columns:
                    continue
                n = _only(query, node, f'"{alias}"."{column}"', f'"{alias}"."{other}"')
                if n:
                    models = "1 model" if n == 1 else f"{n} models"
                    yield (
                        f"{source.table}.{column}: {models} without it have {other}, over other "
                        "prompts"
                    )


def _only(query: Query, node: Any, place: str, other: str) -> int:
    """Return how many rows have a value in another column alone, whatever WHERE asks of one."""
    column = place.rpartition(".")[2].strip('"')
    rest = [it for it in conjuncts(node.get("where_clause")) if column not in columns_of(it)]
    rows = query.ungrouped(node)
    clause = {**rows["where_clause"], "children": rest} if len(rest) > 1 else None
    rows["where_clause"] = clause or (rest or [None])[0]
    sql = f"count(CASE WHEN {place} IS NULL AND {other} IS NOT NULL THEN 1 END)"
    return max((n for (n,) in query.counts(rows, [(sql, None)]) or []), default=0)


def _published(query: Query) -> Iterator[str]:
    """Yield that an aggregate or the first of some models is of those measured here alone."""
    for node in query.selects:
        alias = next((it for it, of in query.tables(node).items() if of == _MEASURED), None)
        functions = [it for it in called(node) if name_of(it) in query.aggregates]
        is_cut = any("LIMIT" in each["type"] for each in node.get("modifiers") or [])
        if alias is None or not (functions or is_cut):
            continue
        here = named_within(node["from_table"])
        wheres = conjuncts(node.get("where_clause"))
        chosen = {name for each in wheres for name in constants(each, here)}
        chosen |= column_groups(query.groups(node)) if functions else set()
        met = f'count(CASE WHEN NOT "{alias}".{schema.KIND} THEN 1 END)'
        if "model_id" in chosen or query.counts(query.ungrouped(node), [(met, None)]) == [(0,)]:
            continue
        ((n, n_others),) = query.cursor.execute(_MODELS).fetchall()
        if n_others:
            yield (
                f"{_MEASURED} has the {n} models measured here; {_PUBLISHED} has {n_others} others "
                "as the paper measured them"
            )
