"""Tables, columns, units, keys and checks, as ``schema.sql`` states them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import duckdb
import pyarrow as pa

SCHEMA_VERSION = 2

#: Tables that one unit of measurement fills, one file per unit; ``run`` commits them.
MEASURED = (
    "model",
    "residual_norm",
    "residual_update",
    "attention",
    "attention_mean",
    "token_geometry",
    "prompt_geometry",
    "weight_norm",
    "matrix_norm",
    "next_token",
    "token_prediction",
    "legacy_value",
    "conformance",
    "not_measured",
)

#: Tables large enough to be left in their Parquet files; the others fit in memory.
_SMALL = ("model", "conformance", "not_measured")
LARGE = (*(table for table in MEASURED if table not in _SMALL), "published_value")


class ContractError(ValueError):
    """A file or row breaks the contract.

    Parameters
    ----------
    problem
        What must hold, and what was found, in one sentence.
    hint
        What to do about it, in one sentence.
    """

    def __init__(self, problem: str, hint: str = "") -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}\nhint: {hint}" if hint else problem)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its SQL type, whether it may be NULL, its meaning and unit."""

    name: str
    sql_type: str
    nullable: bool
    meaning: str
    unit: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, its columns in order, its key and its checks."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    checks: tuple[str, ...]


def schema_sql() -> str:
    """Return the text of ``schema.sql``."""
    return files("collect").joinpath("schema.sql").read_text(encoding="utf-8")


def connect() -> duckdb.DuckDBPyConnection:
    """Return a fresh in-memory database with every table of the contract, empty."""
    connection = duckdb.connect()
    connection.execute(schema_sql())
    return connection


@cache
def table_sql(table: str) -> str:
    """Return the statement that creates one table."""
    wanted = f"CREATE TABLE {table} "
    statements = (statement.query.strip() for statement in duckdb.extract_statements(schema_sql()))
    return next(text[text.index(wanted) :] for text in statements if wanted in text)


@cache
def tables() -> dict[str, Table]:
    """Return every table of the contract by name, in the order of ``schema.sql``."""
    connection = connect()
    meanings = connection.sql(
        "SELECT table_name, comment FROM duckdb_tables() ORDER BY table_oid"
    ).fetchall()
    return {name: _table(connection, name, meaning) for name, meaning in meanings}


def _table(connection: duckdb.DuckDBPyConnection, name: str, meaning: str) -> Table:
    columns = connection.sql(
        """
        SELECT column_name, data_type, is_nullable, comment
          FROM duckdb_columns()
         WHERE table_name = $name
         ORDER BY column_index
        """,
        params={"name": name},
    ).fetchall()
    constraints = connection.sql(
        """
        SELECT constraint_type, constraint_text, constraint_column_names
          FROM duckdb_constraints()
         WHERE table_name = $name
           AND constraint_type IN ('PRIMARY KEY', 'CHECK')
        """,
        params={"name": name},
    ).fetchall()
    key = next(tuple(names) for kind, _, names in constraints if kind == "PRIMARY KEY")
    checks = tuple(text for kind, text, _ in constraints if kind == "CHECK")
    return Table(name, meaning, tuple(_column(*row) for row in columns), key, checks)


def _column(name: str, sql_type: str, nullable: bool, comment: str) -> Column:
    meaning, _, unit = comment.rpartition(" [")
    return Column(name, sql_type, nullable, meaning, unit.removesuffix("]"))


@cache
def arrow_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a table; each field carries its meaning and unit as metadata."""
    description = tables()[table]
    bare = connect().sql(f'FROM "{table}" LIMIT 0').to_arrow_table().schema
    fields = [
        pa.field(
            column.name,
            bare.field(column.name).type,
            nullable=column.nullable,
            metadata={"comment": column.meaning, "unit": column.unit},
        )
        for column in description.columns
    ]
    return pa.schema(fields, metadata={"table": table, "schema_version": str(SCHEMA_VERSION)})
