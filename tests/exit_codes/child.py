"""Commands in a process of their own: without the extras, or with an output that takes nothing.

Reads commands as JSON, ``{name: words}``, and writes the exit code of each to a file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def codes(
    commands: Mapping[str, Sequence[str]],
    folder: Path,
    *words: str,
    environment: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Return the exit codes of commands, run one after the other in one process.

    Parameters
    ----------
    commands
        By a name of each, what follows ``thermoscope``.
    folder
        Where the codes are written.
    words
        ``bare`` to hide every package of an extra, ``full`` for verbs that only answer, to a
        standard output without room.
    environment
        Variables of the process.
    """
    answer = folder / "codes.json"
    subprocess.run(
        [sys.executable, "-m", "tests.exit_codes.child", str(answer), *words],
        input=json.dumps({name: [*given] for name, given in commands.items()}),
        env={**os.environ, **(environment or {})},
        cwd=ROOT, text=True, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    result: dict[str, int] = json.loads(answer.read_text())
    return result


def extras() -> set[str]:
    """Return the modules of every package that an extra brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [line for each in project["optional-dependencies"].values() for line in each]
    named = {canonicalize_name(Requirement(line).name) for line in lines}
    return {
        module
        for module, names in packages_distributions().items()
        if (named - {"thermoscope"}) & {*map(canonicalize_name, names)}
    }


class Hidden:
    """Finds no module of an extra, as where none is installed."""

    def __init__(self) -> None:
        self._names = extras()

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        """Refuse a module of an extra; let others be found."""
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _answer(_verb: Any, _options: Any) -> int:
    print("an answer")
    return 0


def main(answer: str, *words: str) -> None:
    """Run the commands on standard input."""
    if "bare" in words:
        sys.meta_path.insert(0, Hidden())  # type: ignore[arg-type]
    from collect.process import cli, verbs

    if "full" in words:
        verbs.Verb.start = _answer  # type: ignore[method-assign]
    result = {}
    for name, given in json.load(sys.stdin).items():
        sys.stdout.flush()
        os.dup2(os.open("/dev/full" if "full" in words else os.devnull, os.O_WRONLY), 1)
        try:
            result[name] = cli.main(given)
        except SystemExit as end:
            result[name] = int(end.code or 0)
    Path(answer).write_text(json.dumps(result))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
