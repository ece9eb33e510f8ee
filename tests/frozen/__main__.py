"""Dump what a checkout shows, and compare it with what another revision shows.

``python -m tests.frozen dump OUT.json [--root CHECKOUT]`` writes a dump;
``python -m tests.frozen compare BEFORE.json AFTER.json`` prints the differences and exits with 1
if there are any; ``python -m tests.frozen against REVISION`` does all of it with this checkout.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from tests.frozen.compare import compare
from tests.frozen.dump import dump

ROOT = Path(__file__).parents[2]


def against(revision: str) -> list[str]:
    """Return how this checkout differs from a revision, whose dump is cached by its commit."""
    commit = subprocess.run(
        ["git", "rev-parse", f"{revision}^{{commit}}"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    before, after = ROOT / f".cache/frozen/{commit}.json", ROOT / ".cache/frozen/now.json"
    if not before.exists():
        with tempfile.TemporaryDirectory() as directory:
            tree = Path(directory) / "checkout"
            subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
            subprocess.run(["git", "checkout", "--quiet", commit], cwd=tree, check=True)
            dump(tree, before)
    dump(ROOT, after)
    return compare(before, after)


def main() -> int:
    """Run one of the three verbs; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    dumped = verbs.add_parser("dump")
    dumped.add_argument("out", type=Path)
    dumped.add_argument("--root", type=Path, default=ROOT)
    compared = verbs.add_parser("compare")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    verbs.add_parser("against").add_argument("revision")
    given = parser.parse_args()
    if given.verb == "dump":
        dump(given.root.resolve(), given.out)
        return 0
    lines = (
        against(given.revision) if given.verb == "against" else compare(given.before, given.after)
    )
    print("\n".join(lines) or "no difference")
    return int(bool(lines))


if __name__ == "__main__":
    raise SystemExit(main())
