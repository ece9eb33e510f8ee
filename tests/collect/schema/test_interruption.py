"""A request to end that comes while DuckDB calls back into Python ends what it was called for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from collect.record import writer
from collect.schema import arrow_schema, assembly, connect, is_interruption
from collect.schema.headers import Headers

SAMPLE = Path(__file__).resolve().parents[3] / "data" / "sample"
TABLE = "next_token"


def interrupted(*_: object, **__: object) -> pa.RecordBatchReader:
    """Return rows of the table of which the first is asked for when the keyboard interrupts."""

    def batches() -> Iterator[pa.RecordBatch]:
        raise KeyboardInterrupt
        yield

    return pa.RecordBatchReader.from_batches(arrow_schema(TABLE), batches())


def test_a_request_to_end_is_told_from_an_error_that_names_it():
    connection = duckdb.connect()
    connection.register("rows", interrupted())
    with pytest.raises(duckdb.Error) as wrapped:
        connection.execute("FROM rows").fetchall()
    assert is_interruption(wrapped.value)
    with pytest.raises(duckdb.Error) as named:
        connection.execute("FROM rows WHERE 'Traceback' = \nKeyboardInterrupt\n")
    assert "KeyboardInterrupt" in str(named.value)
    assert not is_interruption(named.value)


def test_rows_are_not_refused_for_an_interruption_while_they_are_written(monkeypatch):
    monkeypatch.setattr(
        writer, "pa", SimpleNamespace(Table=SimpleNamespace(from_pandas=interrupted))
    )
    with pytest.raises(KeyboardInterrupt):
        writer.conforming(TABLE, pd.DataFrame(columns=arrow_schema(TABLE).names))


def test_files_are_not_refused_for_an_interruption_while_they_are_put_together(monkeypatch):
    paths = sorted((SAMPLE / TABLE).glob("*.parquet"))[:1]
    monkeypatch.setattr(assembly, "_distinct_in_order", interrupted)
    with connect() as connection, pytest.raises(KeyboardInterrupt):
        assembly._insert(connection, TABLE, paths, Headers())


def test_keys_are_not_refused_for_an_interruption_while_they_are_read():
    with connect() as connection:
        connection.execute(f"DROP TABLE {TABLE}")
        connection.register(TABLE, interrupted())
        with pytest.raises(KeyboardInterrupt):
            assembly.check_keys(connection, TABLE, [])
