"""One DuckDB file: complete, commented, readable by older programs, never from mixed sources."""

import errno
import os
import shutil
from pathlib import Path

import duckdb
import pytest

from collect.commands.cli import main
from collect.errors import InputError, OutputError
from collect.job.run import run
from collect.record.publication.database import write_database
from collect.schema import ContractError, tables
from tests.collect.commands.test_refusals import no_file_beyond

PUBLISHED = Path(__file__).parents[4] / "data" / "published"
N_CLAIMS = (PUBLISHED / "verdict.csv").read_text().count("\n") - 1


@pytest.fixture
def measured(gpt2_output, tmp_path):
    return Path(shutil.copytree(gpt2_output, tmp_path / "measured"))


@pytest.fixture
def database(tmp_path):
    return tmp_path / "new" / "all.duckdb"


def query(path, sql):
    with duckdb.connect(path, read_only=True) as connection:
        return connection.sql(sql).fetchall()


def test_the_file_reopens_read_only_with_tables_views_and_macros(measured, database):
    n_rows = write_database([PUBLISHED, measured], database)
    assert n_rows["next_token"] == 4
    assert n_rows["claim"] == N_CLAIMS
    assert query(database, "SELECT count(*) FROM raw.next_token") == [(4,)]
    assert query(database, "SELECT count(*) FROM raw.last_token_gain") == [(4 * 3,)]
    assert query(database, "SELECT count(*), count(gain) FROM block") == [(4 * 3, 4 * 2)]
    assert query(database, "SELECT round(gain_bound(1), 6)") == [(10.0,)]
    assert [path.name for path in database.parent.iterdir()] == ["all.duckdb"]
    ((tags,),) = query(database, "SELECT tags FROM duckdb_databases() WHERE path IS NOT NULL")
    assert tags["storage_version"].startswith("v1.2.0")  # which older programs read
    names = "SELECT table_name || '.' || column_name, comment FROM duckdb_columns()"
    result = dict(query(database, f"{names} WHERE schema_name = 'raw'"))
    for table in tables().values():
        for column in table.columns:
            expected = f"{column.meaning} [{column.unit}]"
            assert result[f"{table.name}.{column.name}"] == expected


