"""The paper's result files into the tables ``published_value`` and ``published_file``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from collect.errors import InputError
from collect.process.interruption import interruptible
from collect.published import catalogue
from collect.published.values import published_values
from collect.record import writer

_WHERE_FROM = (
    "Give the folder paper3/Results of the paper's repository, or add --fetch to download it."
)


@interruptible()
def import_results(source: Path, out: Path) -> dict[str, int]:
    """Write every value of the published files in a directory to Parquet.

    A file that is missing, of unknown name, or other than at the pinned commit is reported
    on standard error; the rest is imported all the same.

    Returns
    -------
    Number of rows written, by table.
    """
    names = present(source)
    values = published_values(source, names)
    described = published_files(source, names)
    _report_oddities(source, described)
    tables = {"published_value": values, "published_file": described}
    return writer.write_tables(tables, lambda table: out / table / "results.parquet")


def present(source: Path) -> list[str]:
    """Return the names of the published files that lie in the directory, sorted."""
    if not source.is_dir():
        raise InputError(
            f"The published files must lie in a directory; {source} is not one.",
            _WHERE_FROM,
        )
    names = sorted(name for name in catalogue.files() if (source / name).is_file())
    if not names:
        raise InputError(
            f"The directory {source} must hold the paper's result files; none of the "
            f"{len(catalogue.files())} is there, for example {next(iter(catalogue.files()))}.",
            _WHERE_FROM,
        )
    return names


def published_files(source: Path, names: Iterable[str]) -> pd.DataFrame:
    """Return one row per file, with size and hash as it lies in the directory."""
    rows = []
    for name in names:
        content = (source / name).read_bytes()
        known = {key: cell or None for key, cell in catalogue.files()[name].items()}
        rows.append(
            known
            | {
                "sha256": hashlib.sha256(content).hexdigest(),
                "n_bytes": len(content),
                "caveats": known["caveats"] or "",
            }
        )
    return pd.DataFrame(rows)


def _report_oddities(source: Path, described: pd.DataFrame) -> None:
    known = catalogue.files()
    results = [path.name for path in source.iterdir() if path.suffix in (".json", ".csv")]
    unknown = sorted(set(results) - set(known))
    missing = sorted(set(known) - set(described["file"]))
    pinned = described["file"].map(lambda name: known[name]["sha256"])
    changed = described.loc[described["sha256"] != pinned, "file"].tolist()
    for names, remark in (
        (unknown, "not a published file, ignored"),
        (missing, "published but not here"),
        (changed, "checksum differs from the pinned commit; imported as it is"),
    ):
        for name in names:
            print(f"{name}: {remark}", file=sys.stderr)
