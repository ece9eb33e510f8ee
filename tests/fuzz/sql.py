"""SQL: hostile statements of every kind, and statements spoilt as text."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path

import numpy as np

from analysis.store import Store, open_store
from tests.fuzz import mutation
from tests.fuzz.trial import Case
from tests.proofs.statements import statement

PAPER = Path(__file__).parents[1] / "analysis" / "second_paper"
TABLES = ("model", "claim", "published_figure", "gain", "residual_norm", "prompt")
READS = (
    "SELECT model_id, mean FROM published_figure WHERE mean > 2.2 ORDER BY mean",
    "FROM raw.model SELECT count(*), avg(n_layers) GROUP BY lab HAVING count(*) > 1",
    "WITH a AS (SELECT 1 AS i UNION ALL SELECT 2) SELECT sum(i) OVER () FROM a",
    "SELECT * FROM raw.model JOIN published_figure USING (model_id) LIMIT 3",
    "SELECT CAST('x' AS INTEGER), 1/0, 9223372036854775807 + 1, list_value(1, 'a')",
    "DESCRIBE model",
    "SHOW TABLES",
    "SUMMARIZE model",
    "PIVOT model ON lab USING count(*)",
)


@cache
def _store() -> Store:
    atexit.register(_store.cache_clear)  # the engine complains of what is open at the end
    return open_store(PAPER)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a statement to be run in a store, with a file beside it that must stay."""
    kept = folder / "kept.csv"
    kept.write_text("a\n1\n")
    files = [str(kept), str(folder / "new.csv"), "kept.csv", "/dev/null"]
    if rng.random() < 0.5:
        sql = statement(rng, files, TABLES)
    else:
        sql = str(READS[int(rng.integers(len(READS)))])
    if rng.random() < 0.6:
        sql = mutation.text(rng, sql, most=2)
    store = _store()

    def act() -> None:
        store.query(sql)

    return Case(repr(sql), act)
