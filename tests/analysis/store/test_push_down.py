"""A constant model_id reaches the scan of every large table, through every view."""

import json

import pytest

from collect import schema

PLACES = """
SELECT table_name
  FROM duckdb_columns()
 WHERE schema_name = 'main' AND NOT internal AND column_name = 'model_id'
 ORDER BY table_name
"""


def scans(plan):
    """Yield the description of every scan of Parquet files in a plan."""
    if "PARQUET" in plan["name"]:
        yield plan["extra_info"]
    for child in plan["children"]:
        yield from scans(child)


@pytest.fixture(scope="module")
def filtered(shipped_store):
    """The scans of each table and view with a model_id, when one model is asked for."""
    result = {}
    for (name,) in shipped_store.connection.sql(PLACES).fetchall():
        asked = f"EXPLAIN (FORMAT json) SELECT * FROM {name} WHERE model_id = 'a/b'"
        (plan,) = json.loads(shipped_store.query(asked)["explain_value"].item())
        result[name] = list(scans(plan))
    return result


def test_a_constant_model_id_reaches_every_scan(filtered):
    assert sum(len(scanned) > 0 for scanned in filtered.values()) > 25
    assert len(filtered["model_gain"]) > 5
    assert all(len(filtered[name]) == 1 for name in ("attention", "residual_norm"))
    assert {"attention", "residual_norm"} < set(schema.LARGE)
    unfiltered = {
        name: scan
        for name, scanned in filtered.items()
        for scan in scanned
        if "model_id = 'a/b'" not in str(scan.get("Filters"))
    }
    assert unfiltered == {}
