"""Directories of measurements and figures with one thing wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.store import open_store
from collect.record.integrity import faults
from tests.fuzz import mutation
from tests.fuzz.trial import Case

ROOT = Path(__file__).parents[2]
SAMPLE, PAPER = ROOT / "data" / "sample", ROOT / "tests" / "analysis" / "second_paper"
STEM = "thermoscope--gpt2-l4-adamw"
#: Left out: the largest tables, whose faults are those of the others.
LEFT_OUT = ("attention",)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a directory to be opened or checked, spoilt in one place."""
    place = folder / "store"
    measured = rng.random() < 0.6
    if measured:
        for path in sorted(SAMPLE.glob(f"*/{STEM}*.parquet")):
            if path.parent.name not in LEFT_OUT:
                (place / path.parent.name).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place / path.parent.name / path.name)
        shutil.copytree(SAMPLE / "prompt", place / "prompt", dirs_exist_ok=True)
    else:
        shutil.copytree(PAPER, place, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    files = sorted(path for path in place.rglob("*") if path.is_file())
    target = files[int(rng.integers(len(files)))]
    done = _spoil(rng, target)
    checks = measured and rng.random() < 0.4

    def act() -> None:
        if checks:
            list(faults(place))
        else:
            store = open_store(place, verify=bool(measured and len(done) % 2))
            store.query("SELECT count(*) FROM raw.model")

    return Case(f"{'check' if checks else 'open'}: {target.relative_to(folder)} {done}", act)


def _spoil(rng: np.random.Generator, path: Path) -> str:
    """Spoil a file and return what was done to it."""
    way = int(rng.integers(0, 6))
    if way == 0:
        path.unlink()
        return "lost"
    if way == 1:
        size = int(rng.integers(0, path.stat().st_size))
        path.write_bytes(path.read_bytes()[:size])
        return f"cut to {size} bytes"
    if way == 2:
        name = str(rng.choice([f"{path.parent.name}.parquet", "prompt.csv", "x.parquet", ".x.tmp"]))
        shutil.copyfile(path, path.with_name(name))
        return f"copied to {name}"
    if path.suffix == ".csv":
        content = mutation.raw(rng, path.read_text())
        path.write_bytes(content)
        return f"as {content!r}"
    if way == 3:
        content = bytearray(path.read_bytes())
        at = int(rng.integers(len(content)))
        content[at] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(content))
        return f"byte {at} as {content[at]}"
    return _spoil_column(rng, path)


def _spoil_column(rng: np.random.Generator, path: Path) -> str:
    """Give one column of a Parquet file another type or content, drop it, or have it twice."""
    table = pq.read_table(path)
    at = int(rng.integers(table.num_columns))
    name, n = table.column_names[at], table.num_rows
    way = str(rng.choice(["drop", "twice", "text", "number", "null", "nested", "rows", "renamed"]))
    new = {
        "text": pa.array([mutation.piece(rng)] * n, pa.string()),
        "number": pa.array([float(rng.choice([0, -1, np.nan, np.inf, 1e300]))] * n),
        "null": pa.nulls(n, table.schema.field(at).type),
        "nested": pa.array([{"a": [1]}] * n, pa.struct([("a", pa.list_(pa.int64()))])),
    }
    if way == "drop":
        table = table.drop_columns([name])
    elif way == "twice":
        table = table.append_column(name, table.column(at))
    elif way == "rows":
        table = pa.concat_tables([table, table]) if rng.random() < 0.5 else table.slice(0, 0)
    elif way == "renamed":
        table = table.rename_columns(
            [mutation.piece(rng) if one == name else one for one in table.column_names]
        )
    else:
        table = table.set_column(at, name, new[way])
    pq.write_table(table, path)
    return f"column {name}: {way}, {ascii(new[way][:1].to_pylist())[:80] if way in new else ''}"
