"""The command line of the analysis within a test, in the checkout."""

from pathlib import Path

import pytest

from analysis import audit as claims
from analysis import store
from analysis.commands import cli, verdicts
from tests.analysis.places import ROOT


@pytest.fixture
def in_the_checkout(monkeypatch, judged, made, shipped_store):
    """Be in the checkout; what it ships is opened and judged once for all tests."""
    monkeypatch.chdir(ROOT)
    shipped, opening = [Path("data/published"), Path("data/sample")], store.open_store

    def opened(*sources, **how):
        is_shipped = [*map(Path.resolve, sources)] == [*map(Path.resolve, shipped)]
        return shipped_store if is_shipped and not how["verify"] else opening(*sources, **how)

    monkeypatch.setattr(store, "open_store", opened)
    monkeypatch.setattr(verdicts, "_examine", lambda *_arguments: made)
    monkeypatch.setattr(claims, "evaluate", lambda _store, _registry, made: judged.copy())


def run(capsys, *arguments):
    """Return the exit code of the command line, and what it printed to output and error."""
    code = cli.main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err
