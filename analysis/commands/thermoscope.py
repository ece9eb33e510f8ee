"""The one command, ``thermoscope``: verbs of analysis, and of collection behind ``collect``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from analysis.commands import cli

PROGRAM = "thermoscope"

#: Where the command line of collection lies; it is loaded when it is asked for.
_COLLECTION = "collect.commands.cli"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, which is that of the package it hands over to.

    Parameters
    ----------
    arguments
        Words after ``thermoscope``; those of the command line unless given.
    """
    # A request to end is an interruption, whoever makes it: nothing is left half-written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["collect"]:
        collection: Callable[..., int] = import_module(_COLLECTION).main
        return collection(given[1:], program=f"{PROGRAM} collect")
    cli.collect_rarely()
    return cli.main(given or ["--help"], program=PROGRAM)
