"""Parameters of a quantised file that holds an output matrix beside the embedding.

Whether the released model ties the two the file does not say. Then it has fewer parameters, by one
value for each row and column of the embedding.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.store.notes.query.query import Query
from analysis.store.statement import columns_of

#: Models of which the file may hold one matrix twice, and how many parameters that adds.
_TWICE = """
SELECT model_id, n_vocabulary * d_model
  FROM main.model
 WHERE quantisation IS NOT NULL AND NOT is_tied AND n_parameters IS NOT NULL
 ORDER BY model_id
"""

_TABLES = frozenset({"model", "model_gain"})


def notes(query: Query) -> Iterator[str]:
    """Yield the models whose number of parameters a query takes and that may have fewer."""
    for node in query.selects:
        if "n_parameters" not in columns_of([node["select_list"], node.get("modifiers")]):
            continue
        for alias, source in query.sources(node).items():
            if source.table not in _TABLES or not {"model_id", "n_parameters"} <= source.columns:
                continue
            rows = query.counts(query.ungrouped(node), [(f'list("{alias}"."model_id")', None)])
            met = {name for (names,) in rows or [] for name in names or []}
            twice = query.cursor.execute(_TWICE).fetchall()
            fewer = [f"{name} by {n / 1e6:.0f} million" for name, n in twice if name in met]
            if fewer:
                yield (
                    f"{source.table}.n_parameters counts the output matrix beside the embedding, "
                    "as the file has it; where the released model ties the two it has fewer: "
                    + ", ".join(fewer)
                )
