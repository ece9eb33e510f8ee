"""Opening measurements: what is visible, what is refused, and that nothing is written."""

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import audit as claims
from analysis.delia2026.pages.register import CLAIMS
from analysis.delia2026.transition import stated
from analysis.store import open_store, shared
from analysis.tidy.errors import QueryError, StoreError
from collect import schema
from collect.record.publication.database import write_database
from collect.record.writer import write_table
from collect.schema import contract
from tests.analysis.places import ROOT


def test_every_table_is_there_and_its_rows_are_those_of_the_files(tiny_store):
    assert tiny_store.counts()["table"].tolist() == list(schema.tables())
    counts = tiny_store.counts().set_index("table")["n_rows"]
    counted = counts[["model", "prompt", "run", "residual_norm", "attention"]]
    assert counted.tolist() == [1, 2, 2, 18, 12]


def test_the_schema_is_replayed_once_and_facts_are_asked_of_the_engine_once(
    tiny_directory, monkeypatch
):
    replayed = []
    text = contract.schema_sql()
    monkeypatch.setattr(contract, "schema_sql", lambda: replayed.append(1) or text)
    open_store(tiny_directory)
    assert len(replayed) == 1
    store = open_store(tiny_directory)
    first = store.facts("SELECT model_id FROM raw.model WHERE model_id = $name", name="test/tiny")
    first.loc[0, "model_id"] = "changed"
    store.connection.close()
    again = store.facts("SELECT model_id FROM raw.model WHERE model_id = $name", name="test/tiny")
    assert again["model_id"].tolist() == ["test/tiny"]


def test_an_interrupted_unit_is_left_out_and_named(tiny_copy):
    (tiny_copy / "run" / "test--tiny@S.parquet").unlink()
    store = open_store(tiny_copy)
    assert store.counts().set_index("table")["n_rows"]["residual_norm"] == 0
    assert [unit.rpartition(": ")[2] for unit in store.incomplete] == ["test--tiny@S"]


def test_a_half_written_file_is_refused_by_name(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StoreError, match=r"test--tiny@S\.parquet must be a complete file"):
        open_store(tiny_copy)


def test_a_lost_file_and_two_prompt_sets_of_one_name_are_refused(tmp_path):
    sample = Path(shutil.copytree(ROOT / "data/sample", tmp_path / "sample"))
    name = "attention/thermoscope--gpt2-l4-adamw@A_grand_unified.parquet"
    (sample / name).unlink()
    with pytest.raises(StoreError, match=f"lacks {name}"):
        open_store(sample)
    for place, text in (("ours", "The sky is"), ("theirs", "The sea is")):
        (tmp_path / place).mkdir()
        row = {"prompt_set": "prompts", "prompt_id": "prompts:00", "text": text}
        rows = pd.DataFrame([row], columns=schema.arrow_schema("prompt").names)
        rows.to_csv(tmp_path / place / "prompt.csv", index=False)
    with pytest.raises(StoreError, match="under another name, or open them apart"):
        open_store(tmp_path / "ours", tmp_path / "theirs")


