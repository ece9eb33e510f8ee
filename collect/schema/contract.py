"""Tables, columns, units, keys and checks, as ``schema.sql`` states them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa

from collect.errors import CollectError
from collect.measures.declaration import quoted
from collect.measures.register import FILLED, OF_VECTORS
from collect.process.memory import engine_memory
from collect.schema.grain import commented_grain

#: Version of the contract, which every Parquet file and every row of ``run`` names.
SCHEMA_VERSION = 3

#: Versions whose files can be read: this one, and those that lack only columns that may be NULL.
#: It rises where what is stored changes its meaning, name or type. A new column that may be NULL
#: needs no new version: a file without it reads as NULL, and a reader that does not know it
#: leaves it out.
READABLE_VERSIONS = (2, SCHEMA_VERSION)

#: Schema of the few tables that a person asks, and that of everything they are made from.
FRONT, RAW = "main", "raw"

#: Tables that one unit of measurement fills, one file per unit; ``run`` commits them.
MEASURED = (
    "model",
    *FILLED,
    "own_quantity",
    "own_value",
    "own_vector",
    "conformance",
    "not_measured",
)

#: Tables large enough to be left in their Parquet files; the others fit in memory.
_SMALL = ("model", "own_quantity", "conformance", "not_measured")
LARGE = (*(table for table in MEASURED if table not in _SMALL), "published_value")


class ContractError(CollectError, ValueError):
    """A file or row breaks the contract (exit code 2): a value that cannot be read, as others."""


_PLACE = re.compile(r"^-- TABLE (\w+): .*$", re.MULTILINE)
_COMMENT = re.compile(r"COMMENT ON (?:TABLE|VIEW|COLUMN) ([\w.]+) IS '((?:[^']|'')*)';")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its SQL type, whether it may be NULL, its meaning and unit."""

    name: str
    sql_type: str
    nullable: bool
    meaning: str
    unit: str


