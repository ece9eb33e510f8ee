"""The contract grows: a column that may be NULL is added, and what is stored opens as before."""

import shutil
import sys

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from analysis.commands.cli import main
from analysis.store import open_store
from analysis.store.sources import shipped_sources
from analysis.tidy.errors import StoreError
from collect import schema
from collect.record.compaction import compact
from collect.record.integrity import faults
from collect.record.publication.database import write_database
from collect.record.publication.description import About
from collect.record.publication.publish import publish
from collect.schema import contract
from collect.schema.headers import Headers
from tests.collect.record.written import SAMPLE, copy_sample, rewrite

STEM = "thermoscope--gpt2-l4-adamw"
PROMPTS = f"{STEM}@A_grand_unified"
TABLES = tuple(schema.tables())


@pytest.fixture
def unit(tmp_path):
    """A directory with the two units of one model of the sample."""
    return copy_sample(tmp_path / "unit", STEM, PROMPTS)


@pytest.fixture
def grow(monkeypatch):
    """Let the contract be another from here on, as a later version would have it."""

    def forget():
        contract._KNOWN.clear()
        contract.table_sql.cache_clear()

    def become(text):
        for module in [*sys.modules.values()]:
            if getattr(module, "schema_sql", None) is not None and module.__name__.startswith(
                ("collect", "analysis")
            ):
                monkeypatch.setattr(module, "schema_sql", lambda: text)
        forget()

    yield become
    monkeypatch.undo()
    forget()


def with_column(tables, column="grown DOUBLE"):
    """Return the contract with one more column, the first, in some tables."""
    text = contract.schema_sql()
    for table in tables:
        start = f"CREATE TABLE {table} (\n"
        assert text.count(start) == 1
        text = text.replace(start, f"{start}    {column},\n")
        name = column.partition(" ")[0]
        text += f"\nCOMMENT ON COLUMN {table}.{name} IS 'Of a later version [1]';"
    return text


def test_a_new_column_of_every_table_is_null_in_all_that_is_shipped(grow):
    before = open_store(*shipped_sources())
    counts = before.counts()
    gains = before.query("FROM gain_by_model ORDER BY ALL")
    grow(with_column(TABLES))
    store = open_store(*shipped_sources())
    assert store.notes == ()
    pd.testing.assert_frame_equal(store.counts(), counts)
    for table in TABLES:
        row = store.query(f'SELECT count(grown) AS n, any_value(grown) AS grown FROM raw."{table}"')
        assert row["n"].item() == 0, table
    pd.testing.assert_frame_equal(store.query("FROM gain_by_model ORDER BY ALL"), gains)
    assert len(store.connection.sql("SELECT * FROM duckdb_views() WHERE NOT internal")) > 0


def test_new_columns_leave_check_copies_and_publications_whole(unit, grow, tmp_path):
    grow(with_column(TABLES, "grown VARCHAR"))
    assert list(faults(unit)) == []
    copy = tmp_path / "copy"
    compact(unit, copy)
    assert list(faults(copy)) == []
    n_rows = open_store(unit).counts()
    pd.testing.assert_frame_equal(open_store(copy).counts(), n_rows)
    about = About("Small", "CC-BY-4.0", ("Us",), pd.Timestamp(2026, 1, 1).date())
    assert publish(unit, about).n_rows == publish(copy, about).n_rows
    database = tmp_path / "one.duckdb"
    assert write_database([unit], database) == n_rows.set_index("table")["n_rows"].to_dict()
    store = open_store(database)
    for table in TABLES:
        known = store.query(f'SELECT count(grown) AS n FROM raw."{table}"')
        assert known["n"].item() == 0, table


