"""What a verb reads: the measurements that were named, and the claims of the paper they judge."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.audit import Claim
    from analysis.store import Store


def opened(options: argparse.Namespace, *, everything: bool = False) -> Store:
    """Return the store of what was named, and say on standard error what of it is left out."""
    from analysis.store import open_store

    store = open_store(*named(options, everything=everything), verify=options.verify)
    if options.verify:
        print(f"note: {store.comparison.words}", file=sys.stderr)
    for note in store.notes:
        print(f"note: {note}", file=sys.stderr)
    for unit in store.incomplete:
        print(f"note: left out, its measurement was interrupted: {unit}", file=sys.stderr)
    return store


def named(options: argparse.Namespace, *, everything: bool = False) -> list[Path | str]:
    """Return what to open: what was named, else what judges the claims, or all that is shipped."""
    if options.paper:
        return [options.paper, *(options.data or [])]
    from analysis.store.sources import default_sources, shipped_sources

    return [*(options.data or (shipped_sources() if everything else default_sources()))]


def claims_of(options: argparse.Namespace) -> Mapping[int, Claim]:
    """Return the claims to judge: those in the folder that was named, else the project's own."""
    from analysis.audit import paper
    from analysis.commands.checkout import home

    return paper.load(options.paper or home())
