"""Means over blocks or over models whose values differ by far, so that one block or model decides.

The mean is taken again by block within each model, and by model. A mean of shares has no such note:
a share near zero is far from any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.store.notes.query.conditions import conjuncts, constants
from analysis.store.notes.query.query import CENTRES, Query, arguments_of, column_groups, name_of
from analysis.store.notes.scale import units_of_columns
from analysis.store.statement import columns_of, named_within
from collect import schema

#: By how much means of a group must differ to be noted, by what tells them apart.
_FAR = {"layer": 5.0, "model_id": 3.0}

#: Columns that choose a block.
_DEPTHS = frozenset({"layer", "blocks_after"})


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for each mean in which values of one block or model lie far above others."""
    found = dict[tuple[str, str, str], tuple[float, float, str, bool]]()
    for node, each in query.over_rows():
        columns = " with ".join(sorted(columns_of(arguments_of(each))))
        is_cut = any(column_groups([it]) != {"model_id"} for it in query.groups(node))
        for alias, table in query.tables(node).items():
            if name_of(each) not in CENTRES or "layer" not in schema.KEYS.get(table, ()):
                continue
            of_own = [
                it for it in columns_of(arguments_of(each)) if (table, it) in units_of_columns()
            ]
            if len(of_own) == 1:
                continue  # values on a model's own scale have a note of it
            for by in _open(query, node):
                key = (table, columns, by)
                widest = max(_ranges(query, node, each, alias, by), default=None)
                if widest and widest[1] >= _FAR[by] * widest[2] and widest[1] > 1:
                    found.setdefault(key, (widest[2], widest[1], widest[3], is_cut))
                    break
    for (table, columns, by), (low, high, name, is_cut) in found.items():
        unit = schema.UNITS.get(f"{table}.layer", schema.UNITS["layer"])
        where = (
            f"over the {unit}s of {name}{', in one group,' * is_cut} it"
            if by == "layer"
            else "in one group it"
        )
        yield (
            f"{table}: a mean of {columns} hides that {where} goes from {low:.3g} to {high:.3g}"
            f"{'' if by == 'layer' else f', in {name}'}; GROUP BY {by} too"
        )


def _open(query: Query, node: Any) -> list[str]:
    """Return by what a SELECT does not take its rows apart: blocks, models."""
    here = named_within(node["from_table"])
    taken = {it for each in conjuncts(node.get("where_clause")) for it in constants(each, here)}
    groups = query.groups(node)
    taken |= column_groups(groups)
    is_by_depth = not _DEPTHS.isdisjoint(taken)
    return ["layer"] * (not is_by_depth) + ["model_id"] * ("model_id" not in taken)


def _ranges(
    query: Query, node: Any, function: Any, alias: str, by: str
) -> Iterator[tuple[float, float, float, str]]:
    """Yield how far apart the means of each group are: their ratio, the largest and the smallest.

    The name is that of the model whose blocks they are, or that has the largest.
    """
    groups = query.known_groups(node)
    of_model = f'"{alias}"."model_id"'
    places = [*groups, of_model, f'"{alias}"."layer"'] if by == "layer" else [*groups, of_model]
    values: dict[tuple[Any, ...], list[tuple[float, str]]] = {}
    wheres = [*conjuncts(node.get("where_clause"))]
    for *labels, value in query.values(function, node, places, wheres):
        if isinstance(value, float) and value > 0:
            name = labels[len(groups)]
            group = tuple(labels[:-1] if by == "layer" else labels[: len(groups)])
            values.setdefault(group, []).append((value, name))
    for some in values.values():
        (low, _), (high, name) = min(some), max(some)
        yield high / low, high, low, name
