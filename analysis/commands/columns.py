"""The verb `columns`: what the columns of a table or view mean, and where to start."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

from analysis.commands.sources import opened
from analysis.commands.tables import show
from analysis.store.hint import front, nearest_table, relations
from analysis.tidy.errors import QueryError
from collect import schema


def columns(options: argparse.Namespace) -> int:
    """Print the columns of one table or view, or the names of all, and return the exit code.

    Raises
    ------
    QueryError
        If no table or view has the name.
    """
    connection = schema.connect(comments=False)
    connection.execute(schema.commented(schema.views_sql())[0])
    connection.execute(schema.commented(schema.front_sql())[0])
    schema.comment(connection)
    if options.table is None:
        macros = connection.execute(_MACROS).fetchall()
        print(_start(dict(connection.execute(_RELATIONS).fetchall()), macros))
        return 0
    name = _find(options.table.lower())
    if name.removeprefix(_RAW) not in {*front(), *relations()} and (options.paper or options.data):
        connection, name = opened(options, everything=True).connection, options.table.lower()
    meanings = connection.execute(f"{_RELATIONS} WHERE name = $1", [name]).fetchall()
    if not meanings:
        raise QueryError(
            f"There is no table or view {options.table}.",
            f"{nearest_table(name)}List them with: thermoscope columns",
        )
    rows = [
        (column, kind.lower(), *reversed(schema.unit_apart(text or "")))
        for column, kind, text in connection.execute(_COLUMNS, [name]).fetchall()
    ]
    if options.csv:
        import pandas as pd

        return show(pd.DataFrame(rows, columns=["column", "type", "unit", "meaning"]), as_csv=True)
    print("\n".join([*_wrap(f"{name}: {meanings[0][1]}", ""), "", *_lines(rows)]))
    return 0


#: How a table is named: one of schema main by its name alone.
_NAME = "CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END"
_RELATIONS = f"""
    SELECT name, meaning
      FROM (SELECT {_NAME} || table_name AS name, comment AS meaning
              FROM duckdb_tables()
             WHERE NOT internal
             UNION ALL
            SELECT {_NAME} || view_name, comment FROM duckdb_views() WHERE NOT internal) AS named
"""
_COLUMNS = f"""
    SELECT column_name, data_type, comment
      FROM duckdb_columns()
     WHERE {_NAME} || table_name = $1
     ORDER BY column_index
"""
_MACROS = """
    SELECT function_name || '(' || array_to_string(parameters, ', ') || ')', comment
      FROM duckdb_functions()
     WHERE NOT internal AND function_name IN ('conf_low', 'conf_high', 'spearman', 'direction')
     ORDER BY list_position(['conf_low', 'conf_high', 'spearman', 'direction'], function_name)
"""
_RAW = f"{schema.RAW}."


def _find(name: str) -> str:
    """Return the full name of a table or view: without a schema, one of main first."""
    return f"{_RAW}{name}" if name not in front() and name in relations() else name


def _start(meanings: dict[str, str], macros: Sequence[tuple[str, str]]) -> str:
    """Return the tables to start with, what a row of each is, and the names of the others."""
    lines = ["Start with these; each unit has one row, and each column one quantity:", ""]
    for name in front():
        first = meanings[name].partition(". ")[0].rstrip(".")
        lines += _wrap(f"{name:<16} {first}.", " " * 17)
    said = (
        "FROM model WHERE is_measured lists the models measured here, WHERE is_published those of "
        "the paper."
    )
    lines += ["", *_wrap(said, ""), "", "Of their columns, beside what DuckDB has:", ""]
    for call, meaning in macros:
        lines += _wrap(f"{call:<16} {meaning}", " " * 17)
    printed = (
        "Everything they are made from is in schema raw, where rows repeat units: raw.model, "
        "raw.stream and so on. thermoscope columns raw.NAME says what the columns of one mean:"
    )
    lines += ["", *_wrap(printed, ""), ""]
    for title, names in by_subject().items():
        lines += _wrap(f"{title:<16} {' '.join(names)}", " " * 17)
    return "\n".join(lines)


#: What the tables and views of raw are about: subjects of the views, and names of the tables.
_SUBJECTS = {
    "models and runs": (
        ("runs", "trajectory", "coverage"),
        ("model", "revision", "prompt", "run", "conformance", "not_measured"),
    ),
    "stream": (
        ("stream", "growth", "profile"),
        ("residual_norm", "residual_update", "stream_sparsity"),
    ),
    "gain": (("gain", "layer_scale", "published"), ("metric", "layer_scale_profile")),
    "prediction": ((), ("next_token", "token_prediction")),
    "attention": (("attention", "trace"), ("attention", "attention_mean")),
    "tokens' vectors": (("geometry",), ("token_geometry", "prompt_geometry")),
    "weights": (("weights",), ("weight_norm", "matrix_norm")),
    "coordinates": (("gauge", "partner"), ("gauge_quantity", "gauge_lemma", "gauge_profile")),
    "paper's files": (
        ("recipe",),
        (
            *("published_file", "published_value", "published_excerpt", "published_figure"),
            *("published_profile", "caveat", "digitised_point", "training_recipe"),
        ),
    ),
    "paper's claims": (
        ("claim",),
        (
            *("claim", "claim_quotation", "claim_meaning", "claim_line", "claim_family"),
            *("claim_quantity", "claim_weight", "quoted_number", "stated_number"),
            *("verdict", "verdict_check", "verdict_rate", "rule_rate", "claim_test_rate"),
            *("calibrated_quantile", "calibrated_rate"),
        ),
    ),
    "others' lengths": (
        ("reported",),
        ("reported_source", "reported_norm", "reported_figure"),
    ),
    "trained networks": (
        ("study",),
        ("study_plan", "study_run", "study_level", "study_response", "study_profile"),
    ),
    "own functions": ((), ("own_quantity", "own_value", "own_vector", "legacy_value")),
}


def by_subject() -> dict[str, list[str]]:
    """Return the names of the tables and views of schema raw by what they are about.

    A name that no subject lists is under the last, which has no other.
    """
    views = schema.views_by_subject()
    named = {
        title: [*tables, *(name for subject in subjects for name in views.get(subject, ()))]
        for title, (subjects, tables) in _SUBJECTS.items()
    }
    known = {name for names in named.values() for name in names}
    others = [name for name in relations() if name not in known]
    return named | ({"others": others} if others else {})


def _lines(rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    """Yield a column a line: name, type and unit aligned, its meaning wrapped beside them."""
    rows = list(rows)
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    for *named, meaning in rows:
        before = "  ".join(f"{text:<{width}}" for text, width in zip(named, widths, strict=True))
        yield from _wrap(f"{before}  {meaning}", " " * (sum(widths) + 6))


def _wrap(text: str, indent: str) -> list[str]:
    width = shutil.get_terminal_size(fallback=(100, 24)).columns if sys.stdout.isatty() else 100
    return textwrap.wrap(
        text,
        max(width, len(indent) + 20),
        subsequent_indent=indent,
        break_on_hyphens=False,
        drop_whitespace=True,
        break_long_words=False,
    )
