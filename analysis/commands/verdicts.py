"""The verb `claims`: the verdict on each claim, and whether it is the committed one."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.audit import about
from analysis.commands.claim import models_behind, numbers, tell_doubtful
from analysis.commands.colour import coloured
from analysis.commands.sources import claims_of, opened
from analysis.commands.tables import as_json, show, write_data
from analysis.tidy.defaults import COMMITTED, COMMITTED_BESIDE
from analysis.tidy.errors import AnalysisError
from analysis.tidy.spreadsheet import to_csv
from collect.process import shipped

if TYPE_CHECKING:
    import pandas as pd

    from analysis.audit import Check, Claim
    from analysis.store import Store


#: What several claims of each category are called.
NAMES = {
    "law": "laws",
    "printed number": "printed numbers",
    "record": "statements on the record",
}


def verdicts(options: argparse.Namespace) -> int:
    """Print, write or compare the verdicts, and return the exit code."""
    from analysis import audit as claims
    from analysis.audit import claim_tables
    from analysis.commands.checkout import home, writable_root
    from analysis.tidy.output import replace_text

    if options.adjusted and (options.json or options.write or options.check):
        raise AnalysisError(
            "Adjusted p-values must be printed as a table or as CSV; another form was asked for.",
            "Give --adjusted alone or with --csv.",
        )
    kept = _installed_table(options)
    if kept is not None:
        return _show_kept(kept, as_csv=options.csv)
    registry = claims_of(options)
    folder = Path(options.paper or home())
    if options.write:  # first: a new claim is judged on a store that has its statement
        committed = _committed_path(options, writable_root)
        claim_tables.write(registry, folder)
    store = opened(options)
    _tell_unjudged(store, registry)
    made = _examine(options, store, registry)
    judged = claims.evaluate(store, registry, made=made)
    if options.paper:
        tell_doubtful(made, registry)
    if options.adjusted:
        return show(claims.adjusted(judged), as_csv=options.csv)
    if options.csv:
        write_data([to_csv(judged)])
    elif options.json:
        print(as_json(judged))
    elif options.write:
        claim_tables.write_verdicts(claim_tables.verdicts(judged, made, registry), folder)
        print(replace_text(committed, to_csv(judged)))
    elif options.check:
        stale = claim_tables.differing(registry, folder)
        if options.paper or shipped.is_clone():  # a wheel brings fewer of the measured models
            tables = claim_tables.verdicts(judged, made, registry)
            stale += claim_tables.differing_verdicts(tables, folder)
        for name in stale:
            print(
                f"{name} is not the table of the claims; write it with: thermoscope claims --write"
            )
        return max(_compare(judged, _committed_path(options, shipped.project)), int(bool(stale)))
    else:
        print(_overview(judged, about.read(options.paper)))
    return 0


def _installed_table(options: argparse.Namespace) -> Path | None:
    """Return where the verdicts of an installed copy lie, if these are what is asked for.

    Its data and its code are those that they were made of. In a clone both may have changed.
    """
    asked = (options.check, options.write, options.json, options.adjusted, options.verify)
    named = (options.paper, options.data)
    if any(asked) or any(named) or shipped.is_clone() or shipped.project() != shipped.root():
        return None
    path = shipped.root() / COMMITTED
    return path if path.is_file() else None


def _show_kept(path: Path, *, as_csv: bool) -> int:
    """Print the verdicts that came with the version, and say that they are those."""
    from analysis.audit.committed import read_verdicts

    judged = read_verdicts(path)
    print("note: as stored with this version; --check judges the claims anew", file=sys.stderr)
    if as_csv:
        write_data([to_csv(judged)])
    else:
        print(_overview(judged, about.read(None)))
    return 0


def _tell_unjudged(store: Store, registry: Mapping[int, Claim]) -> None:
    """Say which statements no function judges: no table has a row for them."""
    from analysis.audit import wording

    left = sorted({*store.facts("FROM raw.claim")["claim_id"]} - {*registry})
    if left:
        print(
            f"note: stated, and judged by no function: {wording.join_runs(left)}", file=sys.stderr
        )


def _examine(
    options: argparse.Namespace, store: Store, registry: Mapping[int, Claim]
) -> Mapping[int, Sequence[Check]]:
    """Return the checks of every claim: those kept for these data and this code, if there are.

    What is committed, or compared with it, is always computed, and so is another paper, whose
    functions may read anything; an installed copy keeps nothing.
    """
    from analysis import audit as claims
    from analysis.report.cache import results_of

    if options.check or options.write or options.paper or not shipped.is_clone():
        return claims.examine(store, registry)
    return results_of(store).cached(
        "claims", lambda: claims.examine(store, registry), is_announced=False
    )


def _committed_path(options: argparse.Namespace, root: Callable[[], Path]) -> Path:
    """Return where the verdicts lie that a new evaluation is compared with."""
    if options.paper:
        return Path(options.paper) / COMMITTED_BESIDE
    return root() / COMMITTED


def _compare(judged: pd.DataFrame, committed: Path) -> int:
    """Print the verdicts and numbers that differ from the committed ones; 1 if any does."""
    import pandas as pd

    from analysis.audit.committed import differences, read_verdicts

    before, after = read_verdicts(committed), pd.read_csv(io.StringIO(to_csv(judged)))
    changes = differences(before, after)
    for line in changes["difference"]:
        print(line)
    n_claims = len({*before["claim_id"], *after["claim_id"]})
    print(f"{changes['claim_id'].nunique()} of {n_claims} claims differ from {committed.name}.")
    return 1 if len(changes) else 0


def _overview(judged: pd.DataFrame, printed: about.About) -> str:
    from analysis.audit import weight, wording
    from analysis.tidy import prose

    lines = []
    for row in judged.to_dict("records"):
        lines.append(f"{row['claim_id']:>3}  {coloured(row['verdict'], 21)} {row['statement']}")
        counts = models_behind(row, printed)
        lines.append(f"     {numbers(row)}; {counts}")
    stated, others = weight.author_claims(judged), weight.apart(judged)
    lines += ["", f"{_total(stated['verdict'], prose.plural(len(stated), 'claim'))}."]
    for row in weight.count_categories(judged).to_dict("records"):
        found = stated.loc[stated["category"] == row["category"], "verdict"]
        kind = f"  {len(found)} {NAMES[str(row['category'])]}"
        lines.append(f"{_total(found, kind)}.")
    if len(others):
        head = f"Apart, stated in no document ({wording.join_runs(others['claim_id'])})"
        lines.append(f"{_total(others['verdict'], head)}.")
    return "\n".join(lines)


def _total(verdicts: pd.Series[str], head: str) -> str:
    """Return how many verdicts there are of each kind, after what they are verdicts on."""
    from analysis.audit import VERDICTS

    counts = verdicts.value_counts()
    return f"{head}: " + ", ".join(f"{counts.get(name, 0)} {coloured(name)}" for name in VERDICTS)
