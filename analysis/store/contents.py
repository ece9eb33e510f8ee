"""What the contents of a store say of a query: what it takes together and compares.

A rule in a comment (`caution`) holds of a table whatever is in it. These depend on the rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import duckdb

from analysis.store.statement import all_columns, every, named, parsed, place_of, within
from collect import schema
from collect.schema import raise_interruption

if TYPE_CHECKING:
    from collections.abc import Collection

#: What tells runs of a model on the same prompts apart: to group or filter by one is enough.
TELLS_RUNS = "run_id or special_tokens or rendering or dtype_compute or revision or revision_name"

#: Views with one run a model and prompt set: joined on run_id they take it.
_OF_ONE_RUN = frozenset({"raw.primary_run", "raw.measured_gain", "raw.ranked_gain"})

#: Views of a run as a whole, which have neither prompts nor layers.
_OF_RUNS = frozenset({"raw.model_gain", "raw.model_growth", "raw.primary_sign"})

#: Views with one row a model, whose gains are not all of one definition; and their gains.
ONE_GAIN = frozenset({"raw.published_gain", "raw.measured_gain"})
_GAINS = frozenset({"gain_mean", "gain_sd", "log_gain", "sign_strict", "sign_banded"})

#: Views with gains of several poolings of tokens, and whether a row names its definition of gain.
POOLED = {"raw.gain_by_model": True, "raw.gain_evidence": True, "raw.reported_gain": False}

#: What tells poolings apart: a file, or a run, is of one for each definition of gain.
TELLS_POOLINGS = "pooling or file or run_id or source_id"


def of_runs(cursor: duckdb.DuckDBPyConnection, names: Sequence[str], tree: Any) -> list[str]:
    """Return the tables of a query whose rows are of one run each, unless it joins to one run."""
    if not _OF_ONE_RUN.isdisjoint(names) and "run_id" in all_columns(tree):
        return []
    known = columns_by_table(cursor)
    return [name for name in names if name in _OF_RUNS or _is_of_a_run(known.get(name, ()))]


def _is_of_a_run(columns: Collection[str]) -> bool:
    is_part = "prompt_id" in columns or "layer" in columns
    return "run_id" in columns and is_part and "matrix" not in columns


def measured_again(cursor: duckdb.DuckDBPyConnection, tree: Any) -> list[str]:
    """Return the models of which one prompt set was measured in several runs.

    Where the query names models, whole or by a pattern, only those are asked about.
    """
    texts = [
        node["literal"]["text"]
        for node in every(tree)
        if node.get("class") == "CONSTANT" and node["literal"]["kind"] == "STRING"
    ]
    sql = """
        SELECT model_id,
               max(n) > 1,
               EXISTS (FROM unnest($1::VARCHAR[]) AS t(word) WHERE model_id ILIKE word)
          FROM (SELECT model_id, count(*) AS n
                  FROM raw.run
                 WHERE kind = 'prompts'
                 GROUP BY model_id, prompt_set)
         GROUP BY model_id
         ORDER BY model_id
    """
    rows = cursor.execute(sql, [texts]).fetchall()
    asked = [row for row in rows if row[2]] or rows
    return [model for model, is_repeated, _ in asked if is_repeated]


def models_met(
    cursor: duckdb.DuckDBPyConnection, conditions: Sequence[Any], by: Any = None
) -> list[str]:
    """Return the measured models that meet those of some conditions that are of a model alone.

    With ``by``, a parsed expression over columns of a model, its distinct values are returned.
    """
    sql = (
        "SELECT DISTINCT one.model_id FROM raw.primary_run JOIN main.model AS one USING (model_id) "
        "WHERE true AND true"
    )
    known = columns_by_table(cursor)["model"]
    taken = [each for each in conditions if (names := all_columns(each)) and names <= known]
    parts = json.loads(json.dumps([taken, by]))
    for node in (each for each in every(parts) if each.get("class") == "COLUMN_REF"):
        node["column_names"] = ["one", node["column_names"][-1]]
    asked = parsed(sql, cursor)
    node = asked["statements"][0]["node"]
    node["where_clause"]["children"] += parts[0]
    node["select_list"] = [parts[1]] if by else node["select_list"]
    return sorted(str(value) for (value,) in answered(cursor, asked) or [])


def unlike_sets(cursor: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[tuple[str, int]]:
    """Return how many of some models each prompt set holds; nothing if all hold the same."""
    sql = """
        SELECT prompt_set, list_sort(list(DISTINCT model_id))
          FROM raw.leading_run
         WHERE list_contains($1::VARCHAR[], model_id)
         GROUP BY prompt_set
         ORDER BY prompt_set
    """
    rows = cursor.execute(sql, [models]).fetchall()
    is_unlike = any(names != rows[0][1] for _, names in rows)
    return [(name, len(names)) for name, names in rows] if is_unlike else []


def definitions(
    cursor: duckdb.DuckDBPyConnection, names: Collection[str], tree: Any
) -> dict[str, list[str]]:
    """Return the metrics that a query takes together, by the view of one gain a model it reads."""
    result: dict[str, list[str]] = {}
    if _GAINS.isdisjoint(all_columns(tree)):
        return result
    for node in (each for each in every(tree) if each.get("type") == "SELECT_NODE"):
        for table in (each for each in within(node["from_table"]) if each.get("table_name")):
            name, place = place_of(table, names), table["alias"] or table["table_name"]
            place = '"{}"'.format(place.replace('"', '""'))
            sql = f"SELECT DISTINCT {place}.metric FROM x ORDER BY 1"
            rows = _taken_of(cursor, node, sql, tree) if name in names else []
            if len(rows) > 1:
                result[name] = rows
    return result


def poolings(
    cursor: duckdb.DuckDBPyConnection, names: Collection[str], tree: Any
) -> dict[str, list[str]]:
    """Return the poolings of tokens that a query takes together, by the view of gains it reads.

    Several count only within one definition of gain: a definition may have a pooling of its own.
    """
    result: dict[str, list[str]] = {}
    columns = all_columns(tree)
    if _GAINS.isdisjoint(columns) and not any(name.startswith("gain_") for name in columns):
        return result
    for node in (each for each in every(tree) if each.get("type") == "SELECT_NODE"):
        for table in (each for each in within(node["from_table"]) if each.get("table_name")):
            name, place = place_of(table, names), table["alias"] or table["table_name"]
            if name not in names:
                continue
            place = '"{}"'.format(place.replace('"', '""'))
            by = f"GROUP BY {place}.metric" if POOLED[name] else ""
            sql = (
                f"SELECT DISTINCT unnest(list(DISTINCT {place}.pooling)) FROM x {by} "
                f"HAVING count(DISTINCT {place}.pooling) > 1 ORDER BY 1"
            )
            if found := _taken_of(cursor, node, sql, tree):
                result[name] = found
    return result


def _taken_of(cursor: duckdb.DuckDBPyConnection, node: Any, sql: str, tree: Any) -> list[str]:
    """Return a text for each row that a question finds in what one SELECT takes of its tables.

    None where that cannot stand alone.
    """
    asked = parsed(sql, cursor)
    parts = {name: node[name] for name in ("from_table", "where_clause")}
    asked["statements"][0]["node"] |= {**parts, "cte_map": _ctes(tree)}
    return [text for (text,) in answered(cursor, asked) or []]


def nulls_in_not_in(cursor: duckdb.DuckDBPyConnection, tree: Any) -> list[str]:
    """Return the columns compared by a NOT IN whose inner query gives a NULL: it is never true."""
    inner = [
        child
        for node in every(tree)
        if node.get("type") == "OPERATOR_NOT"
        for child in node["children"]
        if child.get("subquery_type") == "ANY"
    ]
    return [
        str(child["child"]["column_names"][-1])
        for child in inner
        if child["child"].get("class") == "COLUMN_REF" and _has_null(cursor, child, tree)
    ]


def _has_null(cursor: duckdb.DuckDBPyConnection, child: Any, tree: Any) -> bool:
    asked = parsed("SELECT count(*) FROM (SELECT 1) AS given(value) WHERE value IS NULL", cursor)
    node = asked["statements"][0]["node"]
    node["from_table"]["subquery"]["node"] = child["subquery"]["node"]
    node["cte_map"] = _ctes(tree)
    return any(n for (n,) in answered(cursor, asked) or [])


def _ctes(tree: Any) -> Any:
    return tree["statements"][0]["node"]["cte_map"]


def answered(cursor: duckdb.DuckDBPyConnection, tree: Any) -> list[tuple[Any, ...]] | None:
    """Return the rows of a parsed statement; None where it cannot stand alone."""
    try:
        asked = [json.dumps(tree)]
        sql = cursor.execute("SELECT json_deserialize_sql($1::JSON)", asked).fetchall()[0][0]
        return cursor.execute(sql).fetchall()
    except duckdb.Error as error:
        raise_interruption(error)
        return None


def apart(cursor: duckdb.DuckDBPyConnection, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of some tables that have no model in common."""
    known = columns_by_table(cursor)
    tables = sorted({name for name in names if "model_id" in known.get(name, ())})
    sql = "SELECT count(*) FROM {} SEMI JOIN {} USING (model_id)"
    return [
        pair
        for pair in combinations(tables, 2)
        if cursor.execute(sql.format(*pair)).fetchall()[0] == (0,)
    ]


def meaning(name: str) -> str:
    """Return what the comment on a column of main says of NULL, else all of it, after a colon.

    Parameters
    ----------
    name
        The column, with its table.
    """
    comment = schema.commented(schema.front_sql())[1].get(f"{schema.FRONT}.{name}", "")
    text, _ = schema.unit_apart(comment)
    of_null = re.search(r"\bNULL\b.*?(?=[.;:] |$)", text)
    return f": {of_null[0] if of_null else text}" if text else ""


def columns_by_table(cursor: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Return the names of the columns of each table and view, those of raw named with it."""
    rows = cursor.execute(
        "SELECT schema_name, table_name, list(column_name) FROM duckdb_columns() "
        "WHERE database_name = current_database() GROUP BY ALL"
    ).fetchall()
    return {named(place, table): {*columns} for place, table, columns in rows}
