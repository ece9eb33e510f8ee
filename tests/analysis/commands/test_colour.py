"""Verdict words in colour: at a terminal, unless it is refused."""

import sys

import pytest

from analysis import audit as claims
from analysis.commands.colour import CODES, coloured


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("terminal")
def test_each_verdict_has_a_colour_of_its_own_and_keeps_its_width():
    codes = [CODES[verdict] for verdict in claims.VERDICTS]
    assert len(set(codes)) == len(claims.VERDICTS)
    assert coloured("no data", 9) == "\x1b[90mno data\x1b[0m  "
    assert coloured("something else", 4) == "something else"


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_refused(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert coloured("contradicted", 13) == "contradicted "


def test_output_that_is_no_terminal_is_plain(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert coloured("contradicted") == "contradicted"
