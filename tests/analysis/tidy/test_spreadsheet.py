"""CSV as a spreadsheet opens it: no cell and no header starts a formula, no number changes."""

import io
from pathlib import Path

import pandas as pd
import pytest

from analysis.commands import cli
from analysis.tidy.spreadsheet import to_csv

SOURCES = sorted((Path(__file__).parents[3] / "reports").glob("claims*.csv"))


@pytest.mark.parametrize(
    "text",
    ["=HYPERLINK(A1)", "+1+1", "-1+cmd", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "-", "\n=1"],
)
def test_a_text_that_would_be_a_formula_is_text(text):
    rows = pd.DataFrame({text: [text, "plain", None], "n": [-1.5, 2.0, float("nan")]})
    shown = pd.read_csv(io.StringIO(to_csv(rows)), keep_default_na=False)
    wanted = "'" + text.replace("\r", "\n")
    assert (shown.iloc[0, 0], shown.columns[0]) == (wanted, wanted)
    assert shown.iloc[1, 0] == "plain"
    assert shown["n"].tolist() == ["-1.5", "2", ""]


def test_numbers_and_other_values_are_written_as_they_are():
    rows = pd.DataFrame(
        {"a": ["-0.5", "+3e-7", "−0.81"], "b": [True, False, None], "c": [1, -2, 3]}
    )
    assert to_csv(rows) == "a,b,c\n-0.5,True,1\n+3e-7,False,-2\n−0.81,,3\n"
    twice = pd.DataFrame([["=1", "=2"]], columns=["x", "x"])
    assert to_csv(twice) == "x,x\n'=1,'=2\n"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_committed_verdicts_hold_no_formula(path):
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert to_csv(rows) == rows.to_csv(index=False, lineterminator="\n")


def test_the_answer_to_a_query_holds_no_formula(capsys):
    folder = Path(__file__).parents[1] / "second_paper"
    query = "SELECT '=1+1' AS \"=a\", -1.5 AS n"
    assert cli.main(["--data", str(folder), "sql", query, "--csv"]) == 0
    assert capsys.readouterr().out == "'=a,n\n'=1+1,-1.5\n"