def test_a_misnamed_column_is_refused_with_a_guess(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    rows = pq.read_table(path)
    renamed = ["norms" if name == "norm" else name for name in rows.column_names]
    pq.write_table(rows.rename_columns(renamed), path)
    with pytest.raises(StoreError, match="missing: norm; unknown: norms") as refusal:
        open_store(tiny_copy)
    assert refusal.value.hint == "norms is probably norm."


def test_a_row_that_breaks_a_check_is_refused(tiny_copy):
    path = tiny_copy / "model" / "test--tiny.parquet"
    rows = pq.read_table(path)
    place = rows.column_names.index("n_layers")
    field = rows.schema.field(place)
    pq.write_table(rows.set_column(place, field, pa.array([0], field.type)), path)
    with pytest.raises(StoreError, match="CHECK constraint"):
        open_store(tiny_copy)


def test_two_directories_count_one_run_once_and_refuse_two_of_one_unit(tiny_directory, tiny_copy):
    both = open_store(tiny_directory, tiny_copy).counts()
    assert both["n_rows"].tolist() == open_store(tiny_directory).counts()["n_rows"].tolist()
    path = tiny_copy / "run" / "test--tiny@S.parquet"
    rows = pq.read_table(path).to_pandas().assign(run_id="another")
    write_table("run", rows, path)
    with pytest.raises(StoreError, match="must be measured in one way"):
        open_store(tiny_directory, tiny_copy)


def test_a_measured_model_keeps_its_numbers_and_takes_missing_labels_from_a_table(
    tiny_directory, tmp_path
):
    hand_made = tmp_path / "published"
    hand_made.mkdir()
    columns = [column.name for column in schema.tables()["model"].columns]
    row = dict.fromkeys(columns) | {"model_id": "test/tiny", "lab": "another lab", "year": 2024}
    row |= {
        "family": "gpt2",
        "n_layers": 3,
        "d_model": 4,
        "n_heads": 2,
        "n_kv_heads": 1,
        "d_head": 2,
    }
    pd.DataFrame([row]).to_csv(hand_made / "model.csv", index=False)
    model = open_store(hand_made, tiny_directory).query("FROM raw.model").iloc[0]
    assert (model["lab"], model["year"]) == ("a lab", 2024)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (["nowhere"], "existing places"),
        (["empty"], "at least one table of measurements"),
        (["text.duckdb"], "must be a DuckDB database"),
        (["nothing.duckdb"], "must be a DuckDB database"),
        (["other.duckdb"], "must hold every table"),
        (["nothing.duckdb", "copy"], "must be opened alone"),
        (["reshaped", "copy"], "must agree on its geometry"),
    ],
)
def test_what_is_no_store_is_refused(tiny_copy, tmp_path, places, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.duckdb").write_text("hello")
    (tmp_path / "nothing.duckdb").touch()
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute("CREATE TABLE x (i INTEGER)")
    (tmp_path / "reshaped").mkdir()
    model = pd.read_parquet(tiny_copy / "model" / "test--tiny.parquet").assign(n_layers=4)
    model.to_csv(tmp_path / "reshaped" / "model.csv", index=False)
    with pytest.raises(StoreError, match=message):
        open_store(*(tmp_path / place for place in places))


def test_names_are_guessed_values_bound_and_comments_survive(tiny_store):
    with pytest.raises(QueryError, match=r'"modl_id" not found.*"model_id"'):
        tiny_store.query("SELECT modl_id FROM raw.model")
    name = "'; DROP TABLE model; --"
    assert tiny_store.query("FROM raw.model WHERE model_id = $name", name=name).empty
    rows = tiny_store.query(
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'residual_norm' "
        "AND column_name = 'norm'"
    )
    assert rows["comment"].item().endswith("[activation units]")


def test_a_database_file_judges_and_states_what_its_directory_does(published_store, tmp_path):
    path = tmp_path / "published.duckdb"
    write_database(published_store.sources, path)
    store = open_store(path)
    assert store.counts().equals(published_store.counts())
    for claim_id in (4, 33, 34, 40, 41, 43, 53):
        rows = claims.checks(published_store, claim_id, CLAIMS)
        pd.testing.assert_frame_equal(claims.checks(store, claim_id, CLAIMS), rows)
    pd.testing.assert_frame_equal(stated.ledger(store), stated.ledger(published_store))


def test_what_is_shared_is_computed_once_for_each_store_and_argument(tiny_directory):
    asked = []

    @shared
    def n_rows(store, table="model"):
        asked.append(store)
        return len(store.query(f"FROM {table} LIMIT 1"))

    stores = [open_store(tiny_directory), open_store(tiny_directory)]
    assert [n_rows(store) for store in (*stores, *stores)] == [1, 1, 1, 1]
    assert len(asked) == 2
    assert [n_rows(stores[0], "metric"), n_rows(stores[0], "metric")] == [0, 0]
    assert len(asked) == 3
    kind = shared(lambda _store, value: type(value).__name__)
    kinds = [kind(stores[0], value) for value in (1, True, 1.0, 1)]
    assert kinds == ["int", "bool", "float", "int"]
    told = shared(lambda _store, *, value: type(value).__name__)
    assert [told(stores[0], value=value) for value in (0, False)] == ["int", "bool"]


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], {"pandas", "numpy", "duckdb", "pyarrow"}),
        (["claim", "999"], {"pandas", "numpy", "duckdb", "pyarrow"}),
        (["sql", "SELECT 1"], {"scipy", "altair", "statsmodels", "pingouin", "patsy"}),
        (["claim", "25"], {"altair", "pingouin", "matplotlib"}),
    ],
)
def test_a_verb_imports_what_it_needs(arguments, unneeded):
    program = f"""
import sys
from analysis.commands.cli import main
try:
    main({arguments})
except SystemExit:
    pass
print(*sys.modules)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not unneeded & set(ran.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("first", "views", "is_made"),
    [
        (
            "SELECT count(*) AS n FROM (SHOW TABLES) WHERE name = 'primary_run'",
            {"model_gain"},
            True,
        ),
        ("SELECT count(*) = 0 AS n FROM model_gain", {"main.model_gain", "model_gain"}, False),
        ('SELECT count(*) > 0 AS n FROM "GAIN_BY_MODEL"', {"gain_by_model", "model_gain"}, False),
        ("SELECT gain_bound(1) = 10 AS n", {"main.gain_bound"}, False),
    ],
)
def test_a_query_makes_what_it_reads_and_the_catalogue_shows_all(
    published_store, first, views, is_made
):
    store = open_store(*published_store.sources)
    assert store.query("SELECT 1 AS n")["n"].item() == 1
    assert not store._deferred.made
    assert store.query(first)["n"].item() == 1
    assert store._deferred.made >= views
    assert store._deferred.is_made == is_made


def test_a_file_that_went_since_is_refused_and_may_come_back(tmp_path):
    name = "thermoscope--gpt2-l4-adamw@A_grand_unified.parquet"
    for table in ("run", *schema.MEASURED, "prompt"):
        for path in (ROOT / "data/sample" / table).glob(f"*{name.partition('@')[2]}"):
            if path.name in (name, "A_grand_unified.parquet"):
                (tmp_path / table).mkdir(exist_ok=True)
                shutil.copy2(path, tmp_path / table)
    store = open_store(tmp_path)
    path = tmp_path / "residual_norm" / name
    away = path.rename(path.with_suffix(".away"))
    for _ in range(2):
        with pytest.raises(StoreError, match="must stay where they were opened"):
            store.query("FROM residual_norm")
    away.rename(path)
    # A parameter names the table, so the text of the query does not.
    named = store.query("FROM histogram_values($name, norm)", name="residual_norm")
    assert named["count"].sum() == len(store.query("FROM residual_norm")) > 0


def test_keys_that_cannot_be_read_are_refused(tiny_directory, tmp_path):
    path = tmp_path / "residual_norm.parquet"
    shutil.copy(tiny_directory / "residual_norm" / "test--tiny@S.parquet", path)
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(40) + content[44:])
    with pytest.raises(StoreError, match=r"The keys of table residual_norm must be readable; "):
        open_store(tmp_path)
