"""Rows without a value that a SELECT takes and that do not count: in an aggregate, a rank, a WHERE.

One rule for every table of main. What a query asks IS NULL or IS NOT NULL of, replaces by coalesce,
or counts as ``count(column)`` is known to it. A group without any value says so itself, where it is
printed. Columns that are NULL by what a row is are declared (`collect.schema.NO_VALUE`), and so are
columns that hold the same quantity of other rows (`collect.schema.SIBLINGS`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.store.notes.query.conditions import conjuncts
from analysis.store.notes.query.query import OF_PAIRS, Query, arguments_of, called, name_of
from analysis.store.notes.query.reading import resolve_group
from analysis.store.statement import columns_of, every, within
from collect import schema

#: Aggregates of pairs, which say it of themselves, and those that keep or name rows, not values.
_OTHERS = OF_PAIRS | {
    "any_value", "arg_max_null", "arg_min_null", "array_agg", "first", "group_concat", "histogram",
    "last", "list", "mode", "string_agg",
}  # fmt: skip

#: Windows that number rows by a value.
_RANKS = frozenset({"cume_dist", "dense_rank", "ntile", "percent_rank", "rank", "row_number"})

#: Functions whose result is there where one of several values is.
_FILLING = frozenset({"concat", "concat_ws", "greatest", "least"})

_UNEQUAL = frozenset({"COMPARE_NOTEQUAL", "COMPARE_NOT_IN"})


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of a column by which rows without its value do not count.

    Attributes
    ----------
    path
        Parts of the column's name.
    end
        What becomes of these rows.
    node
        The SELECT whose rows are asked.
    rows_of
        An aggregate with the FILTER by which it takes rows, if any.
    takes_texts
        Whether a text can be used so.
    is_told
        Whether a group without any value is printed as such.
    """

    path: Sequence[str]
    end: str = "which do not count"
    node: Any = None
    rows_of: Any = None
    takes_texts: bool = False
    is_told: bool = False


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for the columns without a value in some of the rows that a SELECT takes."""
    said, known = set[tuple[str, str]](), _known(query.tree)
    found: dict[tuple[str, str], list[str]] = {}
    for node in query.selects:
        sources = query.sources(node)
        for use in _uses(query, node):
            column, alias = _last(use.path), query.owner(node, use.path)
            source = sources.get(alias)
            if source is None or source.table not in schema.KEYS or column in known:
                continue
            if column not in source.columns or (source.table, column) in said:
                continue
            if column in schema.KEYS[source.table]:
                continue  # it names the row
            if end := _lacking(query, use, alias, source.table, column):
                said.add((source.table, column))
                found.setdefault((source.table, end), []).append(column)
    for (table, end), columns in found.items():
        yield f"{table}.{', '.join(columns)} {'is' if len(columns) == 1 else 'are'} NULL {end}"
    yield from dict.fromkeys(_siblings(query))


def _known(tree: Any) -> set[str]:
    """Return the columns that a query knows to lack values: it asks for them, or counts them."""
    asked = [it for it in every(tree) if _is_of_null(it)]
    counts = [it for it in every(tree) if str(it.get("function_name")).lower() == "count"]
    told = [arguments_of(it) for it in counts if not (it.get("filter") or it.get("filter_expr"))]
    told = [] if any(map(_is_distinct, counts)) else told
    return columns_of(asked) | {_last(path) for path in _taken(told)}


def _is_distinct(function: Any) -> bool:
    """Return whether a function counts values, such as labs, apart from the rows."""
    return name_of(function) == "count" and bool(function.get("distinct"))


def _is_of_null(node: Any) -> bool:
    return str(node.get("type")).startswith(("OPERATOR_IS_", "OPERATOR_COALESCE"))


def _uses(query: Query, node: Any) -> Iterator[_Use]:
    """Yield the uses of columns by a SELECT by which rows without a value do not count."""
    orders = [it for each in node.get("modifiers") or [] for it in each.get("orders") or []]
    functions = [*called(node), *called({"select_list": orders})]
    functions = [each for each in functions if name_of(each) in query.aggregates]
    is_cut = any("LIMIT" in each["type"] for each in node.get("modifiers") or [])
    is_top = node is query.tree["statements"][0]["node"]
    is_told = is_top and not (is_cut or node.get("having") or node.get("qualify"))
    groups = {**node, "modifiers": [], "having": None, "qualify": None}
    every_row = query.ungrouped(node)
    groups = every_row if len(node.get("group_sets") or []) > 1 else groups
    is_counted = any(name_of(it) == "count_star" for it in functions)
    left_out = f"which do not count{', while count(*) counts them' * is_counted}"
    for each in functions:
        compared = [*_compared(each.get("filter")), *_compared(arguments_of(each))]
        for path, takes_texts in compared:
            says = f"count({path[-1]}) says how many have it"
            end = f"which meet no comparison: they count as neither; {says}"
            yield _Use(path, end, every_row, takes_texts=takes_texts)
        is_beside = name_of(each) == "count" and any(map(_is_distinct, functions))
        if is_beside or not ("count" in name_of(each) or name_of(each) in _OTHERS):
            for path in _taken(arguments_of(each)):
                yield _Use(path, left_out, groups, each, is_told=is_told)
    yield from _of_where(query, every_row)
    if not functions and not node.get("group_expressions"):
        yield from _of_ranks(node, every_row, orders if is_cut else [])


def _of_where(query: Query, rows: Any) -> Iterator[_Use]:
    """Yield the columns that a WHERE compares, among the rows that its other conditions take."""
    conditions = [*conjuncts(rows.get("where_clause"))]
    compared = [[*_compared(each)] for each in conditions]
    names = [{_last(path) for path, _ in some} for some in compared]
    for path, takes_texts in (it for some in compared for it in some):
        others = [it for it, some in zip(conditions, names, strict=True) if _last(path) not in some]
        yield _Use(path, node=query.where(rows, others), takes_texts=takes_texts)


def _of_ranks(node: Any, rows: Any, orders: Sequence[Any]) -> Iterator[_Use]:
    """Yield the columns by which a SELECT takes the first of its rows, or numbers them."""
    windows = [it for it in within([node["select_list"], node.get("qualify")]) if _numbers(it)]
    for order in [*orders, *(it for each in windows for it in each["orders"])]:
        for path in _taken(resolve_group(order["expression"], node["select_list"])):
            yield _Use(path, "which rank last", rows)


def _numbers(node: Any) -> bool:
    return node.get("class") == "WINDOW" and str(node["function_name"]).lower() in _RANKS


def _taken(tree: Any) -> Iterator[Sequence[str]]:
    """Yield the columns of an expression that has no value where one of them has none."""
    if isinstance(tree, list):
        for each in tree:
            yield from _taken(each)
    elif isinstance(tree, dict):
        is_filling = str(tree.get("function_name")).lower() in _FILLING
        if tree.get("class") == "COLUMN_REF":
            yield tree["column_names"]
        elif not (is_filling or _is_of_null(tree) or tree.get("class") in ("CASE", "SUBQUERY")):
            for part in tree.values():
                yield from _taken(part)


def _compared(condition: Any, *, is_not: bool = False) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield the columns that a condition compares, and whether texts without a value meet none.

    A text that is not there is none of those that are asked for; of those asked not to be one,
    it is left out. Of an OR only what each side compares counts: another side can be met.
    """
    if isinstance(condition, list):
        for each in condition:
            yield from _compared(each)
    if not isinstance(condition, dict):
        return
    kind = str(condition.get("type"))
    if kind == "CONJUNCTION_OR":
        sides = [[*_compared(side)] for side in condition["children"]]
        common = set.intersection(*({_last(path) for path, _ in some} for some in sides))
        yield from (it for some in sides for it in some if _last(it[0]) in common)
    elif kind.startswith("COMPARE_"):
        parts = [condition.get(it) for it in ("left", "right", "input", "lower", "upper")]
        parts += condition.get("children") or []
        is_with_constant = any(it.get("class") == "CONSTANT" for it in parts if it)
        is_equality = kind in ("COMPARE_EQUAL", "COMPARE_NOTEQUAL")
        if "DISTINCT" not in kind and (is_with_constant or not is_equality):
            yield from ((path, is_not or kind in _UNEQUAL) for path in _taken(parts))
    else:
        for name, part in condition.items():
            if name == "children" and kind == "OPERATOR_NOT":
                yield from (it for each in part for it in _compared(each, is_not=True))
            elif name not in ("subquery", "cte_map"):
                yield from _compared(part)


