r"""What may reach a terminal: no sign of other people's data that steers it or turns its text.

Prompts, names, statements of a claim and messages of a template are written by others. An ESC, a
carriage return or a sign that turns the direction of text would retitle the terminal, overwrite
lines or let them read otherwise than they are. Each is printed as ``\u001b``, which JSON reads
as the sign itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

#: Control signs other than tabulator and line break, separators of lines, and signs of direction.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

#: A word in colour, the colour reset behind it: the only sequence that is printed as it is.
COLOURED = re.compile(r"(\x1b\[(?:3[0-7]|90)m[a-z ]{1,30}\x1b\[0m)")

#: How a progress bar goes back: at the beginning or end of what is written at once.
RETURN = re.compile(r"(\A[\r\n]*+(?:\x1b\[A)*+|\r\Z)")


def harmless(text: str) -> str:
    r"""Return text with each sign that would steer a terminal as its number.

    >>> harmless("a\x1b]0;title\x07 \u202eb\n")
    'a\\u001b]0;title\\u0007 \\u202eb\n'
    """
    return CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


@contextmanager
def guarded() -> Iterator[None]:
    """Let everything that is printed meanwhile pass through `harmless`, errors included."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        _Guarded(before[0], COLOURED),
        _Guarded(before[1], RETURN),
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _Guarded:
    """A stream that writes harmless text; in all else the stream that it stands for.

    Parameters
    ----------
    stream
        Where the text goes.
    allowed
        What is written as it is, in a group.
    """

    def __init__(self, stream: TextIO, allowed: re.Pattern[str]) -> None:
        self._stream, self._allowed = stream, allowed

    @property
    def of_data(self) -> Any:
        """Where data go that a program reads: as they are, unless a person reads them."""
        return self if self.isatty() else self._stream

    def write(self, text: str) -> int:
        """Write a text and return its length."""
        if CONTROL.search(text):
            parts = self._allowed.split(text)
            text = "".join(
                part if place % 2 else harmless(part) for place, part in enumerate(parts)
            )
        return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
