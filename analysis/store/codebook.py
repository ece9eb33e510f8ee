"""What the store holds and what the result columns mean, as frames for the appendix."""

from __future__ import annotations

import pandas as pd

from analysis.store import Store
from analysis.tidy.glossary import GLOSSARY
from collect import schema


def relations(store: Store) -> pd.DataFrame:
    """Return one row per table and view: its kind, what a row is, and its number of rows.

    Views are not counted: counting a view computes it.
    """
    counts = store.counts().set_index("table")["n_rows"]
    tables = [
        {"relation": name, "kind": "table", "meaning": table.meaning, "n_rows": f"{counts[name]:,}"}
        for name, table in schema.tables().items()
    ]
    views = store.query(
        """
        SELECT view_name AS relation, 'view' AS kind, comment AS meaning, '–' AS n_rows
          FROM duckdb_views()
         WHERE NOT internal
         ORDER BY view_name
        """
    )
    further = store.facts("SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal")
    for name, meaning in further.itertuples(index=False):
        if name not in schema.tables():
            n_rows = int(store.facts(f'SELECT count(*) AS n FROM "{name}"')["n"].item())
            tables.append(
                {"relation": name, "kind": "table", "meaning": meaning, "n_rows": f"{n_rows:,}"}
            )
    derived = views[~views["relation"].isin(list(schema.tables()))]
    joined = pd.concat([pd.DataFrame(tables), derived], ignore_index=True)
    meaning = joined["meaning"].str.replace(r"^One row per ", "", regex=True)
    return joined.assign(meaning=meaning)


def glossary() -> pd.DataFrame:
    """Return one row per column that a result frame may have."""
    return pd.DataFrame({"column": list(GLOSSARY), "meaning": list(GLOSSARY.values())})
