"""SQL writes nothing: hidden statements, a stranger's database, a share of the long proof."""

import json
import shutil
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from analysis.store import open_store
from analysis.tidy.errors import QueryError, StoreError
from collect.record.publication.database import write_database
from tests.proofs import sql_attack

HIDDEN = (
    "WITH a AS (COPY (SELECT 1) TO '{file}') FROM a",
    "/**/EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'",
    "EXPLAIN (ANALYZE) COPY (SELECT 1) TO '{file}'",
    "EXPLAIN ANALYZE WITH a AS (COPY (SELECT 1) TO '{file}') FROM a",
    "WITH a AS (DELETE FROM raw.model RETURNING *) FROM a",
    "WITH a AS (WITH b AS (UPDATE model SET lab = 'x' RETURNING *) FROM b) FROM a",
    "FROM (WITH a AS (INSERT INTO caveat VALUES ('a', 'b', 'c') RETURNING *) FROM a)",
)


NO_READING = (
    "CREATE TABLE x (i INTEGER)",
    "DELETE FROM raw.model",
    "COPY model TO 'stolen.csv'",
    "",
)
NO_READING += (
    "SET threads = 1",
    "EXPLAIN ANALYZE COPY model TO 'stolen.csv'",
    "SELECT 1; SELECT 2",
)


@pytest.fixture(scope="module")
def attacked(tiny_directory, tmp_path_factory):
    """Return a store on a copy, its directory, and the hashes of its files and tables."""
    copy = shutil.copytree(tiny_directory, tmp_path_factory.mktemp("attacked") / "copy")
    store = open_store(copy)
    return store, copy, sql_attack.file_hashes(copy), sql_attack.table_hashes(store)


@pytest.mark.parametrize("sql", HIDDEN)
def test_what_is_hidden_in_a_statement_is_found_and_refused(attacked, sql):
    store, copy, files, rows = attacked
    with pytest.raises(QueryError, match="must be one statement that reads"):
        store.query(sql.format(file=copy / "model" / "test--tiny.parquet"))
    assert sql_attack.file_hashes(copy) == files
    assert sql_attack.table_hashes(store) == rows


@pytest.mark.parametrize("place", ["{file}", "file://{file}", "store://{file}", "{file}.wal"])
def test_the_engine_itself_cannot_write_the_files_of_a_store(attacked, place):
    store, copy, files, _ = attacked
    file = copy / "residual_norm" / "test--tiny@S.parquet"
    with pytest.raises(duckdb.Error):
        store.connection.execute(f"COPY (SELECT 1) TO '{place.format(file=file)}'")
    assert sql_attack.file_hashes(copy) == files


def test_the_engine_changes_no_rows_in_a_query_and_deep_statements_are_refused(tiny_store):
    with tiny_store.connection.cursor() as cursor:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        with pytest.raises(duckdb.TransactionException, match="read-only mode"):
            cursor.execute("DELETE FROM raw.model")
    deep = "SELECT " + "1 + " * 900 + "1 AS n"
    try:
        json.loads("[" * 2000 + "]" * 2000)
    except RecursionError:
        with pytest.raises(QueryError, match="nested too deeply"):
            tiny_store.query(deep)
    else:  # from 3.12 on
        assert tiny_store.query(deep)["n"].tolist() == [901]


@pytest.mark.parametrize(
    "reading",
    [
        "EXPLAIN SELECT 1",
        "/* a */ EXPLAIN (ANALYZE, FORMAT json) -- b\n FROM raw.model",
        "EXPLAIN ANALYZE (SELECT 'é')",
        "DESCRIBE model",
        "SUMMARIZE model",
        "SHOW TABLES",
        "FROM main.model",
        "FROM range(3)",
        "FROM matrix_gain_from(1)",
        "FROM duckdb_columns() LIMIT 1",
        "SELECT random(), count(*) OVER () FROM raw.model",
        "PIVOT model ON family IN ('gpt2') USING count(*)",
        "FROM raw.model USING SAMPLE 3 ROWS",
        "FROM raw.model TABLESAMPLE reservoir(100%) REPEATABLE (1)",
    ],
)
def test_what_reads_is_run(tiny_store, reading):
    assert len(tiny_store.query(reading)) > 0


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        *((sql, "must be one statement that reads") for sql in NO_READING),
        ("FROM read_text('/etc/hostname')", "."),
        ("FROM read_text('https://example.invalid/x.parquet')", "."),
        ("FROM query('FROM raw.model')", r"must not call query\(\)"),
        ("FROM arrow_scan(1, 2, 3)", r"must not call arrow_scan\(\)"),
        ("SELECT setseed(0.5)", r"must not call setseed\(\)"),
        ("FROM elsewhere.main.model", "elsewhere is another place"),
        ("PIVOT model ON family USING count(*)", "found MULTI"),
        ("FROM elsewhere.main.model TABLESAMPLE 10%", "elsewhere is another place"),
        ("SELECT '\ud800'", "must be text that UTF-8 can hold"),
        ("UPDATE EXTENSIONS", "found OTHER"),
        ("EXPLAIN", "Parser Error"),
    ],
)
def test_what_cannot_be_vouched_for_is_refused_with_the_reason(tiny_store, sql, reason):
    with pytest.raises(QueryError, match=reason):
        tiny_store.query(sql)


