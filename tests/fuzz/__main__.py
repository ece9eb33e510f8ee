"""Thousands of wrong inputs: each is answered, or refused in one sentence, and harms no file.

    python -m tests.fuzz --n 20000 --seed 1
    python -m tests.fuzz --seed 1 --again recipes:17

draws recipes, prompts, formulas, stores, configurations, published files, folders of papers,
texts for forensics and command lines from the seed, and counts what comes of them. A last resort
(exit code 70), a traceback, a refusal of several lines, an input without an end and a file that is
lost or half-written are failures: each is printed with its input, and the exit code is then 1.
``--again`` runs one input once more.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np

# Before anything is imported that reads it: nothing here may reach the network.
os.environ["HF_HUB_OFFLINE"] = "1"

from tests.fuzz.subjects import SUBJECTS
from tests.fuzz.trial import OUTCOMES, Tried, tried

#: Characters of an input that are shown.
SHOWN = 1500


def one(seed: int, subject: str, place: int) -> Tried:
    """Return what comes of one input of a subject."""
    rng = np.random.default_rng([seed, list(SUBJECTS).index(subject), place])
    return tried(SUBJECTS[subject][0], rng)


def table(counts: Counter[tuple[str, str]]) -> str:
    """Return the counts by subject and outcome as lines to read."""
    met = [outcome for outcome in OUTCOMES if any(key[1] == outcome for key in counts)]
    head = ("subject", "inputs", *met)
    rows = [
        (
            name,
            sum(n for key, n in counts.items() if key[0] == name),
            *(counts[name, o] for o in met),
        )
        for name in SUBJECTS
    ]
    total = ("all", *(sum(int(row[column]) for row in rows) for column in range(1, len(head))))
    return "\n".join("  ".join(f"{cell!s:>11}" for cell in row) for row in (head, *rows, total))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the inputs and return 1 if one failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--n", type=int, default=2000, help="inputs over all subjects (2000)")
    parser.add_argument("--seed", type=int, default=1, help="of every input (1)")
    parser.add_argument("--only", nargs="+", choices=list(SUBJECTS), help="these subjects alone")
    parser.add_argument("--again", metavar="SUBJECT:PLACE", help="one input once more")
    options = parser.parse_args(arguments)
    if options.again:
        subject, _, place = options.again.partition(":")
        result = one(options.seed, subject, int(place))
        print(result.outcome, result.shown, result.said, sep="\n")
        return int(result.failed)
    counts: Counter[tuple[str, str]] = Counter()
    chosen = options.only or list(SUBJECTS)
    shares = sum(SUBJECTS[name][1] for name in chosen)
    for name in chosen:
        for place in range(-(-options.n * SUBJECTS[name][1] // shares)):
            result = one(options.seed, name, place)
            counts[name, result.outcome] += 1
            if result.failed:
                again = f"python -m tests.fuzz --seed {options.seed} --again {name}:{place}"
                print(
                    f"{result.outcome}: {again}\n{result.shown[:SHOWN]}\n{result.said}", flush=True
                )
    print(table(counts))
    return int(any(outcome in OUTCOMES[2:] for _, outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
