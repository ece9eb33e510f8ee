"""Columns that say how a response was defined: a response must not mix definitions."""

from __future__ import annotations

from collections.abc import Container

from analysis.mixed.reading.expression import quoted
from analysis.mixed.reading.source import Source

#: Names of columns that say how a response was defined.
DEFINITIONS = ("definition", "gain_definition", "metric")


def count_definitions(source: Source, modelled: Container[str]) -> dict[str, int]:
    """Return how many definitions every such column outside the model holds."""
    counts = {}
    for name in DEFINITIONS:
        if name in source.types and name not in modelled:
            sql = f"SELECT count(DISTINCT {quoted(name)}) AS n FROM observations"
            counts[name] = int(source.query(sql).column("n")[0].as_py())
    return counts