def test_old_and_new_files_of_one_table_are_read_together(unit, grow, tmp_path):
    old = tmp_path / "old.duckdb"
    write_database([unit], old)
    grow(with_column(["residual_norm"]))
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    path = fresh / "residual_norm.parquet"
    rows = pq.ParquetFile(unit / "residual_norm" / f"{PROMPTS}.parquet").read()
    rows = rows.set_column(
        rows.column_names.index("run_id"), "run_id", pa.array(["0" * 16] * len(rows))
    )
    pq.write_table(rows.append_column("grown", pa.array([0.5] * len(rows))), path)
    for sources in ([unit, fresh], [fresh, unit]):
        store = open_store(*sources)
        answer = store.query(
            "SELECT count(*) AS n, count(grown) AS k, sum(grown) AS total FROM raw.residual_norm"
        )
        assert answer.loc[0].tolist() == [2 * len(rows), len(rows), 0.5 * len(rows)]
    known = open_store(old).query("SELECT count(*) AS n, count(grown) AS k FROM raw.residual_norm")
    assert known.loc[0].tolist() == [len(rows), 0]


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table.name, column.name)
        for table in schema.tables().values()
        for column in table.columns
        if not column.nullable and [*(SAMPLE / table.name).glob(f"{STEM}*")]
    ],
)
def test_a_column_that_may_not_be_null_must_be_there(unit, table, column):
    files = sorted((unit / table).glob("*.parquet"))
    rewrite(files[0], lambda rows: rows.drop_columns([column]))
    with pytest.raises(StoreError) as refusal:
        open_store(unit)
    assert column in refusal.value.problem or files[0].name in refusal.value.problem
    with pytest.raises(contract.ContractError, match=rf"missing: {column}"):
        schema.read_rows(files[0], table)
    assert any(f"missing: {column}" in fault for fault in faults(unit))


def test_a_table_without_a_required_column_is_refused_with_its_name(tmp_path):
    pd.DataFrame({"metric": ["gain"], "formula": ["x"]}).to_csv(
        tmp_path / "metric.csv", index=False
    )
    required = sorted(schema.tables()["metric"].required - {"metric", "formula"})
    with pytest.raises(StoreError) as refusal:
        open_store(tmp_path)
    assert all(name in refusal.value.problem for name in required)


@pytest.mark.parametrize("table", ["residual_norm", "prompt_geometry", "model", "run"])
def test_a_column_too_many_is_named_and_left_out(table, tmp_path, grow, capsys):
    """What a later version measured, by the real copier of that version."""
    unit = copy_sample(tmp_path / "unit", STEM, PROMPTS)
    copy = tmp_path / "later"
    text = contract.schema_sql()
    grow(with_column([table]))
    compact(unit, copy)
    (path,) = (copy / table).glob("*.parquet")
    assert "grown" in pq.read_schema(path).names
    grow(text)
    store = open_store(copy)
    (note,) = store.notes
    assert f"Column grown of table {table}" in note
    assert path.name in note
    assert "grown" not in store.query(f'FROM raw."{table}" LIMIT 1').columns
    pd.testing.assert_frame_equal(store.counts(), open_store(unit).counts())
    notes = []
    assert list(faults(copy, notes=notes)) == []
    assert notes == [note]
    assert main(["--data", str(copy), "sql", "SELECT 1"]) == 0
    assert f"note: {note}" in capsys.readouterr().err
    assert compact(copy, tmp_path / "again").notes == (note,)
    notes = []
    write_database([copy], tmp_path / "some.duckdb", notes=notes)
    assert notes == [note]
    about = About("Small", "CC-BY-4.0", ("Us",), pd.Timestamp(2026, 1, 1).date())
    assert publish(copy, about).notes == (note,)


def test_a_column_too_many_of_a_table_by_hand_and_of_a_database_is_named(tmp_path, grow):
    rows = pd.read_csv(SAMPLE.parent / "published" / "metric.csv").assign(later=1)
    rows.to_csv(tmp_path / "metric.csv", index=False)
    (note,) = open_store(tmp_path).notes
    assert "Column later of table metric" in note
    database = tmp_path / "one.duckdb"
    write_database([tmp_path], database)
    with duckdb.connect(str(database)) as connection:
        connection.execute("ALTER TABLE raw.metric ADD COLUMN later INTEGER")
    store = open_store(database)
    assert [note for note in store.notes if "Column later of table metric" in note]
    assert len(store.query("FROM raw.metric")) == len(rows)


