"""Proof that the forensics read the public test texts of statcheck and metacheck as those do.

    python -m tests.proofs.public_texts FOLDER FILE

The folder is that of statcheck's own tests (tests/testthat), the file metacheck's test of the
extraction of p (test-text-extractors.R); neither is part of this project. Needs R with the package
statcheck (Debian's ``r-cran-statcheck``), which judges its texts here, one-sided where they say so.
Printed are the counts of what both read alike, and every text that only one of them reads or
judges so. Ends with 1 where a p recomputed from the same statistic differs, or where a test that
statcheck reads is no row.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.forensics import p_value, reported_tests

SCRIPT = Path(__file__).with_suffix(".R")

#: statcheck's names of tests that have another name here.
NAMES = {"Z": "z", "Chi2": "chi2", "Qw": "Q", "Qb": "Q"}


def main() -> int:
    """Print the agreement; return 1 where a recomputed p differs or a test is lost."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("statcheck", type=Path, help="folder of its tests")
    options.add_argument("metacheck", type=Path, help="its test of the extraction of p")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        command = ["Rscript", str(SCRIPT), str(given.statcheck), str(given.metacheck), place]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        texts, read, ps = (
            pd.read_csv(Path(place) / f"{name}.csv", keep_default_na=False)
            for name in ("texts", "read", "metacheck")
        )
    wrong = of_statcheck(texts["text"].tolist(), read)
    of_metacheck(ps)
    return 1 if wrong else 0


def of_statcheck(texts: list[str], read: pd.DataFrame) -> int:
    """Print how many tests both read and judge alike; return how many differ or are lost."""
    counts: Counter[str] = Counter()
    lines = []
    for number, text in enumerate(texts, start=1):
        rows = p_value.check(reported_tests.find(text))
        rows = rows[rows["test"] != reported_tests.P_ALONE].to_dict("records")
        others = read[read["text"].astype(int) == number].to_dict("records")
        for other in others:
            unread = (row for row in rows if row["test"] == p_value.NOT_UNDERSTOOD)
            row = next((row for row in rows if _is_same(row, other)), next(unread, None))
            if row is not None:
                rows.remove(row)
            kind = _compared(row, other)
            counts[kind] += 1
            if kind != "read and judged alike":
                lines.append(f"  {kind}: {other['raw']}")
        for row in rows:
            kind = f"read here alone, {row['consistency']}"
            counts[kind] += 1
            lines.append(f"  {kind}: {row['quoted']}")
    print(f"statcheck: {len(texts)} texts, {len(read)} tests read by statcheck")
    print(*(f"{n:5} {kind}" for kind, n in sorted(counts.items())), sep="\n")
    print(*dict.fromkeys(lines), sep="\n")
    return counts["recomputed p differs"] + counts["not a row here"]


def _is_same(row: dict, other: dict) -> bool:
    if row["test"] != NAMES.get(other["test"], other["test"]):
        return False
    return bool(np.isclose(float(row["statistic"].replace(",", "")), float(other["value"])))


def _compared(row: dict | None, other: dict) -> str:
    if row is None:
        return "not a row here"
    if row["test"] == p_value.NOT_UNDERSTOOD:
        return "read by statcheck, not understood here"
    if row["sides"] == 1 and np.isclose(2 * row["p_value"], float(other["p"]), rtol=1e-9):
        return f"called one-sided: {row['consistency']} here, error {other['error']} there"
    if not np.isclose(row["p_value"], float(other["p"]), rtol=1e-9):
        return "recomputed p differs"
    here = (row["consistency"] != p_value.CONSISTENT, row["consistency"] == p_value.DECISION_ERROR)
    there = tuple(str(other[name]).upper() == "TRUE" for name in ("error", "decision_error"))
    verdicts = f"{row['consistency']} here, error {there[0]}, decision error {there[1]} there"
    return "read and judged alike" if here == there else f"judged differently ({verdicts})"


def of_metacheck(ps: pd.DataFrame) -> None:
    """Print how many of the p that metacheck must read are read, and of those it must not."""
    for kind, group in ps.groupby("kind", sort=False):
        result = {text: reported_tests.find(text) for text in group["text"]}
        read = {text: rows for text, rows in result.items() if len(rows)}
        print(f"metacheck, {kind}: {len(result)} different texts, {len(read)} read as a p")
        for text, rows in result.items():
            if (text in read) != (kind == "expected"):
                printed = f"read as {rows['p_printed'].iloc[0]}" if len(rows) else "not read"
                print(f"  {printed}: {' '.join(text.split())}")


if __name__ == "__main__":
    sys.exit(main())