def test_two_files_of_the_same_rows_hold_the_same_numbers_to_the_last_digit(tmp_path):
    found = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.duckdb"
        write_database([PUBLISHED.with_name("sample")], path)
        front = query(path, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")
        found.append({table: query(path, f"FROM main.{table} ORDER BY ALL") for (table,) in front})
    assert repr(found[0]) == repr(found[1])
    assert len(found[0]["model_gain"]) == 12


def test_the_same_unit_in_two_directories_counts_once(measured, database, tmp_path):
    shutil.copytree(measured, tmp_path / "copy")
    once = write_database([measured], database)
    assert write_database([measured, tmp_path / "copy"], database) == once


def test_directories_that_disagree_are_refused_and_the_old_file_stays(
    measured, save_tiny, prompt_file, database, tmp_path
):
    write_database([measured], database)
    before = database.read_bytes()
    other = tmp_path / "other"
    run([str(save_tiny("gpt2", seed=1))], [prompt_file], other, quiet=True)
    with pytest.raises(ContractError, match="local--gpt2 differs between") as refusal:
        write_database([measured, other], database)
    assert str(other) in refusal.value.problem
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == ["all.duckdb"]


def test_a_file_that_cannot_grow_is_refused_and_nothing_is_left(tmp_path, database):
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(PUBLISHED / "claim.csv", source)
    with (
        no_file_beyond(20_000),
        pytest.raises(OutputError, match=r"must be writable; .*File too large"),
    ):
        write_database([source], database)
    assert list(database.parent.iterdir()) == []
    assert write_database([source], database)["claim"] == N_CLAIMS


@pytest.mark.parametrize("n_bytes", [50_000, 70_000, 90_000, 110_000])
def test_no_rows_are_blamed_where_the_file_cannot_grow(n_bytes, measured, database):
    with (
        no_file_beyond(n_bytes),
        pytest.raises(OutputError, match=r"must be writable; .*File too large"),
    ):
        write_database([measured], database)
    assert list(database.parent.iterdir()) == []


@pytest.fixture(scope="module")
def written(gpt2_output, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "all.duckdb"
    write_database([gpt2_output], path)
    return path


#: What makes of a database of ours one that somebody added to.
ADDED = [
    "CREATE VIEW mine AS FROM raw.run",
    "CREATE TABLE mine AS SELECT 42 AS a; COMMENT ON TABLE mine IS 'All my work.'",
    "CREATE SCHEMA mine_too; CREATE TABLE mine_too.model AS SELECT 42 AS a",
    *("CREATE MACRO mine() AS 42", "CREATE SEQUENCE mine", "CREATE TYPE mine AS ENUM ('a')"),
]


def _foreign(kind, tmp_path, written):
    """Return a file that is no database of ours, of a kind."""
    path = tmp_path / "mine.duckdb"
    if kind == "text":
        path.write_text("my,precious\n")
    elif kind == "empty":
        path.touch()
    else:
        if kind in ADDED:
            shutil.copy(written, path)
        with duckdb.connect(path) as connection:
            connection.execute(kind)
    return path


@pytest.mark.parametrize("kind", ["text", "empty", "CREATE TABLE a AS SELECT 1 AS a", *ADDED])
def test_a_file_of_somebody_else_is_replaced_only_where_that_is_asked_for(
    kind, measured, written, tmp_path, capsys
):
    path = _foreign(kind, tmp_path, written)
    before = path.read_bytes()
    typed = ["database", str(measured), "--out", str(path)]
    assert main(typed) == 2
    error = capsys.readouterr().err
    assert str(path) in error
    assert "--overwrite" in error
    assert kind not in ADDED or "mine" in error
    assert path.read_bytes() == before
    if kind in ("text", ADDED[0]):
        assert main([*typed, "--overwrite"]) == 0
        assert query(path, "SELECT count(*) FROM raw.next_token") == [(4,)]
        assert main(typed) == 0  # what the command wrote it replaces


def test_a_database_with_changes_beside_it_stays(measured, database):
    write_database([measured], database)
    database.with_name("all.duckdb.wal").write_bytes(b"changes")
    with pytest.raises(InputError, match=r"all\.duckdb\.wal"):
        write_database([measured], database, overwrite=True)


@pytest.mark.parametrize(
    "place", ["run/{}.parquet", "run/new.parquet", "model.csv", "README.md", "link/{}.parquet"]
)
def test_no_file_of_a_store_is_ever_replaced_and_none_is_put_among_them(place, measured, capsys):
    (measured / "README.md").write_text("A card.")
    (measured / "link").symlink_to(measured / "run")
    run_file = next((measured / "run").iterdir())
    out = measured / place.format(run_file.stem)
    before = {path: path.read_bytes() for path in measured.rglob("*") if path.is_file()}
    typed = ["database", str(measured), "--out", str(out)]
    for more in ([], ["--overwrite"]):
        assert main([*typed, *more]) == 2
        assert str(measured) in capsys.readouterr().err
    after = {path: path.read_bytes() for path in measured.rglob("*") if path.is_file()}
    assert after == before
    assert main([*typed[:-1], str(measured / "all.duckdb")]) == 0


def test_what_is_no_regular_file_is_refused(measured, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match="not a regular file"):
            write_database([measured], tmp_path / name, overwrite=True)


def test_a_file_system_that_is_only_read_is_told_with_the_name_of_the_file(
    measured, database, monkeypatch, capsys
):
    def refuse(_path, *_given, **_more):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(_path))

    for name in ("mkdir", "unlink", "touch"):
        monkeypatch.setattr(Path, name, refuse)
    assert main(["database", str(measured), "--out", str(database)]) == 5
    error = capsys.readouterr().err
    assert "all.duckdb must be writable; Read-only file system" in error
