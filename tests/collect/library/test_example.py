"""The script of examples/api runs, is short, and prints what its README shows."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "examples/api/follow.py"
SHOWN = re.findall(
    r"^\| (\d+) \| (\d) \| ([\d.]+) \|$",
    (ROOT / "examples/api/README.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)


@pytest.mark.slow
def test_the_script_prints_what_its_readme_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(tmp_path / "store")])
    monkeypatch.setattr("collect.instruments.quantities._REGISTERED", {})
    runpy.run_path(str(SCRIPT), run_name="__main__")
    printed = re.findall(r"logit_lens_entropy +(\d+) +(\d) +([\d.]+)", capsys.readouterr().out)
    assert [row[:2] for row in printed] == [row[:2] for row in SHOWN]
    assert len(SHOWN) == 9
    for (step, layer, shown), (*_, result) in zip(SHOWN, printed, strict=True):
        # Another processor rounds each of forty steps otherwise.
        assert abs(float(shown) - float(result)) < (0.002 if step == "0" else 0.1), (step, layer)
