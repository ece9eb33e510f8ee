"""The analysis in the tidyverse and here: one set of numbers."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "from_r"
PACKAGES = ("dplyr", "tidyr", "purrr", "broom", "lmerTest", "pbkrtest")


def words_and_numbers(text):
    """Return the words of a printed table and its numbers, headers left out."""
    lines = [line for line in text.splitlines() if re.search(r"\d", line)]
    cells = [cell for line in lines for cell in line.split()]
    is_number = [bool(re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell)) for cell in cells]
    words = [cell for cell, number in zip(cells, is_number, strict=True) if not number]
    numbers = [float(cell) for cell, number in zip(cells, is_number, strict=True) if number]
    return words, numbers


def test_the_script_prints_what_the_guide_shows():
    printed = subprocess.run(
        [sys.executable, EXAMPLE / "tidy.py"], capture_output=True, text=True, check=True
    ).stdout
    assert printed == (EXAMPLE / "tidy_py.txt").read_text(encoding="utf-8")


def test_r_and_python_print_the_same_numbers():
    in_r, here = (
        words_and_numbers((EXAMPLE / name).read_text(encoding="utf-8"))
        for name in ("tidy_r.txt", "tidy_py.txt")
    )
    assert in_r[0] == here[0]
    assert len(here[1]) > 40
    assert in_r[1] == pytest.approx(here[1], rel=1e-5)


def test_r_prints_what_is_kept(monkeypatch):
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not on the path")
    needed = ", ".join(f"requireNamespace('{name}', quietly = TRUE)" for name in PACKAGES)
    asked = ["Rscript", "-e", f"stopifnot({needed})"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip(f"R lacks one of {PACKAGES}")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    printed = subprocess.run(
        ["Rscript", EXAMPLE / "tidy.R"], cwd=EXAMPLE.parents[1],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    kept = (EXAMPLE / "tidy_r.txt").read_text(encoding="utf-8")
    assert words_and_numbers(printed)[1] == pytest.approx(words_and_numbers(kept)[1], rel=1e-4)
