"""What the store holds and what the result columns mean, as frames for the appendix."""

from __future__ import annotations

import pandas as pd

from analysis.store import Store
from analysis.store.hint import front
from analysis.tidy.glossary import GLOSSARY
from collect import schema


def relations(store: Store) -> pd.DataFrame:
    """Return one row per table and view: its kind, what a row is, and its number of rows.

    The kind of those of schema main is front; of those of schema raw it is table or view, and their
    names are written with it. Views of raw are not counted: counting a view computes it.
    """
    counts = store.counts().set_index("table")["n_rows"]
    tables = [
        {
            "relation": f"{schema.RAW}.{name}",
            "kind": "table",
            "meaning": table.meaning,
            "n_rows": f"{counts[name]:,}",
        }
        for name, table in schema.tables().items()
    ]
    views = store.query(
        """
        SELECT 'raw.' || view_name AS relation, 'view' AS kind, comment AS meaning, '–' AS n_rows
          FROM duckdb_views()
         WHERE NOT internal AND schema_name = 'raw'
         ORDER BY view_name
        """
    )
    derived = views[~views["relation"].isin([row["relation"] for row in tables])]
    joined = pd.concat([_front(store), pd.DataFrame(tables), derived], ignore_index=True)
    meaning = joined["meaning"].str.replace(r"^One row per ", "", regex=True)
    return joined.assign(meaning=meaning)


def _front(store: Store) -> pd.DataFrame:
    """Return the rows of `relations` that are of schema main, in the order of its SQL."""
    meanings = store.facts(
        """
        SELECT view_name AS name, comment FROM duckdb_views()
         WHERE NOT internal AND schema_name = 'main'
         UNION ALL
        SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'
        """
    ).set_index("name")["comment"]
    names = [*front(), *(name for name in meanings.index if name not in front())]
    sizes = [int(store.facts(f'SELECT count(*) AS n FROM "{name}"')["n"].item()) for name in names]
    return pd.DataFrame(
        {
            "relation": names,
            "kind": "front",
            "meaning": [meanings[name] for name in names],
            "n_rows": [f"{size:,}" for size in sizes],
        }
    )


def glossary() -> pd.DataFrame:
    """Return one row per column that a result frame may have."""
    return pd.DataFrame({"column": list(GLOSSARY), "meaning": list(GLOSSARY.values())})
