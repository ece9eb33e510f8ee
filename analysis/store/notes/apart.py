"""Unlike rows of one table that an aggregate takes together, and rows that are not independent.

What must be one value in a mean is declared (`collect.schema.APART`): steps of a training. Networks
of one recipe (`collect.schema.CLUSTERS`) and rows of one model that are each of some prompts in
each of some blocks (`collect.schema.KEYS`) make a deviation, an interval or a correlation too sure
of itself. Groups of networks of which a WHERE leaves out unequal shares differ in their design too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.store.notes.query.conditions import conjuncts
from analysis.store.notes.query.query import (
    CENTRES,
    INTERVALS,
    OF_PAIRS,
    SPREADS,
    Query,
    arguments_of,
    column_groups,
    name_of,
)
from analysis.store.statement import columns_of
from collect import schema

#: Functions that say how sure a mean is, or how closely two quantities go together.
_OF_SPREAD = OF_PAIRS | SPREADS | INTERVALS

#: Of these, those that say it of models.
_OF_TESTS = OF_PAIRS | INTERVALS

#: Models of a suite from which on a statistic within it is said.
_FEW = 3


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for each table of which unlike or dependent rows are taken together."""
    for node, each in query.over_rows():
        for alias, table in query.tables(node).items():
            if table in schema.APART:
                by, note = schema.APART[table]
                if _most(query, node, [(f'count(DISTINCT "{alias}"."{by}")', each)])[0] > 1:
                    yield f"{table}: {note}"
                elif table in schema.CLUSTERS and name_of(each) in CENTRES:
                    yield from _of_ways(query, node, each, alias, table)
            if table in schema.CLUSTERS and name_of(each) in CENTRES:
                yield from _of_unequal(query, node, each, alias, table)
            if table in schema.CLUSTERS and name_of(each) in _OF_SPREAD:
                yield from _of_clusters(query, node, each, alias, table)
            if table in schema.OF_SUITES and name_of(each) in _OF_TESTS:
                yield from _of_suites(query, node, each, alias, table)
        if name_of(each) in _OF_SPREAD:
            yield from _of_crossed(query, node, each)


def _of_clusters(query: Query, node: Any, function: Any, alias: str, table: str) -> Iterator[str]:
    """Yield that networks of one recipe are not independent, or a spread is of their design."""
    cluster, design = schema.CLUSTERS[table]
    units = cluster, design, schema.KEYS[table][0]
    asked = [(f'count(DISTINCT "{alias}"."{name}")', function) for name in units]
    n_clusters, n_designs, n = _most(query, node, asked)
    if n > n_clusters > 1:
        yield (
            f"{table}: {n} networks of {n_clusters} recipes are not independent; average by "
            f"{cluster} first, and compare what varies within a {cluster} within each"
        )
    elif n_designs > 1 and name_of(function) not in OF_PAIRS:
        yield (
            f"{table}: {n_designs} {design}s of one {cluster} are in a spread; GROUP BY {design} "
            f"too takes that of seeds alone, and for a standard error of a {cluster} average each "
            f"{design} first"
        )


def _of_unequal(query: Query, node: Any, function: Any, alias: str, table: str) -> Iterator[str]:
    """Yield on how many networks groups rest of which a query leaves out unequal shares.

    Networks that the table has in no group are those of another level, which WHERE may choose.
    """
    groups = query.groups(node)
    columns, (cluster, design) = column_groups(groups), schema.CLUSTERS[table]
    key = schema.KEYS[table][0]
    is_plain = len(columns) == len(groups) and columns <= query.sources(node)[alias].columns
    if not columns or not is_plain or {cluster, design} <= columns or key in columns:
        return
    names = [f'"{each["column_names"][-1]}"' for each in groups]
    asked = [(f'count(DISTINCT "{alias}".{{{key}}})', function)]
    rows = query.rows({**node, "modifiers": []}, asked, key, groups) or []
    sql = f"SELECT {', '.join(f'{name}::VARCHAR' for name in names)}, count(DISTINCT {key}) "
    whole = query.cursor.execute(f"{sql} FROM main.{table} GROUP BY {', '.join(names)}").fetchall()
    n_of = {tuple(labels): n for *labels, n in whole}
    taken = [(n, n_of.get(tuple(labels), n)) for n, *labels in rows if n]
    if len({n / n_all for n, n_all in taken}) > 1:
        sizes = [n for n, _ in taken]
        more = ", ".join(it for it in (cluster, design) if it not in columns)
        yield (
            f"{table}: the groups rest on {min(sizes)} to {max(sizes)} networks, the others being "
            f"left out, so they may differ in {more}; GROUP BY {more} too compares like with like"
        )


