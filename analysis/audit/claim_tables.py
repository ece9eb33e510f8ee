"""The tables of claims and of verdicts for SQL, made from the claims themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from analysis.audit import weight
from analysis.audit.claim import Claim
from analysis.audit.committed import differences, read_verdicts
from analysis.audit.evaluation import check_rows
from analysis.audit.evidence.checks import Check
from analysis.audit.wording import join_runs
from analysis.tidy.errors import AnalysisError
from analysis.tidy.output import replace_bytes
from analysis.tidy.spreadsheet import to_csv
from collect import schema

#: Columns of each table beside `claim_id`; the first is filled for each claim that has a row.
FIELDS = {
    "claim": ("statement", "place"),
    "claim_meaning": ("meaning",),
    "claim_family": ("family",),
    "claim_weight": ("weight", "repeats"),
    "claim_quantity": ("rests_on", "quantity", "about", "reason"),
}
QUOTATION = ("document", "place", "quotation")
LINES = ("part", "measure", "value", "low", "high")


def tables(registry: Mapping[int, Claim]) -> dict[str, str]:
    """Return the text of each table by file name; those that no claim has a row in are left out."""
    claims = [registry[number] for number in sorted(registry)]
    texts = {
        f"{name}.csv": _csv(
            fields,
            (
                [one.claim_id, *(getattr(one, field) for field in fields)]
                for one in claims
                if getattr(one, fields[0])
            ),
        )
        for name, fields in FIELDS.items()
    }
    texts["claim_quotation.csv"] = _csv(
        QUOTATION,
        (
            [one.claim_id, *(getattr(each, field) for field in QUOTATION)]
            for one in claims
            for each in one.quotations
        ),
    )
    texts["claim_line.csv"] = _csv(
        LINES,
        (
            [one.claim_id, *(getattr(line, field) for field in LINES)]
            for one in claims
            for line in one.lines
        ),
    )
    return {name: text for name, text in texts.items() if text.count("\n") > 1}


def differing(registry: Mapping[int, Claim], folder: Path) -> list[str]:
    """Return the names of the tables in a folder that are not those of its claims."""
    return [
        name
        for name, text in tables(registry).items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != text.encode()
    ]


def write(registry: Mapping[int, Claim], folder: Path) -> None:
    """Write the tables of a folder whose claims have them.

    Raises
    ------
    AnalysisError
        If some claims have their statement and others leave it to ``claim.csv``, which would lose
        those.
    """
    lacking = [number for number, one in sorted(registry.items()) if not one.statement]
    if 0 < len(lacking) < len(registry):
        raise AnalysisError(
            "All claims must have their statement beside their function, or none of them; "
            f"without one: {join_runs(lacking)}.",
            "Write it there too, or leave the others to claim.csv.",
        )
    for name in differing(registry, folder):
        replace_bytes(folder / name, tables(registry)[name].encode())


def verdicts(
    judged: pd.DataFrame, made: Mapping[int, Sequence[Check]], registry: Mapping[int, Claim]
) -> dict[str, pd.DataFrame]:
    """Return the tables `verdict` and `verdict_check`, with the columns that ``schema.sql`` names.

    Parameters
    ----------
    judged
        One row per claim, as `analysis.audit.evaluate` gives it.
    made
        The checks of each claim.
    registry
        The claims.
    """
    checks = [
        check_rows(made[number], one.kind).assign(claim_id=number)
        for number, one in registry.items()
    ]
    frames = {
        "verdict": judged.assign(is_central=weight.is_central(judged)),
        "verdict_check": pd.concat(checks),
    }
    return {
        name: rows[[column.name for column in schema.tables()[name].columns]]
        for name, rows in frames.items()
    }


def write_verdicts(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write `verdicts` into a folder, where the store finds them."""
    for name, rows in tables.items():
        replace_bytes(folder / f"{name}.csv", to_csv(rows).encode())


def differing_verdicts(tables: Mapping[str, pd.DataFrame], folder: Path) -> list[str]:
    """Return the names of the files of verdicts that are not what `verdicts` gives.

    Raises
    ------
    StoreError
        If one is absent or damaged.
    """
    stale = []
    for name, rows in tables.items():
        key = schema.tables()[name].key
        others = [str(column) for column in rows if column not in key]
        before = read_verdicts(folder / f"{name}.csv", others, keys=key)
        after = pd.read_csv(io.StringIO(to_csv(rows)))
        if len(differences(before, after, others, keys=key)):
            stale.append(f"{name}.csv")
    return stale


def _csv(fields: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    handle = io.StringIO()
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["claim_id", *fields])
    writer.writerows(rows)
    return handle.getvalue()
