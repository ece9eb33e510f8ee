"""The one command, ``thermoscope``: verbs of analysis, and of collection behind ``collect``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from analysis.commands import cli
from analysis.commands.options import COLLECTION, PROGRAM, divided

#: Where the command line of collection lies; it is loaded when it is asked for.
_ITS_COMMANDS = "collect.commands"

#: What of the options before the verb is collection's too.
_SHARED = ("--debug", "--version", "-h", "--help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, which is that of the package it hands over to.

    Parameters
    ----------
    arguments
        Words after ``thermoscope``; those of the command line unless given.
    """
    # A request to end is an interruption, whoever makes it: nothing is left half-written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    before, words = divided(given, PROGRAM) if COLLECTION in given else (given, [])
    if words[:1] == [COLLECTION]:
        return _collected(before, words[1:])
    cli.collect_rarely()
    further = _FurtherVerbs()
    return cli.main(given, program=PROGRAM, further=further, is_process=arguments is None)


def _collected(before: Sequence[str], words: Sequence[str]) -> int:
    """Hand words over to collection, with the options before the verb that it knows too."""
    if foreign := [word for word in before if word not in _SHARED]:
        print(
            f"error: What stands before {COLLECTION} must be one of {', '.join(_SHARED)}; "
            f"{foreign[0]} is not.\nhint: The verbs of {COLLECTION} take what they read and write "
            f"themselves: {PROGRAM} {COLLECTION} --help",
            file=sys.stderr,
        )
        return 2
    import_module(f"{_ITS_COMMANDS}.starting").keep_memory()
    collection: Callable[..., int] = import_module(f"{_ITS_COMMANDS}.cli").main
    return collection([*before, *words], program=f"{PROGRAM} {COLLECTION}")


class _FurtherVerbs:
    """The verbs of collection, which is loaded when they are asked for."""

    def __iter__(self) -> Iterator[str]:
        names: Sequence[str] = import_module(f"{_ITS_COMMANDS}.options").VERBS
        return iter([f"{COLLECTION} {name}" for name in names])
