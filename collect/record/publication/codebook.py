"""The codebook ``data/README.md``: every table, view and macro, read off the SQL files."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template

import duckdb

from collect.process import shipped
from collect.process.interruption import interruptible
from collect.record.atomic.files import write_text
from collect.schema import (
    FRONT,
    RAW,
    Table,
    comment,
    connect,
    front_sql,
    tables,
    unit_apart,
    views_sql,
)

PATH = shipped.root() / "data" / "README.md"


@interruptible()
def codebook() -> str:
    """Return the codebook as Markdown: prose of ``codebook.md``, then tables, views, macros."""
    prose = files("collect.record.publication").joinpath("codebook.md").read_text(encoding="utf-8")
    text = Template(prose).substitute(
        diagram=diagram(),
        front=front_section(),
        tables="\n\n".join(table_section(table) for table in tables().values()),
    )
    return text.rstrip() + "\n" + views_section()


def is_current(path: Path) -> bool:
    """Return whether the file says what the SQL files say."""
    return path.is_file() and path.read_text(encoding="utf-8") == codebook()


def write_codebook(path: Path) -> None:
    """Write the codebook to a file."""
    write_text(path, codebook())


def diagram() -> str:
    """Return the tables and the keys that join them as a Mermaid diagram."""
    lines = ["erDiagram"]
    for table in tables().values():
        references = _references(table)
        lines += [f"    {table.name} {{", *_key_lines(table, references), "    }"]
        for column in (column for column in table.columns if column.name in references):
            one = "|o" if column.nullable else "||"
            parent = references[column.name]
            lines.append(f"    {parent} {one}--o{{ {table.name} : {column.name}")
    return "\n".join(lines)


def _key_lines(table: Table, references: dict[str, str]) -> list[str]:
    """Return the columns of a table that are keys, one line each."""
    lines = []
    for column in table.columns:
        roles = [
            role for role, names in (("PK", table.key), ("FK", references)) if column.name in names
        ]
        if roles:
            lines.append(f"        {column.sql_type} {column.name} {', '.join(roles)}")
    return lines


def _references(table: Table) -> dict[str, str]:
    """Return the table that each foreign key refers to, which its meaning names: see TABLE."""
    references = {}
    for column in table.columns:
        named = re.search(r"\bsee (\w+)", column.meaning, re.IGNORECASE)
        parent = tables().get(named[1]) if named else None
        if parent and parent is not table and parent.key == (column.name,):
            references[column.name] = parent.name
    return references


def table_section(table: Table) -> str:
    """Return one table as Markdown: meaning, key, columns with type, unit and meaning."""
    key = ", ".join(f"`{name}`" for name in table.key)
    rows = [
        f"| `{column.name}` | {column.sql_type} | {'yes' if column.nullable else 'no'} "
        f"| {_cell(column.unit)} | {_cell(column.meaning)} |"
        for column in table.columns
    ]
    return "\n".join(
        [
            f"### {RAW}.{table.name}",
            "",
            table.meaning,
            "",
            f"Key: {key}.",
            "",
            "| Column | Type | NULL | Unit | Meaning |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


def front_section() -> str:
    """Return the tables of schema main as Markdown; empty when there are none."""
    connection = _commented()
    views = _views(connection, FRONT)
    return "\n\n".join(_view_section(connection, FRONT, *view) for view in views)


def views_section() -> str:
    """Return the views and macros of the views' SQL as Markdown; empty when there are none."""
    if not views_sql():
        return ""
    connection = _commented()
    parts = [
        "## Views and macros",
        "Views of schema `raw`, from `analysis/store/views/`; macros are in schema `main`.",
        _macros(connection),
        *(_view_section(connection, RAW, *view) for view in _views(connection, RAW)),
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def _commented() -> duckdb.DuckDBPyConnection:
    """Return an empty database with every table and view, commented."""
    connection = connect(comments=False)
    connection.execute(views_sql())
    connection.execute(front_sql())
    comment(connection)
    return connection


def _views(connection: duckdb.DuckDBPyConnection, place: str) -> list[tuple[str, str]]:
    """Return name and comment of the views of a schema, in their order."""
    return connection.execute(
        """
        SELECT view_name, comment
          FROM duckdb_views()
         WHERE NOT internal AND schema_name = $1
         ORDER BY view_oid
        """,
        [place],
    ).fetchall()


def _macros(connection: duckdb.DuckDBPyConnection) -> str:
    macros = connection.sql(
        """
        SELECT function_name, array_to_string(parameters, ', '), comment
          FROM duckdb_functions()
         WHERE NOT internal
         ORDER BY function_name
        """
    ).fetchall()
    lines = [f"| `{name}({given})` | {_cell(comment or '')} |" for name, given, comment in macros]
    return "\n".join(["| Macro | Meaning |", "|---|---|", *lines])


def _view_section(
    connection: duckdb.DuckDBPyConnection, place: str, name: str, meaning: str
) -> str:
    columns = connection.execute(
        """
        SELECT column_name, data_type, comment
          FROM duckdb_columns()
         WHERE schema_name = $place AND table_name = $name
         ORDER BY column_index
        """,
        {"place": place, "name": name},
    ).fetchall()
    rows = []
    for column, kind, text in columns:
        about, unit = unit_apart(text)
        rows.append(f"| `{column}` | {kind} | {_cell(unit)} | {_cell(about)} |")
    heads = ["| Column | Type | Unit | Meaning |", "|---|---|---|---|"]
    shown = name if place == FRONT else f"{place}.{name}"
    return "\n\n".join([f"### {shown}", meaning, "\n".join([*heads, *rows])])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
