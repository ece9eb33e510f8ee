"""Networks of the controlled study that an aggregate takes together.

Networks of one recipe are not independent, so a deviation, an interval or a correlation over all of
them is too sure of itself. A mean over the steps of a training mixes its beginning with its end.
Which columns these are is declared (`collect.schema.DESIGNS`).
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.store.notes.query import OF_PAIRS, Query, base_tables, name_of
from collect import schema

#: Functions that say how sure a mean is, or how closely two quantities go together.
_OF_SPREAD = OF_PAIRS | {"conf_low", "conf_high", "stddev", "stddev_samp", "var_samp", "variance"}


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for each table of which dependent rows, or several steps, are mixed."""
    for node, each in query.over_rows():
        for alias, table in base_tables(node).items():
            design = schema.DESIGNS.get(table)
            if design is None:
                continue
            cluster = f'"{alias}"."{design.cluster}"'
            network = f'"{alias}"."{schema.KEYS[table][0]}"'
            asked = [(f"count(DISTINCT {cluster})", each), (f"count(DISTINCT {network})", each)]
            if design.moments:
                asked.append((f'count(DISTINCT "{alias}"."{design.moments}")', each))
            rows = query.counts(node, asked) or []
            if any(row[2:] > (1,) for row in rows):
                yield (
                    f"{table}: several steps of a training are taken together; GROUP BY "
                    f"{design.moments}, or table network for its end"
                )
            n_clusters, n = max(((row[0], row[1]) for row in rows), default=(0, 0))
            if name_of(each) in _OF_SPREAD and n > n_clusters > 1:
                yield (
                    f"{table}: {n} networks of {n_clusters} recipes are not independent; average "
                    f"by {design.cluster} first"
                )
