"""The codebook says what the SQL files say, and its queries run."""

import re

import duckdb
import pytest

from collect.record.publication import codebook
from collect.schema import assemble, comment, connect, unit_apart, views_sql


def test_the_committed_codebook_is_current():
    assert codebook.is_current(codebook.PATH), "write it with: thermoscope collect codebook"


def test_no_view_or_column_lacks_its_meaning_and_no_column_its_unit():
    connection = connect(comments=False)
    connection.execute(views_sql())
    comment(connection)
    views = connection.sql("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal")
    assert [name for name, meaning in views.fetchall() if not meaning] == []
    columns = connection.sql(
        "SELECT table_name || '.' || column_name, coalesce(comment, '') FROM duckdb_columns()"
        " WHERE NOT internal"
    ).fetchall()
    assert len(columns) > 700
    assert [name for name, text in columns if not all(unit_apart(text))] == []


@pytest.fixture
def measurements(gpt2_output):
    connection = connect()
    assemble(connection, [gpt2_output], copy=True)
    connection.execute(views_sql())
    return connection


def test_every_worked_query_runs_and_finds_something(measurements):
    queries = re.findall(r"```sql\n(.*?)```", codebook.codebook(), flags=re.DOTALL)
    assert len(queries) == 5
    for query in queries:
        try:
            result = measurements.sql(query).fetchall()
        except duckdb.Error as error:
            pytest.fail(f"{error}\n{query}")
        assert result, query
