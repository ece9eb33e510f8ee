"""A new audit is laid out, judged, and rendered at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.commands import cli


def test_a_new_audit_has_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    assert cli.main(["--paper", str(folder), "claims"]) == 0
    assert "2 claims: 2 reproduced" in capsys.readouterr().out


def test_a_folder_in_use_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert cli.main(["init", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_a_new_audit_renders_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    assert cli.main(["--paper", str(folder), "report", "--engine", "embedded"]) == 0
    pages = {path.stem: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    assert sorted(pages) == ["claims", "data", "index"]
    assert 'id="claim-2"' in pages["claims"]
    assert "claims.html#claim-1" in pages["index"]
    assert 'id="data-published-figure"' in pages["data"]