@pytest.fixture(scope="module")
def strangers(tiny_directory, tmp_path_factory):
    """Return a database file of the tiny measurements that somebody else has added to."""
    path = tmp_path_factory.mktemp("strangers") / "stranger.duckdb"
    write_database([tiny_directory], path)
    with duckdb.connect(str(path)) as connection:
        connection.execute(sql_attack.EVIL)
        connection.execute("CREATE OR REPLACE VIEW gain_by_model AS SELECT 'theirs' AS source")
        connection.execute("CREATE OR REPLACE MACRO gain_bound(n) AS 0")
    return path


@pytest.fixture
def stranger(strangers, tmp_path):
    """Return a copy of the stranger's database that a test may change."""
    return Path(shutil.copy(strangers, tmp_path))


def test_of_a_strangers_database_only_the_tables_of_the_contract_are_read(stranger, tiny_store):
    before, store = sql_attack.file_hashes(stranger.parent), open_store(stranger)
    assert store.counts().equals(tiny_store.counts())
    ours = tiny_store.query("SELECT *, gain_bound(2) AS g_max FROM gain_by_model ORDER BY ALL")
    theirs = store.query("SELECT *, gain_bound(2) AS g_max FROM gain_by_model ORDER BY ALL")
    pd.testing.assert_frame_equal(theirs, ours)
    for sql in ("FROM evil", "FROM evil()", "SELECT evil_scalar()"):
        with pytest.raises(QueryError, match="does not exist"):
            store.query(sql)
    for sql in ("FROM database_file.evil", "FROM database_file.main.evil()"):
        with pytest.raises(QueryError, match="is another place"):
            store.query(sql)
        with pytest.raises(duckdb.PermissionException):
            store.connection.execute(sql)
    store.connection.execute("DETACH database_file")
    with pytest.raises(duckdb.Error, match="only read"):
        store.connection.execute(f"ATTACH 'store://{stranger}' AS again")
    assert sql_attack.file_hashes(stranger.parent) == before


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE claim_family; CREATE VIEW claim_family AS SELECT 1 AS claim_id, 'a' AS family",
        "ALTER TABLE metric ALTER COLUMN symbol TYPE INTEGER USING 1",
        "DROP TABLE caveat; CREATE TABLE caveat "
        "(caveat_id VARCHAR NOT NULL, title VARCHAR NOT NULL, explanation VARCHAR NOT NULL)",
    ],
)
def test_a_database_whose_tables_are_not_the_contracts_is_refused(stranger, change):
    with duckdb.connect(str(stranger)) as connection:
        connection.execute("SET search_path = 'raw'")
        connection.execute(change)
    with pytest.raises(StoreError, match=r"it lacks claim_family|be as collect/schema\.sql says"):
        open_store(stranger)


def test_a_database_with_changes_in_a_log_beside_it_is_refused(stranger):
    stranger.with_name(f"{stranger.name}.wal").write_bytes(b"")
    with pytest.raises(StoreError, match="must be complete by itself"):
        open_store(stranger)


def test_a_share_of_the_long_attack_changes_nothing(tiny_copy, stranger, monkeypatch):
    folder = tiny_copy.parent
    (folder / "work").mkdir()
    monkeypatch.chdir(folder / "work")
    before = sql_attack.file_hashes(folder)
    for source, rng in zip((tiny_copy, stranger), np.random.default_rng(1).spawn(2), strict=True):
        store = open_store(source)
        rows = sql_attack.table_hashes(store)
        ends = sql_attack.attack(store, folder, n=200, rng=rng)
        assert sql_attack.table_hashes(store) == rows
        assert ends["refused by the check"] > 20
        assert ends[sql_attack.UNCLEAR] == 0
        sql_attack.attack_engine(open_store(source), folder, n=100, rng=rng)
    assert sql_attack.file_hashes(folder) == before


def test_the_statements_are_of_every_kind_that_duckdb_has():
    result = sql_attack.kinds(3000, np.random.default_rng(2))
    # Its parser gives none of these: COPY FROM DATABASE is a PRAGMA, ANALYZE a VACUUM, and so on.
    never_parsed = {"ANALYZE", "COPY_DATABASE", "CREATE_FUNC", "EXTENSION", "INVALID"}
    never_parsed |= {"LOGICAL_PLAN", "RELATION", "VARIABLE_SET"}
    assert {*duckdb.StatementType.__members__, "OTHER"} - never_parsed <= set(result)
