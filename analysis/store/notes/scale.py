"""Values on a scale of one model's own that an aggregate takes together over models or depths.

The unit in a column's comment says whose scale it is. Lengths of a residual stream are in
activation units: another model has another scale, and the stream grows by orders over depth, so the
longest decide a mean. Norms of weights are in weight units of their model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from analysis.store.notes.query.query import (
    OF_PAIRS,
    SPREADS,
    Query,
    arguments_of,
    called,
    column_groups,
    name_of,
    taken,
)
from analysis.store.statement import columns_of, within
from collect import schema

#: Columns of which one value each is on one scale, by unit.
_ONE_SCALE = {"activation units": ("model_id", "layer"), "weight units": ("model_id",)}

#: What is taken together, by the column that would keep it apart.
_WHAT = {"model_id": "models", "layer": "depths"}


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for the columns of a table whose values on several scales are mixed."""
    found: dict[tuple[str, tuple[str, ...], bool], dict[str, None]] = {}
    for node, each in query.over_rows():
        if name_of(each) == "spearman":
            continue
        sources = query.sources(node)
        columns = {column for source in sources.values() for column in source.columns}
        of_here = {
            column: (alias, source, unit)
            for alias, source in sources.items()
            for (of, column), unit in units_of_columns().items()
            if of == source.table and column in source.columns
        }
        for column in taken(each, of_here, columns):
            alias, source, unit = of_here[column]
            apart = {*_ONE_SCALE[unit], "blocks_after"} & source.columns
            if source.table.startswith(f"{schema.RAW}."):
                apart &= {"model_id"}  # a table of raw has a note of its grain beside
            mixed = _mixed(query, node, each, {it: f'"{alias}"."{it}"' for it in apart})
            if mixed:
                key = (source.table, tuple(mixed), name_of(each) in OF_PAIRS)
                found.setdefault(key, {})[column] = None
    for (table, kinds, are_pairs), mixed_columns in found.items():
        yield _sentence(table, [*mixed_columns], kinds, are_pairs=are_pairs)
    yield from dict.fromkeys(_roots(query))
    yield from dict.fromkeys(_side_by_side(query))
    yield from dict.fromkeys(_near_one(query))


def _roots(query: Query) -> Iterator[str]:
    """Yield a sentence where spreads of a mean over blocks are compared between models."""
    for node, each in query.over_rows():
        tables = {*query.tables(node).values()}
        columns = {column for it in arguments_of(each) for column in columns_of(it)}
        if "prompt_gain" in tables and columns == {"gain_body"} and name_of(each) in SPREADS:
            models = query.rows(
                {**node, "modifiers": []}, [("any_value({model_id})", each)], "model_id", []
            )
            if len({*(models or ())}) > 1:
                yield (
                    "prompt_gain.gain_body: a mean over blocks, so its spread over prompts shrinks "
                    "with depth; compare models by the spread of ln(growth_after_block_0)"
                )


#: Functions whose result is on the scale of the values.
_OF_SIZE = frozenset({"avg", "mean", "max", "min", "sum", "median"})


def _side_by_side(query: Query) -> Iterator[str]:
    """Yield a sentence for lengths or norms of several models that stand side by side."""
    found: dict[str, dict[str, None]] = {}
    for node in query.selects:
        grouped = column_groups(query.groups(node))
        if "model_id" not in grouped:
            continue
        units = {*_ONE_SCALE} if is_ranked(node) else {"weight units"}
        ratios = [it for it in called(node) if name_of(it) == "/"]
        relative = [id(it) for each in ratios for it in within(arguments_of(each))]
        for each in called(node):
            if name_of(each) not in _OF_SIZE or id(each) in relative:
                continue
            for alias, source in query.sources(node).items():
                here = {name for (of, name), unit in units_of_columns().items()
                        if of == source.table and unit in units}  # fmt: skip
                for column in taken(each, here & source.columns, source.columns):
                    asked = [(f'any_value("{alias}"."model_id")', each)]
                    if len({*(query.counts(node, asked) or ())}) > 1:
                        found.setdefault(source.table, {})[column] = None
    for table, columns in found.items():
        is_of_stream = "activation" in units_of_columns()[table, next(iter(columns))]
        yield (
            f"{table}.{', '.join(columns)}: the scale differs between models, so sizes do not "
            f"rank models{'; compare one over the depth of a model' * is_of_stream}"
        )