@dataclass(frozen=True)
class Table:
    """One table: what a row is, its columns in order, its key and its checks."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    checks: tuple[str, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def required(self) -> frozenset[str]:
        """Columns that may not be NULL, and so must be in every file."""
        return frozenset(column.name for column in self.columns if not column.nullable)


@cache
def schema_sql() -> str:
    """Return the text of ``schema.sql`` with the tables that `collect.measures` declares.

    A line ``-- TABLE name: file`` stands where such a table comes among others.
    """
    text = files("collect").joinpath("schema.sql").read_text(encoding="utf-8")
    placed = _PLACE.sub(lambda place: FILLED[place[1]].sql, text)
    return "\n".join([placed, *(FILLED[table].sql for table in OF_VECTORS)])


def connect(*, comments: bool = True) -> duckdb.DuckDBPyConnection:
    """Return a fresh in-memory database with every table of the contract, empty, in schema raw.

    A name without a schema is looked up in raw first, so that SQL of the contract and its views
    runs as it stands; who asks looks in main first (`analysis.store`).

    Parameters
    ----------
    comments
        False to leave out the comments, which cost more than the tables; see `commented`.
    """
    connection = duckdb.connect(config=engine_memory())
    connection.execute(within_raw())
    sql, stated = commented(schema_sql())
    connection.execute(sql)
    if comments:
        kinds = {place: "COLUMN" if "." in place else "TABLE" for place in stated}
        connection.execute(
            "; ".join(f"COMMENT ON {kinds[it]} {it} IS {quoted(stated[it])}" for it in stated)
        )
    if not _KNOWN:
        _KNOWN.update(_describe(connection))
    return connection


def lookup(*schemas: str, catalog: str = "memory") -> str:
    """Return the statement that has names without a schema looked up in some, in their order."""
    path = ",".join(f'"{catalog}".{name}' for name in schemas)
    return f"SET search_path = '{path}'"


def within_raw(catalog: str = "memory") -> str:
    """Return the statements that make schema raw, and have names looked up in it first."""
    return f'CREATE SCHEMA "{catalog}".{RAW}; {lookup(RAW, FRONT, catalog=catalog)}'


@cache
def commented(sql: str) -> tuple[str, dict[str, str]]:
    r"""Return SQL without its comments on tables, views and columns, and these by what they are on.

    A comment stands on one line, and a macro keeps its own. Those on tables and views of raw begin
    and end in what their rows are (`grain`).

    >>> commented("CREATE TABLE t (a INT);\nCOMMENT ON COLUMN t.a IS 'It''s one [1]';")
    ('CREATE TABLE t (a INT);', {'t.a': "It's one [1]"})
    """
    lines, comments = [], {}
    for line in sql.splitlines():
        match = _COMMENT.fullmatch(line)
        if match is None:
            lines.append(line)
        else:
            comments[match[1]] = commented_grain(match[1], match[2].replace("''", "'"))
    return "\n".join(lines), comments


@cache
def table_sql(table: str) -> str:
    """Return the statement that creates one table."""
    wanted = f"CREATE TABLE {table} "
    statements = (statement.query.strip() for statement in duckdb.extract_statements(schema_sql()))
    return next(text[text.index(wanted) :] for text in statements if wanted in text)


def tables() -> dict[str, Table]:
    """Return every table of the contract by name, in the order of ``schema.sql``."""
    return {name: table for name, (table, _) in _known().items()}


def table_of(name: str) -> Table:
    """Return one table of the contract."""
    return _known()[name][0]


def arrow_schema(table: str) -> pa.Schema:
    """Return the Arrow schema of a table; each field carries its meaning and unit as metadata."""
    return _known()[table][1]


def described(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    comments: Mapping[str, str] | None = None,
    *,
    place: str = RAW,
) -> dict[str, Table]:
    """Return the tables of one database of a connection by name, in the order they were made.

    Parameters
    ----------
    connection
        Connection that has the database attached.
    catalog
        Name of the database. Views are no tables.
    comments
        What stands for the comments of tables and columns; None to take the database's own.
    place
        The schema that counts.
    """
    asked = {"catalog": catalog, "place": place}
    meanings = connection.execute(
        """
        SELECT table_name, coalesce(comment, '')
          FROM duckdb_tables()
         WHERE database_name = $catalog AND schema_name = $place
         ORDER BY table_oid
        """,
        asked,
    ).fetchall()
    columns = _rows_by_table(
        connection,
        asked,
        """
        SELECT table_name, column_name, data_type, is_nullable, coalesce(comment, '')
          FROM duckdb_columns()
         WHERE database_name = $catalog AND schema_name = $place
         ORDER BY table_oid, column_index
        """,
    )
    constraints = _rows_by_table(
        connection,
        asked,
        """
        SELECT table_name, constraint_type, constraint_text, constraint_column_names
          FROM duckdb_constraints()
         WHERE database_name = $catalog AND schema_name = $place
           AND constraint_type IN ('PRIMARY KEY', 'CHECK')
        """,
    )
    if comments is not None:
        meanings = [(name, comments[name]) for name, _ in meanings]
        for name in columns:
            columns[name] = [(*row[:-1], comments[f"{name}.{row[0]}"]) for row in columns[name]]
    return {
        name: _table(name, meaning, columns[name], constraints[name]) for name, meaning in meanings
    }


#: Every table and its Arrow schema, read off the first database that was made.
_KNOWN: dict[str, tuple[Table, pa.Schema]] = {}


def _known() -> dict[str, tuple[Table, pa.Schema]]:
    if not _KNOWN:
        connect(comments=False).close()
    return _KNOWN


def _describe(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[Table, pa.Schema]]:
    _, comments = commented(schema_sql())
    description = described(connection, "memory", comments)
    sql_types = sorted(
        {column.sql_type for table in description.values() for column in table.columns}
    )
    nulls = ", ".join(f'CAST(NULL AS {name}) AS "{name}"' for name in sql_types)
    arrow_types = connection.sql(f"SELECT {nulls}").to_arrow_table().schema
    return {name: (table, _arrow_schema(table, arrow_types)) for name, table in description.items()}


def _rows_by_table(
    connection: duckdb.DuckDBPyConnection, asked: Mapping[str, str], sql: str
) -> defaultdict[str, list[tuple[Any, ...]]]:
    """Return rows by their first column, without it."""
    by_table: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for name, *row in connection.execute(sql, {**asked}).fetchall():
        by_table[name].append(tuple(row))
    return by_table


def _table(
    name: str,
    meaning: str,
    columns: Sequence[tuple[Any, ...]],
    constraints: Sequence[tuple[Any, ...]],
) -> Table:
    keys = [tuple(names) for kind, _, names in constraints if kind == "PRIMARY KEY"]
    checks = tuple(text for kind, text, _ in constraints if kind == "CHECK")
    return Table(
        name, meaning, tuple(_column(*row) for row in columns), keys[0] if keys else (), checks
    )


def _column(name: str, sql_type: str, nullable: bool, comment: str) -> Column:
    return Column(name, sql_type, nullable, *unit_apart(comment))


def unit_apart(comment: str) -> tuple[str, str]:
    """Return what a comment on a column says, and the unit in brackets at its end.

    >>> unit_apart("Width of one head [1]")
    ('Width of one head', '1')
    """
    meaning, _, unit = comment.rpartition(" [")
    return meaning, unit.removesuffix("]")


def _arrow_schema(table: Table, arrow_types: pa.Schema) -> pa.Schema:
    """Return the Arrow schema of a table; ``arrow_types`` has a field for each type of SQL."""
    fields = [
        pa.field(
            column.name,
            arrow_types.field(column.sql_type).type,
            nullable=column.nullable,
            metadata={"comment": column.meaning, "unit": column.unit},
        )
        for column in table.columns
    ]
    metadata = {"table": table.name, "schema_version": str(SCHEMA_VERSION)}
    return pa.schema(fields, metadata=metadata)
