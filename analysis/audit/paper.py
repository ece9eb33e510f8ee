"""The claims of another paper, from a folder: its statements, its figures and one Python file.

The folder holds `claim.csv` (the statements), the paper's data, and `claims.py`, which assigns a
tuple of `analysis.audit.Claim` to `CLAIMS`. Data are a table of units (`unit.csv`), or published
figures of models (`published_figure.csv`, `published_profile.csv` or
`published_value.csv`). Other tables of the contract, such as `model.csv`, may lie beside them. The
folder is a source of measurements like any other.
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Mapping
from pathlib import Path

from analysis.audit.claim import Claim
from analysis.audit.examination import described
from analysis.tidy.errors import AnalysisError, StoreError
from collect.schema import raise_interruption

STATEMENTS, FUNCTIONS = "claim.csv", "claims.py"
FIGURES = ("unit.csv", "published_figure.csv", "published_profile.csv", "published_value.csv")


def load(folder: Path) -> Mapping[int, Claim]:
    """Return the claims of a paper by number, in their order.

    The Python file is run: open a folder only if you trust it.

    Raises
    ------
    StoreError
        If the folder lacks a file.
    AnalysisError
        If `claims.py` fails, or `CLAIMS` is not a tuple of claims with numbers of their own.
    """
    _require_files(folder)
    path = folder / FUNCTIONS
    claims = _run(path).get("CLAIMS")
    if not isinstance(claims, tuple) or not all(isinstance(one, Claim) for one in claims):
        raise AnalysisError(
            f"{path} must assign a tuple of Claim objects to CLAIMS; it holds {_type(claims)}.",
            "End the file with CLAIMS = (Claim(1, ...), Claim(2, ...)).",
        )
    numbers = [one.claim_id for one in claims]
    repeated = sorted({number for number in numbers if numbers.count(number) > 1})
    if repeated:
        raise AnalysisError(
            f"Each claim in {path} must have a number of its own; repeated: "
            f"{', '.join(map(str, repeated))}.",
            f"Number claims as {STATEMENTS} does.",
        )
    return {one.claim_id: one for one in sorted(claims, key=lambda one: one.claim_id)}


def _type(claims: object) -> str:
    """Return in words what stands where a tuple of claims should."""
    if claims is None:
        return "nothing of that name"
    kinds = {type(one).__name__ for one in claims} if isinstance(claims, tuple) else set()
    others = sorted(kinds - {Claim.__name__})
    return type(claims).__name__ + (f" with {', '.join(others)}" if others else "")


def _require_files(folder: Path) -> None:
    if not folder.exists():
        raise StoreError(
            f"The folder of a paper must be there; there is nothing at {folder}.",
            "`thermoscope init FOLDER` makes one; quarto/guides/_auditing.qmd explains how.",
        )
    lacking = [name for name in (STATEMENTS, FUNCTIONS) if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in FIGURES):
        lacking.append(" or ".join(FIGURES))
    if lacking:
        raise StoreError(
            f"The folder of a paper must hold its statements, figures and functions; {folder} "
            f"lacks {', '.join(lacking)}.",
            "`thermoscope init FOLDER` makes one; quarto/guides/_auditing.qmd explains how.",
        )


def _run(path: Path) -> dict[str, object]:
    """Return the names that a Python file assigns; nothing is cached beside it."""
    try:
        return runpy.run_path(str(path), run_name="claims")
    except BaseException as error:  # code of others may raise what it likes
        raise_interruption(error)
        hint = error.hint if isinstance(error, AnalysisError) else ""
        raise AnalysisError(
            f"{path} must run; it fails{_line(error, path)} with {described(error)}.",
            hint or "Correct it there.",
        ) from error


def _line(error: BaseException, path: Path) -> str:
    """Return where in the file an error arose, in words; nothing where it did not run at all."""
    if isinstance(error, SyntaxError):
        return f" in line {error.lineno}"
    calls = traceback.extract_tb(error.__traceback__)
    items = [call.lineno for call in calls if call.filename == str(path)]
    return f" in line {items[-1]}" if items else ""
