"""A compact copy: one sorted file per table, the same rows and answers, its content hashed."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.store import open_store
from analysis.tidy.errors import StoreError
from collect.commands.cli import main
from collect.errors import InputError, OutputError
from collect.record import compaction, status
from collect.record.compaction import compact
from collect.record.integrity import faults
from collect.record.units import Unit, write_revision
from collect.schema import LARGE, ContractError, incomplete_units, table_files
from tests.collect.record.written import copy_sample, files, flip

MODELS = ("thermoscope--gpt2-l4-adamw", "thermoscope--gptneox-l4-adamw")
UNITS = [unit for model in MODELS for unit in (model, f"{model}@A_grand_unified")]


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    """The four units of two models of the sample, with three revisions."""
    directory = copy_sample(tmp_path_factory.mktemp("units"), *UNITS)
    for step in (1, 2, 512):
        named = {"model_id": MODELS[0], "revision": "0" * 40, "revision_name": f"step{step}"}
        unit = Unit({**named, "weights_sha256": f"{step:064d}", "config_sha256": "1" * 64}, {})
        write_revision(unit, directory, training_step=step, training_tokens=None)
    return directory


@pytest.fixture(scope="module")
def copied(units, tmp_path_factory):
    out = tmp_path_factory.mktemp("copied") / "store"
    assert compact(units, out).n_units == 4
    return out


def test_every_table_is_one_file_with_the_rows_of_the_output(units, copied):
    assert {table: len(paths) for table, paths in table_files(copied).items()} == dict.fromkeys(
        table_files(units), 1
    )
    one, other = open_store(copied, verify=True), open_store(units)
    for table in table_files(units):
        sql = f"FROM {table} ORDER BY ALL"
        assert one.query(sql).equals(other.query(sql)), table
    assert one.comparison.n_hashes == one.comparison.n_files
    stated = status.units(units).drop(columns="n_rows")
    assert status.units(copied).drop(columns="n_rows").equals(stated)
    assert incomplete_units(copied) == []
    assert main(["check", str(copied)]) == 0


@pytest.mark.parametrize("table", ["residual_update", "token_prediction", "weight_norm"])
def test_rows_are_sorted_by_model_and_key(copied, table):
    (path,) = table_files(copied)[table]
    read = pq.ParquetFile(path).read()
    order = [pq.ParquetFile(path).schema.names[c.column_index] for c in _sorting(path)]
    assert order[:2] == ["model_id", "run_id"]
    rows = [
        tuple((v is not None, v) for v in row.values()) for row in read.select(order).to_pylist()
    ]
    assert rows == sorted(rows)


def _sorting(path):
    return pq.read_metadata(path).row_group(0).sorting_columns


def test_what_cannot_be_copied_is_refused_and_leaves_nothing(units, copied, tmp_path):
    with pytest.raises(InputError):
        compact(tmp_path, tmp_path / "out")
    with pytest.raises(InputError):
        compact(units, copied)
    (tmp_path / "link").symlink_to(units)
    for inside in (units / "copy", units / "run" / "copy", tmp_path / "link" / "copy"):
        with pytest.raises(InputError, match="outside the output"):
            compact(units, inside)
        assert not inside.exists()
    for damage in ("missing", "altered"):
        broken = Path(shutil.copytree(units, tmp_path / damage))
        path = broken / "attention" / f"{UNITS[3]}.parquet"
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-8] + b"damaged!")
        with pytest.raises(ContractError):
            compact(broken, tmp_path / "out")
    (tmp_path / "missing" / "run" / f"{UNITS[0]}.parquet").unlink()
    with pytest.raises(InputError, match=UNITS[0]):
        compact(tmp_path / "missing", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_copy_that_fails_halfway_leaves_nothing(units, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compaction, "_write_runs", full)
    with pytest.raises(OutputError, match="No space left"):
        compact(units, tmp_path / "out")
    assert files(tmp_path) == []


@pytest.mark.parametrize("table", ["attention", "revision", "run"])
def test_a_damaged_copy_is_found(copied, tmp_path, table):
    assert "attention" in LARGE
    copy = Path(shutil.copytree(copied, tmp_path / "copy"))
    (path,) = table_files(copy)[table]
    flip(path, 8)
    assert list(faults(copy))
    if table != "run":
        assert set(status.units(copy)["state"]) == {"incomplete"}
        with pytest.raises(StoreError):
            open_store(copy, verify=True)
