"""Units in packs: the same rows, marks and answers, and the way back to the very same bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.store import open_store
from analysis.tidy.errors import StoreError
from collect.commands.cli import main
from collect.errors import InputError, OutputError
from collect.record import status
from collect.record.atomic import placement
from collect.record.compaction import compact, expand
from collect.record.integrity import faults
from collect.record.inventory import Inventory
from collect.record.packed import packing, packs, revisions, unpacking
from collect.record.revision import write_revision
from collect.record.stem import file_stem
from collect.record.units import Unit
from collect.schema import ContractError, incomplete_units, table_files
from tests.collect.record.written import close, files

SAMPLE = Path(__file__).parents[4] / "data/sample"
MODELS = ("thermoscope--gpt2-l4-adamw", "thermoscope--gptneox-l4-adamw")
STEPS = (1, 2, 512)
UNITS = [unit for model in MODELS for unit in (model, f"{model}@A_grand_unified")]


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    """The four units of two models of the sample."""
    directory = tmp_path_factory.mktemp("units")
    for path in SAMPLE.glob("*/*.parquet"):
        if path.stem in (*UNITS, "A_grand_unified"):
            to = directory / path.parent.name / path.name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to)
    for step in STEPS:
        write_revision(asked(step), directory, training_step=step, training_tokens=None)
    return directory


def asked(step: int) -> Unit:
    """Return a unit of a checkpoint at a step."""
    known = {"model_id": MODELS[0], "revision": "0" * 40, "revision_name": f"step{step}"}
    return Unit({**known, "weights_sha256": f"{step:064d}", "config_sha256": "1" * 64}, {})


@pytest.fixture
def loose(units, tmp_path):
    return Path(shutil.copytree(units, tmp_path / "store"))


@pytest.fixture(scope="module")
def packed(units, tmp_path_factory):
    out = tmp_path_factory.mktemp("packed") / "store"
    assert compact(units, out).n_units == 4
    return out


def content(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in files(directory)}


def rows(directory: Path) -> dict[str, list]:
    """Return how many rows of each run count, by table."""
    found = {}
    for table, paths in table_files(directory).items():
        read = pa.concat_tables(pq.ParquetFile(path).read() for path in paths)
        if "run_id" in read.column_names:
            found[table] = sorted(read.column("run_id").value_counts().to_pylist(), key=str)
    return found


def states(directory: Path) -> dict[str, str]:
    return status.units(directory).set_index("unit")["state"].to_dict()


def test_a_pack_holds_what_its_units_held(units, packed, capsys):
    assert {table: len(paths) for table, paths in table_files(packed).items()} == dict.fromkeys(
        table_files(units), 1
    )
    assert rows(packed) == rows(units)
    assert status.units(packed).equals(status.units(units))
    assert main(["check", str(packed)]) == 0
    known = {entry.path.name: entry.mark for entry in Inventory(packed).entries()}
    assert known == {entry.path.name: entry.mark for entry in Inventory(units).entries()}
    assert incomplete_units(packed) == []


def test_a_pack_is_sorted_by_model_and_run(packed):
    for table in ("residual_update", "token_prediction", "weight_norm"):
        (path,) = table_files(packed)[table]
        order = pq.ParquetFile(path).read(columns=["model_id", "run_id"]).to_pylist()
        assert order == sorted(order, key=lambda row: (row["model_id"], row["run_id"]))


def test_the_way_back_gives_every_byte(units, packed, tmp_path, capsys):
    assert main(["compact", str(packed), "--expand", "--out", str(tmp_path / "back")]) == 0
    said = capsys.readouterr().out
    assert "4 units, 1 pack, 3 files of revisions: 17 Parquet files" in said
    assert content(tmp_path / "back") == content(units)
    for entry in Inventory(packed).entries():
        times = entry.mark.times.items()
        assert all((tmp_path / "back" / name).stat().st_mtime_ns == at for name, at in times)


def test_what_another_version_wrote_comes_back_with_new_marks(packed, tmp_path, monkeypatch):
    write = unpacking.write_parquet
    monkeypatch.setattr(
        unpacking, "write_parquet", lambda table, arrow, path: pq.write_table(arrow, path)
    )
    back = tmp_path / "back"
    expand(packed, back)
    monkeypatch.setattr(unpacking, "write_parquet", write)
    assert rows(back) == rows(packed)
    assert states(back) == dict.fromkeys(UNITS, "complete")
    assert list(faults(back)) == []


def test_revisions_in_a_pack_are_known_and_a_damaged_one_is_found(units, packed, tmp_path):
    sql = "SELECT * FROM revision ORDER BY ALL"
    assert open_store(packed).query(sql).equals(open_store(units).query(sql))
    copy = Path(shutil.copytree(packed, tmp_path / "copy"))
    for step in (*STEPS, 1000):  # what is measured again, and a step that is new
        write_revision(asked(step), copy, training_step=step, training_tokens=None)
    (new,) = (path for path in table_files(copy)["revision"] if "step1000" in path.stem)
    (pack,) = revisions.revision_packs(copy)
    assert set(table_files(copy)["revision"]) == {pack, new}
    columns = pq.ParquetFile(pack).read()
    pq.write_table(columns.slice(1).replace_schema_metadata(columns.schema.metadata), pack)
    assert "must hold the rows that were packed" in "".join(faults(copy))
    with pytest.raises(InputError, match="must be as they were written"):
        expand(copy)


def test_a_damaged_file_of_revisions_is_refused_and_stays(tmp_path):
    for step in STEPS:
        write_revision(asked(step), tmp_path, training_step=step, training_tokens=None)
    damaged = tmp_path / "revision" / "damaged.parquet"
    damaged.write_bytes(b"no table")
    before = content(tmp_path)
    with pytest.raises(ContractError, match=r"damaged\.parquet must be a complete file"):
        revisions.pack_revisions(tmp_path)
    assert content(tmp_path) == before


def test_a_file_of_revisions_that_says_otherwise_than_its_pack_is_refused(tmp_path):
    def write(tokens):
        for step in STEPS:
            write_revision(asked(step), tmp_path, training_step=step, training_tokens=tokens)
        return content(tmp_path)

    known = write(1000)
    shutil.rmtree(tmp_path / "revision")
    write(None)
    assert revisions.pack_revisions(tmp_path) == len(STEPS)
    name = min(known)  # as a copy of another directory brings it
    (tmp_path / name).write_bytes(known[name])
    before = content(tmp_path)
    for change in (revisions.pack_revisions, revisions.unpack_revisions):
        with pytest.raises(InputError, match="must hold the rows that a pack holds by its name"):
            change(tmp_path)
    assert content(tmp_path) == before


def test_packs_open_as_one_store_with_their_units(units, packed):
    sql = "SELECT model_id, count(*) AS n, sum(norm) FROM residual_norm GROUP BY ALL ORDER BY ALL"
    store = open_store(packed, units, verify=True)  # what the second repeats is left out
    assert store.query(sql).equals(open_store(units).query(sql))
    assert store.comparison.n_hashes == store.comparison.n_files


def kill_at(monkeypatch, act: str, place: str) -> None:
    """Let the process end just before it renames to a place, or removes what is there."""

    def guarded(name, done):
        def acted(*given, **how):
            if name == act and str(given[-1]).partition("@")[0].endswith(place):
                raise Killed
            return done(*given, **how)

        return acted

    monkeypatch.setattr(Path, "unlink", guarded("remove", Path.unlink))
    monkeypatch.setattr(placement, "rename", guarded("rename", placement.rename))
    monkeypatch.setattr(packing.shutil, "rmtree", lambda *_, **__: None)


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (compact, ("rename", "run/PACK")),  # all is in place but the mark
        (compact, ("remove", f"run/{UNITS[0]}.parquet")),  # the mark is set
        (compact, ("remove", f"weight_norm/{UNITS[2]}.parquet")),
        (compact, ("remove", f"step512~{'0' * 10}~{'0' * 10}.parquet")),
        (expand, ("remove", "revision/OTHER")),
        (expand, ("rename", f"residual_norm/{UNITS[3].partition('@')[0]}")),
        (expand, ("remove", "run/PACK")),
        (expand, ("remove", "weight_norm/PACK")),
    ],
)
def test_a_killed_change_leaves_the_units_or_the_pack(  # noqa: PLR0917
    change, step, units, packed, tmp_path, monkeypatch
):
    whole = rows(units)
    directory = Path(shutil.copytree(units if change is compact else packed, tmp_path / "copy"))
    (pack,), (other,) = (packed / "run").iterdir(), (packed / "revision").iterdir()
    with monkeypatch.context() as patched:
        kill_at(patched, step[0], step[1].replace("PACK", pack.name).replace("OTHER", other.name))
        with pytest.raises(Killed):
            change(directory)
    assert rows(directory) == whole
    assert states(directory) == dict.fromkeys(UNITS, "complete")
    expand(directory)
    assert content(directory) == content(units)


@pytest.mark.parametrize(("change", "table"), [(compact, "residual_norm"), (expand, "run")])
def test_a_table_that_may_not_change_leaves_every_file_as_it_was(  # noqa: PLR0917
    change, table, units, packed, tmp_path, monkeypatch
):
    directory = Path(shutil.copytree(units if change is compact else packed, tmp_path / "copy"))
    before = content(directory)
    close(monkeypatch, directory / table)
    with pytest.raises(OutputError, match=f"{table} must be writable; files in it may not"):
        change(directory)
    assert content(directory) == before


def test_a_unit_that_is_replaced_leaves_its_pack(packed, tmp_path, units):
    copy = Path(shutil.copytree(packed, tmp_path / "copy"))
    unpacking.unpack_units(["nothing of the kind"], copy)
    assert len(packs.packs(copy)) == 1
    unpacking.unpack_units([UNITS[1]], copy)
    assert revisions.unpack_revisions(copy) == len(STEPS)
    assert content(copy) == content(units)


def test_units_that_cannot_be_packed_stay(loose):
    (loose / "attention" / f"{UNITS[3]}.parquet").write_bytes(b"PAR1")
    done = compact(loose)
    assert (done.n_units, done.left) == (3, (UNITS[3],))
    assert UNITS[3] in done.words
    assert states(loose) == {**dict.fromkeys(UNITS[:3], "complete"), UNITS[3]: "incomplete"}


def test_a_damaged_pack_is_found_and_never_written_out(packed, tmp_path):
    copy = Path(shutil.copytree(packed, tmp_path / "copy"))
    (path,) = table_files(copy)["attention"]
    damaged = bytearray(path.read_bytes())
    damaged[1000] ^= 1
    path.write_bytes(damaged)
    assert set(states(copy).values()) == {"incomplete"}
    assert "the content that it hashed" in "".join(faults(copy))
    with pytest.raises(InputError, match="must be as their run file says"):
        expand(copy)
    with pytest.raises(StoreError, match="the content that was hashed"):
        open_store(copy, verify=True)
    (run,) = table_files(copy)["run"]
    run.write_bytes(run.read_bytes()[:-100])
    with pytest.raises(ContractError, match="it cannot be read"):
        table_files(copy)


def test_what_cannot_be_packed_is_refused(units, packed, tmp_path):
    with pytest.raises(InputError, match="no run file was found"):
        compact(tmp_path)
    with pytest.raises(InputError, match="must be new"):
        compact(units, packed)
    with pytest.raises(InputError, match="must not make that of packed units"):
        file_stem("packed~0123456789abcdef")
