"""Hostile statements: every kind that DuckDB has, in every place where one can hide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Statements by kind. ``{file}`` is a place in the file system, ``{table}`` a table or view,
#: ``{name}`` a name of the statement's own.
KINDS: dict[str, tuple[str, ...]] = {
    "SELECT": ("SELECT 1", "FROM {table} LIMIT 3", "VALUES (1)", "SELECT count(*) FROM {table}"),
    "INSERT": (
        "INSERT INTO {table} FROM {table}",
        "INSERT INTO {table} DEFAULT VALUES RETURNING *",
    ),
    "UPDATE": (
        "UPDATE {table} SET model_id = 'x' RETURNING *",
        "UPDATE {table} SET model_id = 'x'",
    ),
    "DELETE": ("DELETE FROM {table} RETURNING *", "DELETE FROM {table}", "TRUNCATE {table}"),
    "MERGE_INTO": (
        "MERGE INTO {table} USING (SELECT 'x' AS model_id) AS s USING (model_id) "
        "WHEN MATCHED THEN DELETE",
        "MERGE INTO {table} AS t USING {table} AS s ON true WHEN MATCHED THEN DELETE RETURNING *",
    ),
    "COPY": (
        "COPY {table} TO '{file}'",
        "COPY (SELECT 1) TO '{file}'",
        "COPY (SELECT 1) TO '{file}' (FORMAT parquet, OVERWRITE_OR_IGNORE)",
        "COPY (SELECT 1 AS p, 2 AS v) TO '{file}' (PARTITION_BY (p), OVERWRITE)",
        "COPY {table} FROM '{file}'",
        "COPY (SELECT 1) TO '{file}' (FORMAT json, USE_TMP_FILE false)",
    ),
    "COPY_DATABASE": ("COPY FROM DATABASE memory TO {name}", "COPY FROM DATABASE {name} TO memory"),
    "EXPORT": ("EXPORT DATABASE '{file}'", "EXPORT DATABASE '{file}' (FORMAT parquet)"),
    "IMPORT": ("IMPORT DATABASE '{file}'",),
    "CREATE": (
        *("CREATE TABLE {name} AS FROM {table}", "CREATE OR REPLACE TABLE {table} (i INTEGER)"),
        "CREATE TEMP TABLE {table} AS SELECT 1 AS i",
        *("CREATE OR REPLACE VIEW {table} AS SELECT 1", "CREATE TEMP VIEW {table} AS SELECT 1"),
        *("CREATE SCHEMA {name}", "CREATE SEQUENCE {name}", "CREATE TYPE {name} AS ENUM ('a')"),
        "CREATE INDEX {name} ON {table} (model_id)",
        "CREATE MACRO {name}() AS TABLE FROM read_text('{file}')",
        *("CREATE OR REPLACE MACRO gain_bound(n) AS 0", "CREATE TEMP MACRO gain_bound(n) AS 0"),
        "CREATE PERSISTENT SECRET {name} (TYPE s3, PROVIDER config, KEY_ID 'a', SECRET 'b')",
        "CREATE SECRET {name} (TYPE http)",
        "CREATE TRIGGER {name} AFTER INSERT ON {table} EXECUTE PROCEDURE {name}()",
    ),
    "DROP": (
        *("DROP TABLE {table}", "DROP VIEW {table}", "DROP VIEW IF EXISTS {table} CASCADE"),
        *("DROP MACRO gain_bound", "DROP SCHEMA main CASCADE"),
    ),
    "ALTER": (
        "ALTER TABLE {table} ADD COLUMN x INTEGER",
        "ALTER VIEW {table} RENAME TO {name}",
        "ALTER TABLE {table} DROP COLUMN model_id",
        "COMMENT ON TABLE {table} IS 'x'",
        "COMMENT ON VIEW {table} IS 'x'",
    ),
    "ATTACH": (
        "ATTACH '{file}' AS {name}",
        "ATTACH ':memory:' AS {name}",
        "ATTACH OR REPLACE '{file}' AS database_file",
        "ATTACH '{file}' AS {name} (READ_WRITE)",
    ),
    "DETACH": ("DETACH database_file", "DETACH memory", "USE system", "USE memory.main"),
    "SET": (
        *("SET enable_external_access = true", "SET lock_configuration = false"),
        *("SET GLOBAL allowed_directories = ['/']", "SET threads = 1"),
        *("SET temp_directory = '{file}'", "RESET allowed_directories"),
        *("SET SESSION search_path = 'information_schema'", "SET log_query_path = '{file}'"),
        "SET profiling_output = '{file}'",
    ),
    "VARIABLE_SET": ("SET VARIABLE {name} = 1", "RESET VARIABLE {name}"),
    "PRAGMA": (
        *("PRAGMA enable_profiling = 'json'", "PRAGMA profiling_output = '{file}'"),
        *("PRAGMA memory_limit = '1GB'", "PRAGMA import_database('{file}')"),
        *("PRAGMA copy_database('memory', '{name}')", "PRAGMA force_checkpoint", "PRAGMA version"),
        "PRAGMA table_info('{table}')",
    ),
    "CALL": (
        "CALL enable_logging(storage = 'file', storage_path = '{file}')",
        "CALL truncate_duckdb_logs()",
        "CALL force_checkpoint()",
        "CALL pragma_version()",
        "CALL query('{table}')",
    ),
    "LOAD": ("LOAD '{file}'", "INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL '{file}'"),
    "EXTENSION": ("UPDATE EXTENSIONS", "UPDATE EXTENSIONS (httpfs)"),
    "TRANSACTION": ("BEGIN", "COMMIT", "ROLLBACK", "BEGIN TRANSACTION READ WRITE", "ABORT"),
    "PREPARE": ("PREPARE {name} AS DELETE FROM {table}", "PREPARE {name} AS SELECT 1"),
    "EXECUTE": ("EXECUTE {name}", "DEALLOCATE {name}"),
    "VACUUM": ("VACUUM", "VACUUM ANALYZE {table}", "ANALYZE", "ANALYZE {table}"),
    "CHECKPOINT": ("CHECKPOINT", "FORCE CHECKPOINT", "CHECKPOINT database_file"),
    "EXPLAIN": ("EXPLAIN COPY {table} TO '{file}'", "EXPLAIN ANALYZE DELETE FROM {table}"),
    "MULTI": ("PIVOT {table} ON model_id USING count(*)", "SELECT 1; DELETE FROM {table}"),
}

#: Functions that must not be reached: they open files, run texts, or change a state.
CALLS = (
    *("read_text('{file}')", "read_blob('{file}')", "read_csv('{file}')", "read_parquet('{file}')"),
    *("read_json('{file}')", "read_duckdb('{file}')", "sniff_csv('{file}')", "glob('{file}')"),
    *("glob('/*')", "parquet_metadata('{file}')", "query('DELETE FROM {table}')"),
    *("query('COPY {table} TO ''{file}''')", "query('FROM {table} LIMIT 1')"),
    *("query_table('{table}')", "query_table(['{table}', '{table}'], true)"),
    *("json_execute_serialized_sql(json_serialize_sql('FROM {table} LIMIT 1'))", "checkpoint()"),
    *("force_checkpoint('memory')", "enable_logging()"),
    *("enable_profiling(save_location = '{file}')", "truncate_duckdb_logs()"),
    *("database_file.main.evil()", "database_file.evil", "main.{table}", "matrix_gain_from(1)"),
    *("duckdb_secrets()", "'{file}'"),
)

#: Scalar functions with side effects.
SCALARS = (
    *("nextval('{name}')", "setseed(0.5)", "write_log('x')", "sleep_ms(1)"),
    *("getvariable('{name}')", "database_file.main.evil_scalar()"),
    "current_setting('temp_directory')",
)

#: Places around a statement ``{s}``; ``{q}`` is the statement with its quotes doubled.
PLACES = (
    *("{s}", "{s};", "  \n{s}", "/**/{s}", "/* SELECT */ {s}", "-- SELECT 1\n{s}", "SELECT 1; {s}"),
    *("{s}; SELECT 1", "EXPLAIN {s}", "EXPLAIN ANALYZE {s}", "/**/EXPLAIN ANALYZE {s}"),
    *("EXPLAIN/**/ANALYZE/**/{s}", "EXPLAIN (ANALYZE) {s}", "EXPLAIN (FORMAT json, ANALYZE) {s}"),
    *("EXPLAIN ANALYZE WITH a AS ({s}) FROM a", "explain (analyze) with a as ({s}) from a"),
    *("WITH a AS ({s}) FROM a", "WITH a AS MATERIALIZED ({s}) SELECT * FROM a"),
    *("WITH a AS (SELECT 1), b AS ({s}) FROM a, b", "WITH RECURSIVE a AS ({s}) FROM a"),
    "WITH a AS (WITH b AS ({s}) FROM b) FROM a",
    *("SELECT (WITH a AS ({s}) SELECT count(*) FROM a)", "FROM (WITH a AS ({s}) FROM a)"),
    *("FROM ({s})", "SELECT ({s})", "SELECT 1 WHERE EXISTS ({s})", "SELECT 1 UNION ALL ({s})"),
    *("FROM query('{q}')", "FROM query('/**/{q}')"),
    *("SELECT * FROM query('WITH a AS ({q}) FROM a')", "FROM json_execute_serialized_sql('{q}')"),
    *("DESCRIBE {s}", "SUMMARIZE {s}", "PREPARE p AS {s}", "CREATE MACRO m() AS TABLE {s}"),
    *("CREATE VIEW v AS {s}", "COPY ({s}) TO '{f}'", "SELECT list_transform([1], lambda x: ({s}))"),
    "PIVOT ({s}) ON a IN (1) USING count(*)",
)


def statement(rng: np.random.Generator, files: Sequence[str], tables: Sequence[str]) -> str:
    """Return one statement, drawn: a kind, a form of it, and a place to hide it in."""
    file = str(rng.choice(list(files))).replace("'", "''")
    words = {"file": file, "table": str(rng.choice(list(tables))), "name": f"n{rng.integers(100)}"}
    shape = rng.random()
    if shape < 0.7:
        core = str(rng.choice(KINDS[str(rng.choice(list(KINDS)))])).format(**words)
    elif shape < 0.9:
        core = f"SELECT * FROM {rng.choice(CALLS)}".format(**words)
    else:
        core = f"SELECT {rng.choice(SCALARS)}".format(**words)
    if rng.random() < 0.1:
        core = core.swapcase() if "'" not in core else core
    place = str(rng.choice(PLACES))
    return place.replace("{s}", core).replace("{q}", core.replace("'", "''")).replace("{f}", file)
