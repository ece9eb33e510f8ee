"""What an output holds, and whether its files are what their marks say."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from collect.commands.cli import main
from collect.record import status
from collect.record.atomic import locks
from collect.record.integrity import faults
from collect.schema.headers import reading
from tests.collect.record.written import change_column, flip, rewrite

WEIGHTS, PROMPTS = "local--gpt2", "local--gpt2@own"


@pytest.fixture
def out(gpt2_output, tmp_path):
    """An output with the two units of one model."""
    return Path(shutil.copytree(gpt2_output, tmp_path / "out"))


def states(out):
    return status.units(out).set_index("unit")["state"].to_dict()


def test_complete_units_are_listed_with_what_their_run_says(out):
    units = status.units(out).set_index("unit")
    assert units["state"].to_dict() == {WEIGHTS: "complete", PROMPTS: "complete"}
    assert units["model_id"].tolist() == ["local/gpt2"] * 2
    assert units.loc[PROMPTS, "prompt_set"] == "own"
    assert units.loc[PROMPTS, "quantities"] == "stream,attention,geometry"
    assert units.loc[PROMPTS, "dtype_compute"] == "float32"
    n_rows = sum(
        pq.read_metadata(path).num_rows
        for path in out.glob("*/local--gpt2@own.parquet")
        if path.parent.name != "run"
    )
    assert units.loc[PROMPTS, "n_rows"] == n_rows + 4  # the prompts


def test_a_unit_under_way_is_measuring(out, monkeypatch):
    (out / "run" / f"{PROMPTS}.parquet").unlink()
    monkeypatch.setattr(locks, "is_held_elsewhere", lambda _out, name: name == PROMPTS)
    assert states(out) == {WEIGHTS: "complete", PROMPTS: "measuring"}


def test_status_prints_a_line_per_unit_or_json(out, capsys):
    assert main(["status", str(out)]) == 0
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["unit", "state", "n_rows"]
    assert first.split()[:2] == [WEIGHTS, "complete"]
    assert second.split()[:2] == [PROMPTS, "complete"]
    assert main(["status", str(out), "--json"]) == 0
    units = json.loads(capsys.readouterr().out)
    assert [unit["unit"] for unit in units] == [WEIGHTS, PROMPTS]
    assert units[0]["prompt_set"] is None
    assert units[1]["started_at"].startswith("20")


@pytest.mark.parametrize("verb", ["status", "check"])
def test_a_directory_without_units_exits_2(tmp_path, verb, capsys):
    assert main([verb, str(tmp_path)]) == 2
    assert "units of measurement" in capsys.readouterr().err
    assert main([verb, str(tmp_path / "nothing")]) == 2


FILES = ["run/local--gpt2@own", "attention/local--gpt2@own", "model/local--gpt2", "prompt/own"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_inverted_byte_gives_a_traceback(out, name, capsys):
    path = out / f"{name}.parquet"
    whole = path.read_bytes()
    for place in (0, len(whole) // 3, len(whole) * 2 // 3, len(whole) - 1):
        flip(path, place)
        assert main(["status", str(out)]) == 0
        assert main(["check", str(out)]) in (0, 1)
        path.write_bytes(whole)
    assert main(["check", str(out)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_unit_is_measured_again(save_tiny, prompt_file, out, name):
    path = out / f"{name}.parquet"
    flip(path, len(path.read_bytes()) // 4)
    command = ["run", str(save_tiny("gpt2")), "--prompts", str(prompt_file), "--out", str(out)]
    assert main([*command, "--quiet"]) == 0
    assert list(faults(out)) == []


def of(table, change, stem=PROMPTS):
    """Return what changes the rows of a file of an output."""
    return lambda out: rewrite(out / table / f"{stem}.parquet", change)


def column(table, name, values, stem=PROMPTS):
    return lambda out: change_column(out / table / f"{stem}.parquet", name, values)


def repeated(rows):
    return pa.concat_tables([rows.slice(0, 1), rows.slice(0, 47)])


def misnamed(rows):
    return rows.rename_columns([*rows.column_names[:-1], "odd"])


def widen(out):
    path = out / "matrix_norm" / f"{WEIGHTS}.parquet"
    rows = pq.ParquetFile(path).read()
    place = rows.column_names.index("layer")
    pq.write_table(rows.set_column(place, "layer", rows.column("layer").cast(pa.int64())), path)


@pytest.mark.parametrize(
    ("damage", "sentence", "is_incomplete"),
    [
        (column("attention", "mass", lambda it: pc.add(it, 1e-9)), "content than its unit", None),
        (of("attention", lambda rows: rows.slice(1)), "has 47 rows; its unit's run file", True),
        (of("attention", repeated), "must satisfy schema.sql; found: Constraint Error", None),
        (column("attention", "n_tokens", pa.array([0] * 48, pa.int32())), "CHECK constraint", None),
        (of("matrix_norm", misnamed, WEIGHTS), "missing: frobenius; unknown: odd", None),
        (widen, "other types than schema.sql in layer", None),
        (column("prompt", "text", pc.utf8_upper, "own"), "holds other prompts", None),
        (column("run", "duration_s", pa.array([0.25])), "another row or metadata", True),
        (column("run", "dtype_compute", pa.array(["float16"])), "parquet is float16", None),
        (lambda o: (o / "attention" / f"{PROMPTS}.parquet").unlink(), "is missing", True),
        (lambda o: (o / "run" / f"{PROMPTS}.parquet").unlink(), "was interrupted", True),
        (lambda o: (o / "run" / f"{PROMPTS}.parquet").write_bytes(b"x"), "cannot be read", True),
        (lambda o: (o / "run" / ".x.parquet.1.tmp").touch(), "a run that was killed", False),
        (lambda o: shutil.copytree(o / "model", o / "notes"), "holds Parquet files", False),
        (lambda o: shutil.copytree(o / "model", o / "legacy_value"), "in no run file", False),
    ],
)
def test_what_should_not_be_so_is_told_in_a_sentence(out, damage, sentence, is_incomplete, capsys):
    damage(out)
    assert main(["check", str(out)]) == 1
    assert sentence in capsys.readouterr().out
    if is_incomplete is not None:
        state = "incomplete" if is_incomplete else "complete"
        assert states(out) == {WEIGHTS: "complete", PROMPTS: state}


@pytest.mark.parametrize("name", ["residual_norm.parquet", "prompt.csv", "run.csv"])
def test_a_table_beside_its_directory_is_found(out, name):
    table = Path(name).stem
    part = next((out / table).glob("*.parquet"))
    if name.endswith(".parquet"):
        shutil.copy(part, out / name)
    else:
        pq.read_table(part).to_pandas().to_csv(out / name, index=False)
    (fault,) = faults(out)
    assert fault.startswith(f"Table {table} lies in two places")


def test_a_column_of_another_kind_is_told_and_no_internal_error(out, capsys):
    name = next((out / "conformance").iterdir())
    nested = pa.array([[{"a": [1]}]] * pq.read_metadata(name).num_rows)
    rows = pq.ParquetFile(name).read()
    place = rows.column_names.index("run_id")
    pq.write_table(rows.set_column(place, "run_id", nested), name)
    assert main(["check", str(out)]) == 1
    assert name.name in capsys.readouterr().out


def test_a_status_reads_each_run_file_once(out, monkeypatch):
    opened, file = [], pq.ParquetFile
    monkeypatch.setattr(pq, "ParquetFile", lambda path, **how: opened.append(path) or file(path))
    assert {*states(out).values()} == {"complete"}
    runs = [path for path in opened if path.parent.name == "run"]
    assert len(runs) == len({*runs}) == len([*(out / "run").iterdir()])


def test_a_check_opens_each_file_of_small_rows_once(out, monkeypatch):
    monkeypatch.setattr(reading, "_MANY", 1)
    opened, file = [], pq.ParquetFile
    monkeypatch.setattr(pq, "ParquetFile", lambda path, **how: opened.append(path) or file(path))
    assert not list(faults(out))
    own = [path for path in opened if path.parent.name != "prompt"]  # its hash reads it again
    assert len(own) == len({*own})
    assert {path.parent.name for path in own} >= {"run", "model", "residual_norm"}