def _last(path: Sequence[str]) -> str:
    return str(path[-1]).lower()


def _lacking(query: Query, use: _Use, alias: str, table: str, column: str) -> str:
    """Return in how many rows a column is NULL and what becomes of them; "" where in none."""
    rows_of = {**use.rows_of, "arguments": [], "children": []} if use.rows_of else None
    of, place = f'"{alias}"', f'"{alias}"."{column}"'
    condition, words = schema.NO_VALUE.get(table, ("false", ""))
    asked = [
        "count(*)",
        f"count({place})",
        f"count(CASE WHEN {place} IS NULL AND {condition.format(of)} THEN 1 END)",
        f"any_value(typeof({place}))",
    ]
    rows = query.counts(use.node, [(sql, rows_of) for sql in asked]) or []
    if not use.takes_texts and any(kind == "VARCHAR" for *_, kind in rows):
        return ""
    if use.is_told and not any(0 < there < n for n, there, *_ in rows):
        return ""
    n, there, declared = (sum(row[it] for row in rows) for it in range(3))
    if there == n:
        return ""
    return words if declared == n - there else f"in {n - there} of the {n} rows, {use.end}"


def _siblings(query: Query) -> Iterator[str]:
    """Yield how many models without a value have it in a column that nothing asks for."""
    for node in query.selects:
        asked = columns_of([node["select_list"], node.get("where_clause"), node.get("modifiers")])
        for alias, source in query.sources(node).items():
            pairs = schema.SIBLINGS.get(source.table, {})
            gains = schema.GAINS.get(source.table, ())
            for column in sorted(asked & source.columns & {*pairs, *gains}):
                kinds = {"over other prompts": [pairs.get(column)]}
                if column in gains and _is_void(query, node, f'"{alias}"."{column}"'):
                    kinds["another gain"] = [*gains]
                said = []
                for kind, names in kinds.items():
                    others = [it for it in names if it in source.columns - query.columns]
                    found = [(_only(query, node, alias, column, it), it) for it in others]
                    n, other = max(found, default=(0, ""), key=lambda it: it[0])
                    models = "1 model without it has" if n == 1 else f"{n} models without it have"
                    said += [f"{models} {other}, {kind}"] if n else []
                if said:
                    yield f"{source.table}.{column}: {'; '.join(said)}"


def _is_void(query: Query, node: Any, place: str) -> bool:
    """Return whether some group of a SELECT, or all its rows, has no value of a column."""
    asked = [("count(*)", None), (f"count({place})", None)]
    groups = {**node, "modifiers": [], "having": None, "qualify": None}
    rows = query.counts(groups, asked) or query.counts(query.ungrouped(node), asked)
    return any(n > there == 0 for n, there in rows or [])


def _only(query: Query, node: Any, alias: str, column: str, name: str) -> int:
    """Return how many rows have a value in another column alone, whatever WHERE asks of one."""
    place, other = (f'"{alias}"."{it}"' for it in (column, name))
    rest = [it for it in conjuncts(node.get("where_clause")) if column not in columns_of(it)]
    rows = query.ungrouped(query.where(node, rest))
    sql = f"count(CASE WHEN {place} IS NULL AND {other} IS NOT NULL THEN 1 END)"
    return max((n for (n,) in query.counts(rows, [(sql, None)]) or []), default=0)
