"""The codebook says what the SQL files say, and its queries run."""

import re

import duckdb
import pytest

from collect.record.publication import codebook
from collect.schema import assemble, comment, connect, tables, unit_apart, views_sql


def test_the_committed_codebook_is_current():
    assert codebook.is_current(codebook.PATH), "write it with: thermoscope collect codebook"


def test_every_table_and_column_is_described_with_its_unit():
    text = codebook.codebook()
    for table in tables().values():
        assert f"\n### {table.name}\n\n{table.meaning}\n" in text
        for column in table.columns:
            assert column.unit, f"{table.name}.{column.name} has no unit"
            nullable = "yes" if column.nullable else "no"
            assert f"| `{column.name}` | {column.sql_type} | {nullable} | {column.unit} |" in text


def test_every_view_and_macro_is_described():
    connection = connect()
    connection.execute(views_sql())
    text = codebook.codebook()
    views = connection.sql("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal")
    for name, meaning in views.fetchall():
        assert meaning, f"view {name} has no comment"
        assert f"\n### {name}\n" in text
    macros = connection.sql("SELECT function_name FROM duckdb_functions() WHERE NOT internal")
    for (name,) in macros.fetchall():
        assert f"| `{name}(" in text


def test_no_column_of_a_view_lacks_its_meaning_or_its_unit():
    connection = connect(comments=False)
    connection.execute(views_sql())
    comment(connection)
    columns = connection.sql(
        """
        SELECT table_name || '.' || column_name, coalesce(comment, '')
          FROM duckdb_columns()
         WHERE table_name IN (SELECT view_name FROM duckdb_views() WHERE NOT internal)
        """
    ).fetchall()
    assert len(columns) > 500
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
