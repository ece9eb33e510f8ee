"""Which exit codes come out of the command line that its verbs do not declare."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from collect.process import cli
from collect.process.verbs import declared


@contextmanager
def undeclared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield a list to which every end of a command is added that its verb does not declare."""
    found: list[str] = []
    run = cli._run

    def end(options: argparse.Namespace, code: int, words: Sequence[str]) -> None:
        verb = declared().get(getattr(options, "verb", ""))
        if verb is not None and code not in verb.exit_codes():
            found.append(f"{options.verb} ended with {code}: {words}")

    def watched(given: Sequence[str], program: str, options: argparse.Namespace) -> int:
        try:
            code = run(given, program, options)
        except (SystemExit, BrokenPipeError):
            raise
        except BaseException as error:
            end(options, cli.worded(error)[2], given)
            raise
        end(options, code, given)
        return code

    monkeypatch.setattr(cli, "_run", watched)
    yield found