def _of_suites(query: Query, node: Any, function: Any, alias: str, table: str) -> Iterator[str]:
    """Yield that models of one suite are not independent, each without one being its own."""
    suite = f'coalesce("{alias}"."suite", "{alias}"."model_id")'
    own = (
        f'"{alias}".{schema.KIND}' if schema.KIND in query.sources(node)[alias].columns else "false"
    )
    units = f'"{alias}"."model_id"', suite
    asked = [(f"count(DISTINCT CASE WHEN NOT {own} THEN {it} END)", function) for it in units]
    rows = query.counts(node, asked) or []
    least = 1 if name_of(function) in OF_PAIRS else 0
    dependent = [(n, n_suites) for n, n_suites in rows if n > n_suites > least]
    if dependent:
        n, n_suites = max(dependent)
        of = "one suite" if n_suites == 1 else f"{n_suites} suites"
        where = " in a group" if len(rows) > 1 else ""
        inner = _within_suites(query, node, function, suite) if len(rows) == 1 else ""
        yield (
            f"{table}: {n} models of {of}{where} are not independent, so an interval or a "
            f"correlation over them is too sure{inner}"
        )


def _within_suites(query: Query, node: Any, function: Any, suite: str) -> str:
    """Return what a statistic of pairs is within each suite of enough models, in words."""
    if name_of(function) not in OF_PAIRS:
        return ""
    wheres = [*conjuncts(node.get("where_clause"))]
    of_pairs = {**function, "function_name": "regr_count"}
    if "qualified_name" in function:  # versions of the engine that name a function twice
        of_pairs["qualified_name"] = {"path": ["regr_count"]}
    sizes = dict(query.values(of_pairs, node, [suite], wheres))
    values = query.values(function, node, [suite], wheres)
    said = [f"{it:.2f} in {name}" for name, it in values if it is not None and sizes[name] >= _FEW]
    return f"; {name_of(function)} is {', '.join(said)}" if said else ""


def _of_ways(query: Query, node: Any, function: Any, alias: str, table: str) -> Iterator[str]:
    """Yield in how many recipes of a mean at one step a quantity falls with training, or rises.

    From the first step to the last that the SELECT takes; where it takes one, from the first of
    the table.
    """
    (by, _), (cluster, _) = schema.APART[table], schema.CLUSTERS[table]
    place, of = f'"{alias}"."{by}"', f'"{alias}"."{cluster}"'
    asked = [(f"count(DISTINCT {of})", function), (f"max({place})", function)]
    n_clusters, last = _most(query, node, asked)
    if n_clusters < 2:
        return
    wheres = [
        it
        for it in conjuncts(node.get("where_clause"))
        if not (it.get("type") == "COMPARE_EQUAL" and columns_of(it) == {by})
    ]
    values: dict[str, dict[int, float]] = {}
    rows = query.values({**function, "filter": None}, node, [of, place], wheres)
    for name, step, value in rows:
        if step <= last and value is not None:
            values.setdefault(name, {})[step] = value
    changes = [some[max(some)] - some[min(some)] for some in values.values()]
    n_falls, n_rises = sum(it < 0 for it in changes), sum(it > 0 for it in changes)
    if n_falls and n_rises:
        column = ", ".join(sorted(columns_of(arguments_of(function))))
        yield (
            f"{table}: {n_clusters} {cluster}s are averaged, and in {n_falls} of them {column} "
            f"falls while in {n_rises} it rises; GROUP BY {cluster} too"
        )


def _of_crossed(query: Query, node: Any, function: Any) -> Iterator[str]:
    """Yield of what rows of one model are several each, such as prompts in each of its blocks."""
    found: list[tuple[int, int, str, str, dict[str, int]]] = []
    for alias, table in query.tables(node).items():
        if table not in schema.SAMPLES:
            continue
        keys = [name for name in schema.KEYS[table] if name != "model_id"]
        names = ["model_id", *keys]
        units = [[it for it in (schema.WITHIN.get(name), name) if it] for name in names]
        places = [", ".join(f'"{alias}"."{it}"' for it in unit) for unit in units]
        asked = [f'any_value("{alias}".model_id)', "count(*)"]
        asked += [f"count(DISTINCT ({place}))" for place in places]
        rows = query.counts(node, [(sql, function) for sql in asked]) or []
        for model, n, n_models, *sizes in rows:
            several = {name: size for name, size in zip(keys, sizes, strict=True) if size > 1}
            outer = {schema.WITHIN[name] for name in several if name in schema.WITHIN}
            several = {name: size for name, size in several.items() if name not in outer}
            if n_models == 1 and len(several) > 1 and n > max(several.values()):
                found.append((len(several), n, model, table, several))
    if found:
        _, n, model, table, several = max(found, key=lambda it: it[:2])
        of_whom = f" of {model}" if len({it[2] for it in found}) > 1 else ""
        words = {name: schema.UNITS.get(f"{table}.{name}", schema.UNITS[name]) for name in several}
        whole = "layer" if "layer" in several else "prompt_id"
        one = " and ".join(word for name, word in words.items() if name != whole)
        counted = " of ".join(f"{size} {words[name]}s" for name, size in several.items())
        yield (
            f"{table}: {n} rows{of_whom} are {counted}, taken together; average by {whole}, or "
            f"take one {one}, first"
        )


def _most(query: Query, node: Any, asked: list[tuple[str, Any]]) -> tuple[int, ...]:
    """Return the largest of each count over the rows of an answer; 0 where there is none."""
    rows = query.counts(node, asked) or [(0,) * len(asked)]
    return tuple(max(each or 0 for each in some) for some in zip(*rows, strict=True))
