"""The tables of claims for SQL, made from the claims themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from analysis.audit.claim import Claim
from analysis.tidy.output import replace_bytes

#: Columns of each table beside `claim_id`; the first is filled for each claim that has a row.
FIELDS = {
    "claim": ("statement", "place"),
    "claim_meaning": ("meaning",),
    "claim_family": ("family",),
    "claim_weight": ("weight", "repeats"),
    "claim_quantity": ("rests_on", "quantity", "about", "reason"),
}
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
    """Write the tables of a folder whose claims have them."""
    for name in differing(registry, folder):
        replace_bytes(folder / name, tables(registry)[name].encode())


def _csv(fields: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    handle = io.StringIO()
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["claim_id", *fields])
    writer.writerows(rows)
    return handle.getvalue()
