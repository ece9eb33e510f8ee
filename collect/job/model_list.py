"""Models listed in a file, which a command names as ``@FILE``: one a line, remarks behind ``#``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from collect.errors import InputError
from collect.schema.paths import text_at

#: What a name begins with that stands for a list.
MARK = "@"


def expanded(models: Sequence[str]) -> list[str]:
    """Return names of models, those of a list in the place of its name."""
    names: list[str] = []
    for model in models:
        names += _list(Path(model[1:])) if model.startswith(MARK) else [model]
    return names


def _list(path: Path) -> list[str]:
    hint = f"Give {MARK} and the path of a file with one model a line."
    text = text_at(path, "A list of models", hint)
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    for number, words in enumerate(lines, start=1):
        if len(words) > 1:
            raise InputError(
                f"A list of models must have one model a line; line {number} of {path} has "
                f"{len(words)} words.",
                "Put each on a line of its own, and remarks behind #.",
            )
    names = [words[0] for words in lines if words]
    if not names:
        raise InputError(
            f"A list of models must name at least one; {path} names none.", "Add a line."
        )
    return names
