"""A new audit is laid out, judged, and rendered at once."""

import json
import sys
from pathlib import Path

import pytest

from analysis import audit as claims
from analysis.commands import cli
from analysis.commands.colour import CODES, coloured


def test_a_new_audit_has_verdicts_as_their_kinds_say_and_leaves_a_folder_in_use(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert cli.main(["init", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    assert cli.main(["--paper", str(folder), "claims"]) == 0
    assert "2 claims: 2 reproduced" in capsys.readouterr().out
    assert cli.main(["--paper", str(folder), "claims", "--json"]) == 0
    every, rises = json.loads(capsys.readouterr().out)
    assert (every["kind"], rises["kind"]) == ("universal", "difference")
    assert rises["conf_low"] > 0


def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_left(tmp_path, capsys, monkeypatch):
    write_text = Path.write_text

    def fails_at_the_code(path, text, **how):
        written = write_text(path, text, **how)
        if path.suffix == ".py":
            raise OSError(28, "No space left on device")
        return written

    monkeypatch.setattr(Path, "write_text", fails_at_the_code)
    assert cli.main(["init", str(tmp_path / "audit")]) == 5
    assert "No space left on device.\nhint: Choose another place" in capsys.readouterr().err
    assert list((tmp_path / "audit").iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_pages_that_have_no_place_are_refused_before_any_is_made(place, tmp_path, capsys):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    folder, out = tmp_path / "audit", tmp_path / place
    assert cli.main(["init", str(folder)]) == 0
    assert cli.main(["--paper", str(folder), "report", "--out", str(out)]) == 5
    printed = capsys.readouterr().err.splitlines()[-2:]
    assert printed[0].startswith(f"error: The folder {out} must be writable; ")
    assert printed[1].startswith("hint: ")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_a_new_audit_renders_at_once(tmp_path):
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    assert cli.main(["--paper", str(folder), "report", "--engine", "embedded"]) == 0
    pages = {path.stem: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    assert sorted(pages) == ["claims", "data", "index"]
    assert 'id="claim-2"' in pages["claims"]
    assert "claims.html#claim-1" in pages["index"]
    assert 'id="data-unit"' in pages["data"]


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