def _near_one(query: Query) -> Iterator[str]:
    """Yield the models of which rounding can make the side of 1 that a query asks for."""
    for node in query.selects:
        signed = _signed(node)
        for alias, source in query.sources(node).items() if signed else ():
            if source.table not in _OF_GAINS:
                continue
            for column in sorted(signed & source.columns):
                near = f'abs(ln("{alias}"."{column}")) <= rounding_band()'
                name = f'CASE WHEN {near} THEN "{alias}"."model_id" END'
                rows = query.counts({**node, "having": None}, [(f"list(DISTINCT {name})", None)])
                models = sorted({it for (some,) in rows or [] for it in some or [] if it})
                if models:
                    yield (
                        f"{source.table}.{column} of {', '.join(models)} lies within "
                        "rounding_band() of 1: rounding in half precision can make its side"
                    )


#: Tables with a row and several gains a model.
_OF_GAINS = frozenset({"published_model", "model_gain"})


def _signed(node: Any) -> set[str]:
    """Return the columns that a SELECT compares with 1, or asks the direction of."""
    parts = [*within([node["select_list"], node.get("having"), node.get("where_clause")])]
    sides = [
        side
        for each in parts
        if {"left", "right"} <= each.keys()
        for side, other in ((each["left"], each["right"]), (each["right"], each["left"]))
        if other.get("literal", {}).get("text") in {"1", "1.0"}
    ]
    asked = [it for it in parts if it.get("class") == "FUNCTION" and name_of(it) == "direction"]
    return {name for each in [*sides, *asked] for name in columns_of(each) if "gain" in name}


def is_ranked(node: Any) -> bool:
    """Return whether a SELECT orders its rows by something else than the model."""
    orders = [
        it["expression"] for each in node.get("modifiers") or [] for it in each.get("orders", [])
    ]
    return any(str(it.get("column_names", [""])[-1]).lower() != "model_id" for it in orders)


@cache
def units_of_columns() -> dict[tuple[str, str], str]:
    """Return the columns on a model's own scale, by table, with their unit."""
    comments = dict(schema.commented(schema.front_sql())[1])
    for sql in (schema.schema_sql(), schema.views_sql()):
        of_raw = schema.commented(sql)[1].items()
        comments |= {f"{schema.RAW}.{name}": text for name, text in of_raw}
    units = {name: schema.unit_apart(text)[1] for name, text in comments.items()}
    return {
        (table.removeprefix(f"{schema.FRONT}."), column): unit
        for name, unit in units.items()
        for table, _, column in [name.rpartition(".")]
        if unit in _ONE_SCALE
    }


def _mixed(query: Query, node: Any, function: Any, asked: Mapping[str, str]) -> list[str]:
    """Return the columns of which some row of an answer takes several values."""
    counts = [(f"count(DISTINCT {place})", function) for place in asked.values()]
    rows = query.counts(node, counts) or []
    largest = dict(zip(asked, map(max, zip(*rows, strict=True)), strict=False))
    if largest.get("blocks_after") == 1:  # the same depth, counted from the end
        del largest["layer"]
    return [name for name in _WHAT if largest.get(name, 0) > 1]


def _sentence(table: str, columns: Sequence[str], mixed: Sequence[str], *, are_pairs: bool) -> str:
    what = " and ".join(_WHAT[each] for each in mixed)
    cure = f"take each {' and '.join(mixed)} apart, or average ln({columns[0]})"
    if are_pairs:
        cure = f"take ln({columns[0]}), or ranks by spearman"
    return (
        f"{table}.{', '.join(columns)}: values at several {what} are taken together, whose scales "
        f"differ, so the largest decide; {cure}"
    )
