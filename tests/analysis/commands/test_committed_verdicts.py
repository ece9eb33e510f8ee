"""The verdicts as they are committed: checked, written, and refused where damaged."""

import pandas as pd
import pytest

from analysis.commands import verdicts
from tests.analysis.commands.conftest import ROOT, run

pytestmark = pytest.mark.usefixtures("in_the_checkout")


def test_the_committed_verdicts_are_those_of_the_data(capsys):
    code, out, _ = run(capsys, "claims", "--check")
    assert (code, out.split(" ")[0]) == (0, "0")


def test_a_changed_verdict_is_named_and_exits_1(capsys, monkeypatch, tmp_path):
    committed = pd.read_csv(ROOT / "reports/claims.csv")
    committed.loc[committed["claim_id"] == 7, "verdict"] = "reproduced"
    committed.to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, out, _ = run(capsys, "claims", "--check")
    assert code == 1
    assert "claim 7: verdict reproduced -> contradicted" in out


def test_verdicts_that_were_never_written_are_asked_for(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, _, err = run(capsys, "claims", "--check")
    assert code == 2
    assert "claims --write" in err
    assert f"{tmp_path / 'claims.csv'}; No such file or directory.\n" in err


def test_written_verdicts_are_read_back_equal(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "new" / "claims.csv"))
    assert run(capsys, "claims", "--write")[0] == 0
    assert run(capsys, "claims", "--check")[0] == 0


def test_an_unwritable_place_is_exit_code_5(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "file" / "claims.csv"))
    code, _, err = run(capsys, "claims", "--write")
    assert code == 5
    assert "must be writable" in err


@pytest.mark.parametrize("content", ["", "claim_id\n1\n", "\xff\xfe"])
def test_damaged_committed_verdicts_are_refused(capsys, monkeypatch, tmp_path, content):
    path = tmp_path / "claims.csv"
    path.write_bytes(content.encode("latin-1"))
    monkeypatch.setattr(verdicts, "COMMITTED", str(path))
    code, _, err = run(capsys, "claims", "--check")
    assert code == 2
    assert "must be a whole CSV file" in err


def test_a_changed_number_is_named_and_exits_1(capsys, monkeypatch, tmp_path):
    committed = pd.read_csv(ROOT / "reports/claims.csv")
    committed.loc[committed["claim_id"] == 7, "p_value"] = 0.0009
    committed.to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, out, _ = run(capsys, "claims", "--check")
    assert code == 1
    assert out.startswith("claim 7: p_value 0.0009 -> ")
