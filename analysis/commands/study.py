"""The verb `study`: what was registered before the study, and where each statement stands."""

from __future__ import annotations

import argparse
import io
from typing import TYPE_CHECKING

from analysis.commands.sources import opened
from analysis.commands.tables import as_json, write_data
from analysis.tidy.defaults import COMMITTED_STUDY
from analysis.tidy.spreadsheet import to_csv
from collect.process import shipped

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


def study(options: argparse.Namespace) -> int:
    """Print, write or compare the registered statements, and return the exit code."""
    import numpy as np

    from analysis.commands.checkout import writable_root
    from analysis.delia2026.study import status as standing
    from analysis.tidy.output import replace_text

    statements = standing.statements(opened(options), rng=np.random.default_rng(standing.SEED))
    if options.csv:
        write_data([to_csv(statements)])
    elif options.json:
        print(as_json(statements))
    elif options.write:
        print(replace_text(writable_root() / COMMITTED_STUDY, to_csv(statements)))
    elif options.check:
        return _compare(statements, shipped.project() / COMMITTED_STUDY)
    else:
        print(_overview(statements))
    return 0


def _compare(statements: pd.DataFrame, committed: Path) -> int:
    """Print what differs from the committed statements; 1 if anything does."""
    import pandas as pd

    from analysis.audit.committed import differences, read_verdicts
    from analysis.delia2026.study.status import COLUMNS, KEYS

    before = read_verdicts(committed, COLUMNS, keys=KEYS, made_by="study --write")
    after = pd.read_csv(io.StringIO(to_csv(statements)))
    differing = differences(before, after, COLUMNS, keys=KEYS)
    for line in differing["difference"]:
        print(line)
    print(
        f"{differing['claim_id'].nunique()} of {statements['claim_id'].nunique()} statements "
        f"differ from {committed.name}."
    )
    return 1 if len(differing) else 0


def _overview(statements: pd.DataFrame) -> str:
    from analysis.delia2026.study.pages.tables import number_words

    lines = []
    for claim_id, both in statements.groupby("claim_id", sort=False):
        lines.append(f"{claim_id:>3}  {both['statement'].iloc[0]}")
        lines.append(f"     rule: {both['rule'].iloc[0]}")
        lines.append(f"     predicted to hold: {'yes' if both['predicted'].iloc[0] else 'no'}")
        for row in both.to_dict("records"):
            stands = f"{row['condition']}: {row['verdict']}"
            lines.append(f"     {stands}: {number_words(row)}")
    counted = statements.groupby("condition", sort=False)["verdict"].value_counts()
    lines.append("")
    for horizon in statements["condition"].unique():
        counts = ", ".join(f"{n} {verdict}" for verdict, n in counted[horizon].items())
        lines.append(f"{horizon}: {counts}.")
    return "\n".join(lines)
