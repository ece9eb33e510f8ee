"""An audit of a paper about 24 students: three claims, a table of units, no model anywhere."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from analysis.commands import cli
from analysis.store import codebook, open_store

CLAIMS = """
from analysis.audit import Claim, evidence
from analysis.inference import correlation


def passed(store):
    rows = evidence.units(store)
    passed = rows["score"] >= 50
    return [evidence.share_check("most pass", "all", int(passed.sum()), rows,
                                 holds=bool(passed.mean() > 0.5), method="share", units="students")]


def rises(store):
    rows = evidence.units(store)
    checks = []
    for name, kept in (("all", rows), ("without class c0", rows[rows["suite"] != "c0"])):
        found = correlation.correlate(kept, x="hours", y="score").iloc[0]
        checks.append(evidence.check(
            "score rises", name, evidence.above(found["conf_low"], found["conf_high"], 0), kept,
            **evidence.numbers(found), method=found["method"], measure="r"))
    return checks


def falls(store):
    rows = evidence.units(store)
    found = correlation.correlate(rows, x="sleep", y="score").iloc[0]
    return [evidence.check("score falls with sleep", "all",
                           evidence.below(found["conf_low"], found["conf_high"], 0), rows,
                           **evidence.numbers(found), method=found["method"], measure="r")]


CLAIMS = (
    Claim(1, "Share of students who pass", "It is above one half.", passed, "universal"),
    Claim(2, "Correlation of hours and score", "Its interval lies above 0.", rises),
    Claim(3, "Correlation of sleep and score", "Its interval lies below 0.", falls),
)
"""


@pytest.fixture
def students(tmp_path):
    """Return the folder of an audit, laid out with its words, and filled."""
    folder = tmp_path / "audit"
    words = ("--title", "Homework, audited", "--author", "A. Reader", "--licence", "CC0")
    assert cli.main(["init", str(folder), *words]) == 0
    rng = np.random.default_rng(1)
    hours, sleep = rng.uniform(0, 10, 24), rng.uniform(5, 9, 24)
    rows = pd.DataFrame(
        {
            "unit_id": [f"s{n}" for n in range(24)],
            "group_id": [f"c{n % 6}" for n in range(24)],
            "hours": hours,
            "sleep": sleep,
            "score": 45 + 4 * hours + rng.normal(0, 3, 24),
        }
    )
    rows.to_csv(folder / "unit.csv", index=False)
    (folder / "claims.py").write_text(CLAIMS, encoding="utf-8")
    (folder / "claim.csv").write_text(
        "claim_id,statement,place\n1,most pass,p. 1\n2,score rises,p. 2\n3,score falls,p. 3\n",
        encoding="utf-8",
    )
    (folder / "claim_meaning.csv").unlink()
    return folder


def test_verdicts_count_students_in_their_classes_and_units_are_a_table(students, capsys):
    assert cli.main(["--paper", str(students), "claims"]) == 0
    out = capsys.readouterr().out
    assert out.count("24 students, 6 classes") == 3
    assert "model" not in out
    assert cli.main(["--paper", str(students), "claim", "2"]) == 0
    assert "20 students, 5 classes" in capsys.readouterr().out
    query = "SELECT count(*), count(DISTINCT group_id) FROM unit"
    assert cli.main(["--data", str(students), "sql", query, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "24,6"
    assert cli.main(["--paper", str(students), "columns", "unit", "--csv"]) == 0
    described = pd.read_csv(io.StringIO(capsys.readouterr().out)).set_index("column")
    assert described["type"].to_dict() == {
        **dict.fromkeys(["unit_id", "group_id"], "varchar"),
        **dict.fromkeys(["hours", "sleep", "score"], "double"),
    }
    assert cli.main(["--paper", str(students), "columns", "units"]) == 2
    relations = codebook.relations(open_store(students)).set_index("relation")
    assert relations.loc["unit", "n_rows"] == "24"
    assert "unit.csv" in relations.loc["unit", "meaning"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("unit.csv", f"{rows}\n") for rows in ("group_id,hours\na,1", "unit_id,x\na,1\na,2")),
        ("unit.csv", "unit_id,file\na,1\n"),
        *(("audit.toml", text) for text in ("title = 3\n", 'subtitle = "x"\n', "title")),
    ],
)
def test_a_table_without_units_of_their_own_and_settings_that_are_none_are_refused(
    name, text, students, capsys
):
    (students / name).write_text(text, encoding="utf-8")
    assert cli.main(["--paper", str(students), "claims"]) == 2
    assert name in capsys.readouterr().err


def test_at_a_terminal_it_asks_for_what_no_option_says(tmp_path, capsys, monkeypatch):
    assert cli.main(["init", str(tmp_path / "new"), "--units", "pupil"]) == 2
    assert "--units" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    printed = iter(["Mine", "", "", "pupil,pupils", ""])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: next(printed))
    assert cli.main(["init", str(tmp_path / "new"), "--licence", "CC0"]) == 0
    written = (tmp_path / "new" / "audit.toml").read_text(encoding="utf-8")
    assert 'title = "Mine"' in written
    assert 'licence = "CC0"' in written
    assert 'units = "pupils"' in written


@pytest.mark.slow
def test_pages_are_the_audits_own(students):
    assert cli.main(["--paper", str(students), "report", "--engine", "embedded"]) == 0
    pages = {path.stem: path.read_text(encoding="utf-8") for path in students.rglob("*.html")}
    shown = {name: re.sub(r"<style.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL)
             for name, text in pages.items()}  # fmt: skip
    assert "Homework, audited" in shown["index"]
    assert "A. Reader" in shown["index"]
    assert "CC0" in shown["index"]
    assert "MIT" not in shown["index"]
    assert "Students (classes)" in shown["claims"]
    assert "odels" not in shown["claims"]
    assert "24 rows" in shown["data"]
    assert pages["claims"].count('class="strip"') == 3
