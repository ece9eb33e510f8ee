"""What a verb prints, also when its reader has gone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable

from collect.errors import OutputError


def show(text: object) -> None:
    """Print to standard output; when its reader has gone, the work goes on in silence."""
    try:
        print(text, flush=True)
    except OSError as error:
        # What is left in the buffer would fail again when the interpreter closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(
                f"Standard output must be writable; {error.strerror or error}.",
                "Free some space, or send the output elsewhere.",
            ) from error


def as_json(content: object) -> str:
    """Return content as JSON to read."""
    return json.dumps(content, indent=2)


def note(sentences: Iterable[str]) -> None:
    """Say on standard error what a person should know of what was done."""
    for sentence in sentences:
        print(f"note: {sentence}", file=sys.stderr)
