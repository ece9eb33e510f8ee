"""The paper's notebooks: each query gives what the notebook saved, each command runs."""

import io
from pathlib import Path

import pandas as pd
import pytest

from analysis.commands import cli
from analysis.delia2026.record.notebooks import notebooks, table
from tests.analysis.places import PUBLISHED, ROOT
from tests.collect.conftest import tiny_model, tiny_tokenizer

LISTED = notebooks()
QUERIES = {it.name: it.sql for it in LISTED if it.sql}
COMMANDS = {it.name: it.command for it in LISTED if it.command}
#: The readme of the paper's folder names 18; one of them saved no file.
N_NOTEBOOKS, WITHOUT_FILE = 18, "Bentov_Point_Characterization"
QUICK_START = [
    "Scaling_Law_Multi_Pythia",
    "Grand_Unified_Thermodynamic_Benchmark",
    "Restriction_Maps_Extraction",
    "Twin_Test_Base_vs_Instruct",
    "High_Rho_Model_Hunt_NO_FINAL_LN",
]
#: What the result files state, read by hand, by the words of a row of the answer and its column.
SAVED = pd.read_csv(Path(__file__).with_name("notebooks_saved.csv"), keep_default_na=False)
#: Of our own measurements, which have no counterpart in the paper's files.
OF_OURS = {"Input_Dependency_Thermodynamics"}


def answer(capsys, *words):
    """Return what a command prints as CSV, as a frame."""
    code = cli.main([*words, "--csv"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return pd.read_csv(io.StringIO(printed.out))


def test_every_notebook_of_the_paper_has_one_row():
    assert len({it.name for it in LISTED}) == len(LISTED) == N_NOTEBOOKS
    first = sorted((it.quick_start, it.name) for it in LISTED if it.quick_start)
    assert first == list(enumerate(QUICK_START, 1))
    files = pd.read_csv(PUBLISHED / "published_file.csv")["notebook"].dropna()
    saved = {name.removesuffix(".ipynb") for name in files if name.endswith(".ipynb")}
    assert {it.name for it in LISTED} - saved == {WITHOUT_FILE}
    assert saved <= {it.name for it in LISTED}
    for it in LISTED:
        assert sum(map(bool, (it.sql, it.command, it.absent))) == 1, it.name
        assert it.computes
    assert len(table()) == N_NOTEBOOKS


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_what_the_notebook_saved(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = answer(capsys, "sql", QUERIES[name])
    assert len(shown)
    numbers = {
        (" ".join(value for value in row if isinstance(value, str)), column): value
        for _, row in shown.iterrows()
        for column, value in row.items()
        if not isinstance(value, str)
    }
    saved = SAVED[SAVED["notebook"] == name].set_index(["keys", "column"])["value"].to_dict()
    assert bool(saved) != (name in OF_OURS)
    if saved:
        assert numbers == pytest.approx(saved, rel=1e-8)
    else:
        assert all(-1 <= value <= 1 for value in numbers.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers_for_each_measured_network(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = answer(capsys, *COMMANDS[name].split())
    measured = shown[shown["source"] == "measured"]
    assert measured["model_id"].nunique() >= 6
    assert measured["estimate"].notna().any()
    methods = set(measured["method"])
    assert {"argmax_interior_gradient", "argmin_contraction", "formula"} <= methods


def test_a_model_is_measured_on_the_prompts_of_every_notebook(tmp_path, capsys, monkeypatch):
    """The command of the section, over all prompt sets of the notebooks, and its query."""
    monkeypatch.chdir(ROOT)
    sets = pd.read_csv(PUBLISHED / "published_file.csv")["prompt_set"].dropna().unique()
    checkpoint = tmp_path / "model"
    tiny_model("llama", seed=0).save_pretrained(checkpoint)
    tiny_tokenizer().save_pretrained(checkpoint)
    runs = str(tmp_path / "runs")
    words = ("collect", "run", str(checkpoint), "--prompts", *sorted(sets), "--out", runs)
    assert cli.main([*words, "--quantities", "stream", "--too-long", "truncate"]) == 0
    capsys.readouterr()
    shown = answer(capsys, "--data", runs, "sql", "FROM model_gain")
    assert len(shown) == 1
    measured = answer(capsys, "--data", runs, "sql", "SELECT DISTINCT prompt_set FROM raw.run")
    assert set(measured["prompt_set"].dropna()) >= set(sets)
