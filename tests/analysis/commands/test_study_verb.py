"""The verb `study`: what was registered is printed, written and compared."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from analysis.commands import cli, study
from analysis.delia2026.study import status as standing
from analysis.store import open_store
from tests.analysis.places import ROOT


@pytest.fixture(scope="module")
def result():
    """Return where the statements stand in the committed rows, computed as the verb does."""
    store = open_store(ROOT / "data/fleet")
    return standing.statements(store, rng=np.random.default_rng(standing.SEED))


@pytest.fixture(autouse=True)
def _computed_once(monkeypatch, result):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(study, "opened", lambda _options: None)
    monkeypatch.setattr(standing, "statements", lambda _store, rng: result.copy())


def test_the_committed_statements_are_those_of_the_rows_printed_with_verdicts(capsys, result):
    assert cli.main(["study", "--check"]) == 0
    assert capsys.readouterr().out == "0 of 13 statements differ from study.csv.\n"
    assert cli.main(["study"]) == 0
    printed = capsys.readouterr().out
    for row in result.to_dict("records"):
        assert row["statement"] in printed
        assert f"{row['condition']}: {row['verdict']}: " in printed
    assert cli.main(["study", "--csv"]) == 0
    rows = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert rows[["claim_id", "verdict"]].equals(result[["claim_id", "verdict"]])
    assert cli.main(["study", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(result) == 26


def test_a_changed_verdict_is_named_and_what_is_written_is_read_back(capsys, monkeypatch, tmp_path):
    path = tmp_path / "study.csv"
    monkeypatch.setattr(study, "COMMITTED_STUDY", str(path))
    assert cli.main(["study", "--check"]) == 2
    assert "study --write" in capsys.readouterr().err
    assert cli.main(["study", "--write"]) == 0
    assert cli.main(["study", "--check"]) == 0
    rows = pd.read_csv(path)
    rows.loc[(rows["claim_id"] == "S10") & (rows["condition"] == "equal steps"), "verdict"] = "held"
    rows.to_csv(path, index=False)
    capsys.readouterr()
    assert cli.main(["study", "--check"]) == 1
    assert "claim S10, equal steps: verdict held -> missed" in capsys.readouterr().out
