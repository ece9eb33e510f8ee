"""A new audit is laid out, judged and rendered; one of 24 students, with no model anywhere."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.commands import cli
from analysis.commands.colour import CODES, coloured
from analysis.store import codebook, open_store


def test_a_new_audit_has_verdicts_as_their_kinds_say_and_leaves_a_folder_in_use(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert cli.main(["init", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    assert cli.main(["--paper", str(folder), "claims"]) == 0
    printed = capsys.readouterr()
    assert "3 claims: 2 reproduced" in printed.out
    assert "1 undecided" in printed.out
    assert "warning" not in printed.err
    assert cli.main(["--paper", str(folder), "claims", "--json"]) == 0
    every, rises, passes = json.loads(capsys.readouterr().out)
    assert (every["kind"], rises["kind"]) == ("universal", "difference")
    assert rises["conf_low"] > 0
    assert passes["conf_low"] < 1 < passes["conf_high"]


def test_a_large_p_that_is_called_a_failure_is_warned_of(tmp_path, capsys):
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    functions = folder / "claims.py"
    decided = 'evidence.significant(found, "above")'
    assert decided in functions.read_text()
    functions.write_text(functions.read_text().replace(decided, 'bool(found["p_value"] < 0.05)'))
    for verb in (["claims"], ["claim", "3"]):
        assert cli.main(["--paper", str(folder), *verb]) == 0
        err = capsys.readouterr().err
        assert "warning: claim 3, " in err
        assert "contains 1 and both sides of it" in err
        assert "evidence.significant" in err


def test_an_audit_of_models_needs_no_column_that_it_does_not_use(tmp_path, capsys):
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder), "--models"]) == 0
    assert not (folder / "unit.csv").exists()
    capsys.readouterr()
    assert cli.main(["--paper", str(folder), "claims"]) == 0
    printed = capsys.readouterr()
    assert "2 claims: 2 reproduced" in printed.out
    assert "5 models, 2 suites" in printed.out
    rows = claims.evidence.figures(open_store(folder), "loss")
    assert rows["n_parameters"].tolist()[0] == 3_000_000
    assert rows["log_parameters"].tolist()[0] == pytest.approx(np.log10(3e6))
    assert {"rho", "suite", "n_layers", "caveats"} <= set(rows)


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("published_figure.csv", ("2.6,1,nat", "2.6,,nat"), ["must have n", "row 2"]),
        ("published_figure.csv", ("2.6,1,nat", "2.6x,1,nat"), ["Column mean", "row 2", "'2.6x'"]),
        ("published_figure.csv", ("2.6,1,nat", "2.6,0,nat"), ["(n > 0)", "a/medium"]),
        (
            "model.csv",
            ("n_layers,", "layers,"),
            ["missing: n_layers", "probably n_layers"],
        ),
        ("claims.py", ('"n_layers"', '"n_layer"'), ["n_layer"]),
        ("claims.py", ('losses["mean"]', 'losses["mena"]'), ["'mena'", "mean, sd, n, unit"]),
    ],
)
def test_what_is_wrong_in_a_table_is_said_with_its_row_and_column(
    file, change, named, tmp_path, capsys
):
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder), "--models"]) == 0
    text = (folder / file).read_text()
    assert change[0] in text
    (folder / file).write_text(text.replace(*change))
    assert cli.main(["--paper", str(folder), "claims"]) == 2
    err = capsys.readouterr().err
    assert [it for it in named if it not in err] == []


@pytest.mark.parametrize(("old", "new", "named"), [
    ("s3,class a,5,66", "s3,class a,5,sixty", ("row 3", "unit.csv", "score", "'sixty'")),
    ("s5,class b,4,", "s5,class b,four,", ("row 5", "unit.csv", "hours", "'four'")),
])  # fmt: skip
def test_a_text_among_numbers_is_named_with_its_row_and_column(old, new, named, tmp_path, capsys):
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    units = folder / "unit.csv"
    units.write_text(units.read_text().replace(old, new))
    capsys.readouterr()
    assert cli.main(["--paper", str(folder), "claims"]) == 2
    error = capsys.readouterr().err
    assert all(part in error for part in named)


@pytest.mark.parametrize("blank", ["", " "])
def test_a_claim_whose_statement_is_empty_is_refused(blank, tmp_path, capsys):
    folder = tmp_path / "audit"
    assert cli.main(["init", str(folder)]) == 0
    stated = folder / "claim.csv"
    stated.write_text(stated.read_text().replace("every student scores above 50", blank))
    assert cli.main(["--paper", str(folder), "claims"]) == 2
    assert "the statement of claim 1" in capsys.readouterr().err


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


def test_observations_of_one_unit_count_once(students, capsys):
    rows = pd.read_csv(students / "unit.csv")
    twice = pd.concat([rows.assign(observation_id=name) for name in ("before", "after")])
    twice.to_csv(students / "unit.csv", index=False)
    assert cli.main(["--paper", str(students), "claims"]) == 0
    assert capsys.readouterr().out.count("24 students, 6 classes, 48 rows") == 3
    twice.drop(columns="observation_id").to_csv(students / "unit.csv", index=False)
    assert cli.main(["--paper", str(students), "claims"]) == 2
    err = capsys.readouterr().err
    assert "row 25 has unit_id s0 again" in err
    assert "observation_id" in err


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
