"""Whether sources of reported lengths count blocks alike, with lengths that may not be shipped.

``python -m tests.proofs.reported_alignment FOLDER...`` takes folders with ``source.toml`` and
``norms.csv``, and prints the rank correlation of the log gains of each pair of profiles of one
network, as they are and with the second moved by one block.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from analysis.delia2026.reported import conventions
from collect.published.reported import description, lengths


def profiles(folders: list[Path]) -> pd.DataFrame:
    """Return the lengths of all folders, the source in a column."""
    parts = []
    for folder in folders:
        source, models = description.read(folder)
        parts.append(lengths.read(folder, source, models).assign(source_id=folder.name))
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    table = conventions.best(conventions.agreement(profiles([Path(it) for it in sys.argv[1:]])))
    print(table.round(2).to_string(index=False))
    print(f"no block moved is best in {(table['best'] == 0).sum()} of {len(table)} pairs")
