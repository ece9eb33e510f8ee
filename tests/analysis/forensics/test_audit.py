"""The verb: any paper's Markdown in, a verdict on each test and an exit code out."""

import io

import pandas as pd
import pytest

from analysis.commands import cli
from tests.analysis.places import SHARED

PAPER = SHARED / "paper" / "paper.md"

TEXT = """# An invented paper

It grew, *t*(28) = 2.20, *p* = .036, and fell, $r = -0.81$, $p = 0.014$.

| effect | test |
|---|---|
| none | F(1, 28) = 0.40, p = .03 |

As is well known, p < .001.
"""


def run(capsys, *arguments):
    code = cli.main(["forensics", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "paper.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_an_inconsistent_paper_has_exit_code_one_and_a_consistent_one_zero(capsys, paper):
    code, out, err = run(capsys, paper)
    assert (code, err) == (1, "")
    assert "line    7  decision error  F(1, 28) = 0.40, p = .03" in out
    assert "agree for n = 8." in out
    last = out.splitlines()[-1]
    assert last == (
        "4 reported: 2 consistent, 0 inconsistent, 1 decision error, 1 not checkable, "
        "0 not understood."
    )
    paper.write_text(TEXT.replace("0.40", "5.25"), encoding="utf-8")
    assert run(capsys, paper)[0] == 0


def test_csv_holds_what_is_printed_and_the_level_is_an_option(capsys, paper):
    code, out, _ = run(capsys, paper, "--csv")
    rows = pd.read_csv(io.StringIO(out))
    assert code == 1
    assert rows["line"].tolist() == [3, 3, 7, 9]
    assert rows["consistency"].tolist()[2:] == ["decision error", "not checkable"]
    assert rows["p_value"][0] == pytest.approx(0.036225, abs=1e-6)
    paper.write_text("t(28) = 2.20, p = .03", encoding="utf-8")
    assert "1 inconsistent, 0 decision error" in run(capsys, paper)[1]
    assert "0 inconsistent, 1 decision error" in run(capsys, paper, "--alpha", 0.035)[1]


@pytest.mark.parametrize(
    ("text", "n"), [("Nothing is tested.", 0), ("p < .001, and t(28) = .2.20, p = .03", 2)]
)
def test_a_paper_without_tests_that_can_be_recomputed_has_a_code_of_its_own(capsys, paper, text, n):
    paper.write_text(text, encoding="utf-8")
    code, out, err = run(capsys, paper)
    assert code == 7
    assert out.splitlines()[-1].startswith(f"{n} reported:")
    assert "recomputed" in err


def test_a_pdf_and_wrong_input_are_one_sentence_and_exit_code_two(capsys, tmp_path):
    paper = tmp_path / "paper.txt"
    paper.write_bytes(b"%PDF-1.4\n1 0 obj << /Length 0 >> endobj\n%%EOF\n")
    code, out, err = run(capsys, paper)
    assert (code, out) == (2, "")
    assert "PDF" in err
    code, _, err = run(capsys, tmp_path / "absent.md")
    assert code == 2
    assert err.startswith("error: ")
    assert "must be a readable UTF-8 text; No such file" in err
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8 text; it is not" in run(capsys, tmp_path / "bytes.md")[2]
    code, _, err = run(capsys, tmp_path / "absent.md", "--alpha", 2)
    assert code == 2


def test_the_audited_paper_reports_no_test_that_contradicts_itself(capsys):
    if not PAPER.exists():
        pytest.skip(f"the paper's text is not at {PAPER}")
    code, out, _ = run(capsys, PAPER)
    assert code == 0
    assert out.count("the two agree for n = 8") == 3
