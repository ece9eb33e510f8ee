"""Every writing command, killed, doubled, starved of memory: nothing is lost or half-written.

    python -m tests.faults --kills 50 --pairs 10 --starved 9 --full 5 --interrupts 10 --seed 1

What a killed command leaves is, file by file, as before or as after (a unit may be absent), and the
same command then ends as if nothing had been. Two at once, or one with little memory, few files or
no room, end in success or in a sentence; one that is asked to end ends with exit code 130. The exit
code is 1 if any of this fails.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"

from tests.faults.commands import COMMANDS, prepare
from tests.faults.processes import ended, started
from tests.faults.trials import Trials

#: What the commands import when they are needed.
IMPORTED = (
    *("analysis.audit.paper", "analysis.commands.cli", "analysis.report", "analysis.report.cache"),
    "analysis.store",
)
IMPORTED_BY_COLLECT = (
    *("collect.commands.cli", "collect.gauge.command", "collect.job.run"),
    *("collect.record.publication.database", "collect.training.study.execution"),
    *("collect.training.train", "tests.collect.conftest"),
)

#: Addressable memory [MiB] beside what the process has, processes, open files.
MEMORY = (20, 50, 100, 200, 400, 800)
FILES = (8, 12, 20)


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=50, help="of each command (50)")
    parser.add_argument("--pairs", type=int, default=10, help="of each command at once (10)")
    parser.add_argument("--starved", type=int, default=9, help="limits of each command (9)")
    parser.add_argument("--full", type=int, default=5, help="full disks of each command (5)")
    parser.add_argument("--interrupts", type=int, default=10, help="of each command (10)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (1)")
    parser.add_argument("--only", nargs="+", choices=list(COMMANDS), help="these commands alone")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Disturb every command and return 1 if one lost something."""
    asked_for = options(arguments)
    failed = False
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        room = Path(place)
        given, printed = room / "given", room / "said.txt"
        chosen = asked_for.only or list(COMMANDS)
        _import_all(chosen)

        def prepared() -> int:
            prepare(given, chosen)
            return 0

        if ended(started(prepared, printed)):
            print(printed.read_text())
            return 1
        for number, name in enumerate(chosen):
            rng = np.random.default_rng([asked_for.seed, number])
            trials = Trials(name, given, room)
            for place_of_kill in range(asked_for.kills):
                at_placement = place_of_kill % 4 == 0
                trials.kill(rng, at_event=place_of_kill % 2 == 0, at_placement=at_placement)
            for _ in range(asked_for.pairs):
                trials.pair(rng)
            limits = [(resource.RLIMIT_AS, n << 20, f"{n} MiB more") for n in MEMORY]
            limits += [(resource.RLIMIT_NOFILE, n, f"{n} open files") for n in FILES]
            for limit in limits[: asked_for.starved]:
                trials.starve(*limit)
            for share in rng.uniform(0, 1, asked_for.full):
                limit = int(share * (1 << 16))
                trials.starve(resource.RLIMIT_FSIZE, limit, f"files of {limit} bytes")
            for place_of_interrupt in range(asked_for.interrupts):
                trials.interrupt(rng, at_event=place_of_interrupt % 2 == 0)
            counts = ", ".join(f"{n} {what}" for what, n in sorted(trials.found.items()))
            whole = trials.whole
            print(f"{name} ({whole.n_events} events, {whole.seconds:.1f} s): {counts}", flush=True)
            for fault in trials.faults:
                print(f"  FAULT {fault}", flush=True)
            failed |= bool(trials.faults)
    return int(failed)


def _import_all(names: Sequence[str]) -> None:
    """Import what the commands need, so that their processes start with it."""
    of_collect = any(name.startswith("collect") for name in names)
    for module in (*IMPORTED_BY_COLLECT, *IMPORTED) if of_collect else IMPORTED:
        importlib.import_module(module)
    if of_collect:
        importlib.import_module("torch").set_num_threads(1)
        # The clone may change meanwhile.
        provenance = importlib.import_module("collect.record.provenance")
        provenance.take_version_of_driver(provenance.code_version())


if __name__ == "__main__":
    sys.exit(main())
