"""Why an answer has no row, or an aggregate takes none: what stands there of what it asks for.

A SELECT without a row is asked again without one of its conditions at a time. Where the others take
rows, the values are said that stand in these: texts by name, numbers by the least and the greatest.
Only conditions that compare with constants are left out in turn (`conditions`). Tables that are
joined may have no model in common, or none that their conditions take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.notes.empty import joins
from analysis.store.notes.empty.values import MOST_NAMED, is_number, names, number, span, summary
from analysis.store.notes.query.conditions import OF_NULL, atoms, conjuncts, subjects
from analysis.store.notes.query.query import Query, called, name_of
from analysis.store.notes.query.reading import resolve_group

if TYPE_CHECKING:
    from analysis.store.store import Store


#: Conditions that name values.
_EQUAL = frozenset({"COMPARE_EQUAL", "COMPARE_IN"})


def voids(query: Query) -> list[Any]:
    """Return the SELECTs that have an aggregate and take no row."""
    if not any(
        node.get("where_clause") or node.get("having") or node["from_table"]["type"] == "JOIN"
        for node in query.selects
    ):
        return []
    return [
        node
        for node in query.selects
        if any(name_of(each) in query.aggregates for each in called(node))
        and query.n_rows(node) == 0
    ]


def reasons(query: Query, store: Store) -> Iterator[str]:
    """Yield why SELECTs of a query have no row, those that have none.

    Parameters
    ----------
    query
        A query without a row in its answer or under an aggregate.
    store
        Where it was answered.
    """
    found: list[str] = []
    for node in query.selects:
        n = query.n_rows(node)
        if n == 0:
            apart = joins.of_tables(query, store, [*query.tables(node).values()])
            chosen = [] if apart else [*joins.of_conditions(query, node)]
            found += [*([] if chosen else _of_where(query, node)), *chosen, *apart]
        elif n and node.get("having"):
            found += _of_having(query, node)
    yield from found or joins.of_tables(query, store, query.names)


def _of_constants(conditions: Sequence[Any]) -> list[Any]:
    """Return the conditions that compare something with constants."""
    return [it for it in conditions if any(map(subjects, atoms(it)))]


def _of_where(query: Query, node: Any) -> Iterator[str]:
    """Yield what stands there of what a WHERE asks for."""
    conditions = [*conjuncts(node.get("where_clause"))]
    free = _of_constants(conditions)
    fixed = [it for it in conditions if it not in free]
    if not free or not query.n_rows(query.where(node, fixed)):
        return
    met = [(it, [other for other in conditions if other is not it]) for it in free]
    met = [(it, others) for it, others in met if query.n_rows(query.where(node, others))]
    if not met:
        met = [(it, fixed) for it in free if query.n_rows(query.where(node, [it, *fixed])) == 0]
    for condition, others in met:
        rows = query.ungrouped(query.where(node, others))
        left = " that the other conditions take" if others else _source(query, node)
        for atom in atoms(condition):
            for subject in subjects(atom):
                name = _name(query, node, subject)
                yield from _of_subject(query, rows, subject, name, left, kind=atom["type"])


def _source(query: Query, node: Any) -> str:
    """Return of what the rows without WHERE are; nothing where of one whole table."""
    tables = [*query.tables(node).values()]
    if len(tables) > 1:
        return " of the join"
    whole = [query.cursor.execute(f"SELECT count(*) FROM {it}").fetchall()[0][0] for it in tables]
    return " of the inner query" if whole != [query.n_rows(query.where(node, []))] else ""


def _name(query: Query, node: Any, subject: Any) -> str:
    """Return a column with its table, or an expression as it is written."""
    path = subject.get("column_names")
    source = query.sources(node).get(query.owner(node, path)) if path else None
    return f"{source.table}.{path[-1]}" if source else query.text(subject)


def _of_subject(
    query: Query, rows: Any, subject: Any, name: str, left: str, *, kind: str
) -> Iterator[str]:
    """Yield which values an expression has in the rows that are left, by the kind of condition."""
    text = query.text(subject)
    asked = ["count(*)", *(f"{of}({text})" for of in ("count", "min", "max"))]
    asked.append(f"count(DISTINCT {text})")
    for n, n_there, low, high, n_values in query.counts(rows, [(it, None) for it in asked]) or []:
        where = f" in {number(n, 'row')}{left}" if left else ""
        if n_there == 0:
            yield f"{name} is NULL in every row{left}{'' if left else contents.meaning(name)}"
        elif kind in OF_NULL:
            yield f"{name} is NULL in no row{left}"
        elif is_number(low) and (kind not in _EQUAL or n_values == 1 or n_values > MOST_NAMED):
            yield f"{name} {span(low, high)}{where}"
        else:
            cast = "" if is_number(low) else "::VARCHAR"
            found = query.counts(rows, [(f"list(DISTINCT ({text}){cast})", None)]) or [([],)]
            values = [it for it in found[0][0] if it is not None]
            has = "one value" if len(values) == 1 else f"{len(values)} values"
            yield f"{name} has {has}{where}: {names(values)}"
            if name.rpartition(".")[2] == "model_id":
                yield "coverage says which quantities of a model are not here, and why"


def _of_having(query: Query, node: Any) -> Iterator[str]:
    """Yield what values groups have of which HAVING takes none."""
    conditions = [*conjuncts(node["having"])]
    groups = {**node, "modifiers": []}

    def values(conditions: Sequence[Any], asked: Any) -> list[Any]:
        rows = query.answer(query.having(groups, conditions), [asked])
        return [value for (value,) in rows or []]

    for condition in _of_constants(conditions):
        for subject in (each for atom in atoms(condition) for each in subjects(atom)):
            *_, meant = resolve_group(subject, node["select_list"])
            others = [it for it in conditions if it is not condition]
            left = " that the other conditions take" * bool(others)
            found = [] if values(conditions, meant) else values(others, meant)
            if not found and not values([condition], meant):
                found, left = values([], meant), ""
            if found:
                where = f"in {number(len(found), 'group')}{left}"
                yield f"{query.text(subject)} {summary(found)} {where}"
