"""The codebook says what the SQL files say, and its queries run."""

import re

import duckdb
import pytest

from collect.record.publication import codebook
from collect.record.publication.database import write_database
from collect.schema import unit_apart


def test_the_committed_codebook_is_current():
    assert codebook.is_current(codebook.PATH), "write it with: thermoscope collect codebook"


def test_no_view_or_column_lacks_its_meaning_and_no_column_its_unit():
    connection = codebook._commented()
    views = connection.sql("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal")
    assert [name for name, meaning in views.fetchall() if not meaning] == []
    columns = connection.sql(
        "SELECT schema_name || '.' || table_name || '.' || column_name, coalesce(comment, '')"
        " FROM duckdb_columns()"
        " WHERE NOT internal"
    ).fetchall()
    assert len(columns) > 700
    assert [name for name, text in columns if not all(unit_apart(text))] == []


def test_every_worked_query_runs_on_the_file_and_finds_something(gpt2_output, tmp_path):
    write_database([gpt2_output], tmp_path / "all.duckdb")
    measurements = duckdb.connect(tmp_path / "all.duckdb", read_only=True)
    queries = re.findall(r"```sql\n(.*?)```", codebook.codebook(), flags=re.DOTALL)
    assert len(queries) == 5
    for query in queries:
        try:
            result = measurements.sql(query).fetchall()
        except duckdb.Error as error:
            pytest.fail(f"{error}\n{query}")
        assert result or "A_grand_unified" in query, query
