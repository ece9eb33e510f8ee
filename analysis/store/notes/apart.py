"""Unlike rows of one table that a mean takes together, and networks that are not independent.

What must be one value in a mean is declared (`collect.schema.APART`): steps of a training. Networks
of one recipe (`collect.schema.CLUSTERS`) make a deviation, an interval or a correlation too sure of
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.store.notes.query import (
    OF_PAIRS,
    Query,
    name_of,
)
from collect import schema

#: Functions that say how sure a mean is, or how closely two quantities go together.
_OF_SPREAD = OF_PAIRS | {"conf_low", "conf_high", "stddev", "stddev_samp", "var_samp", "variance"}


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for each table of which unlike or dependent rows are taken together."""
    for node, each in query.over_rows():
        for alias, table in query.tables(node).items():
            if table in schema.APART:
                by, note = schema.APART[table]
                if _most(query, node, [(f'count(DISTINCT "{alias}"."{by}")', each)])[0] > 1:
                    yield f"{table}: {note}"
            if table in schema.CLUSTERS and name_of(each) in _OF_SPREAD:
                yield from _of_clusters(query, node, each, alias, table)


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
            f"{table}: {n_designs} {design}s of one {cluster} are in a spread, which is mostly "
            f"theirs and not that of seeds; GROUP BY {design} too"
        )


def _most(query: Query, node: Any, asked: list[tuple[str, Any]]) -> tuple[int, ...]:
    """Return the largest of each count over the rows of an answer; 0 where there is none."""
    return max(query.counts(node, asked) or [], default=(0,) * len(asked))
