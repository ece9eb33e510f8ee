"""What mlcroissant says of published measurements: faults, warnings, and rows of each table.

Run it where mlcroissant and pyarrow are installed, after ``thermoscope collect publish DIR``::

    python tests/proofs/croissant.py DIR
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import mlcroissant
import pyarrow.parquet as pq


def main(directory: Path) -> int:
    dataset = mlcroissant.Dataset(str(directory / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    print(f"mlcroissant {version('mlcroissant')}: {directory.name}")
    print(f"errors: {list(issues.errors)}\nwarnings: {list(issues.warnings)}")
    different = 0
    for table in sorted(path.name for path in directory.iterdir() if path.is_dir()):
        files = sorted((directory / table).glob("*.parquet"))
        stored = sum(pq.read_metadata(path).num_rows for path in files)
        if 0 < stored < 50_000:
            found = sum(1 for _ in dataset.records(table))
            different += found != stored
            print(f"{table}: {found} rows loaded, {stored} stored")
    return int(bool(issues.errors) or different > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