def test_a_column_that_is_probably_another_misspelt_is_refused(tmp_path):
    shutil.copy2(SAMPLE.parent / "published" / "model.csv", tmp_path)
    text = (tmp_path / "model.csv").read_text()
    heads, _, rest = text.partition("\n")
    nullable = next(
        column.name
        for column in schema.tables()["model"].columns
        if column.nullable and column.name in heads.split(",")
    )
    (tmp_path / "model.csv").write_text(heads.replace(nullable, f"{nullable}s") + "\n" + rest)
    with pytest.raises(StoreError) as refusal:
        open_store(tmp_path)
    assert f"{nullable}s is probably {nullable}" in refusal.value.hint


@pytest.mark.parametrize(
    ("table", "column", "kind"),
    [
        ("residual_norm", "norm", pa.string()),
        ("residual_norm", "layer", pa.int64()),
        ("model", "n_layers", pa.string()),
        ("run", "duration_s", pa.string()),
        ("prompt", "text", pa.binary()),
        ("conformance", "is_met", pa.int8()),
    ],
)
def test_a_column_of_another_type_is_refused_by_name(unit, table, column, kind):
    path = sorted((unit / table).glob("*.parquet"))[0]

    def changed(rows):
        place = rows.column_names.index(column)
        return rows.set_column(place, column, pc.cast(rows.column(column), kind))

    rewrite(path, changed)
    header = Headers().of(path)
    read = header.check_types if table in schema.LARGE else header.read
    with pytest.raises(contract.ContractError, match=rf"other types.* {column} \({kind}\)"):
        read(table)
    assert any(column in fault for fault in faults(unit))
    with pytest.raises(StoreError):
        open_store(unit)


def test_every_file_names_the_version_of_the_contract(unit):
    written = [pq.read_metadata(path).metadata for path in unit.glob("*/*.parquet")]
    versions = {int(metadata[b"schema_version"]) for metadata in written}
    assert versions <= {*schema.READABLE_VERSIONS}
    for table in TABLES:
        metadata = schema.arrow_schema(table).metadata
        assert metadata[b"schema_version"] == str(schema.SCHEMA_VERSION).encode()


def test_a_database_of_an_earlier_version_opens(tmp_path):
    """Its tables lay in schema main, some did not exist, some had no check yet."""
    database = tmp_path / "early.duckdb"
    text = contract.commented(contract.schema_sql())[0]
    with duckdb.connect(str(database)) as connection:
        connection.execute(text)
        for table in ("claim_test_rate", "metric"):
            connection.execute(f"DROP TABLE {table}")
        columns = "metric VARCHAR NOT NULL PRIMARY KEY, unit VARCHAR NOT NULL"
        connection.execute(f"CREATE TABLE metric ({columns}, definition VARCHAR NOT NULL)")
        connection.execute("INSERT INTO metric VALUES ('gain', '1', 'x')")
    store = open_store(database)
    assert store.query("FROM raw.metric")["symbol"].isna().tolist() == [True]
    assert [note for note in store.notes if "Table claim_test_rate is empty" in note]


def test_a_database_whose_rows_break_a_check_is_refused(tmp_path):
    table = next(each for each in schema.tables().values() if each.name == "conformance")
    assert table.checks
    database = tmp_path / "unchecked.duckdb"
    names = ", ".join(
        f'"{column.name}" {column.sql_type}{"" if column.nullable else " NOT NULL"}'
        for column in table.columns
    )
    with duckdb.connect(str(database)) as connection:
        connection.execute(contract.commented(contract.schema_sql())[0])
        connection.execute("DROP TABLE conformance")
        connection.execute(
            f"CREATE TABLE conformance ({names}, PRIMARY KEY ({', '.join(table.key)}))"
        )
        connection.execute(
            "INSERT INTO conformance BY NAME FROM read_parquet($1) LIMIT 1",
            [str(SAMPLE / "conformance" / f"{STEM}.parquet")],
        )
    open_store(database)
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE conformance SET layer = -5, deviation = -1")
    with pytest.raises(StoreError, match=r"Table conformance .* rows break"):
        open_store(database)
