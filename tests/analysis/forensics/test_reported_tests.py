"""Reported tests read in Markdown, TeX and tables; the verb that judges each."""

import io
from math import isnan

import pandas as pd
import pytest

from analysis.commands import cli
from analysis.forensics import audit, reported_tests
from tests.analysis.places import PUBLISHED, SHARED

PAPER = SHARED / "paper" / "paper.md"


def only(text):
    rows = reported_tests.find(text)
    assert len(rows) == 1, rows["quoted"].tolist()
    return rows.iloc[0]


@pytest.mark.parametrize(
    ("text", "test", "degrees", "statistic", "p"),
    [
        ("t(28) = 2.20, p = .036", "t", (None, 28), "2.20", ".036"),
        ("*t*(28) = 2.20, *p* < .05", "t", (None, 28), "2.20", ".05"),
        ("t (12.5)=-2.20,p=.04", "t", (None, 12.5), "-2.20", ".04"),
        ("F(2, 57) = 3.15; p = .05", "F", (2, 57), "3.15", ".05"),
        ("F(2, 1,000) = 3.15, p = .05", "F", (2, 1000), "3.15", ".05"),
        ("$\\chi^2(1, N = 100) = 4.10$, $p = .043$", "chi2", (None, 1), "4.10", ".043"),
        ("χ²(2) = 6.0, p > .05", "chi2", (None, 2), "6.0", ".05"),
        ("r(48) = .30, p = .03", "r", (None, 48), ".30", ".03"),
        ("r = −0.81, n = 8, p = 0.014", "r", (None, 6), "-0.81", "0.014"),
        ("r = −0.81, p = 0.014 (n = 8)", "r", (None, 6), "-0.81", "0.014"),
        ("r = – .5, p < .001", "r", (None, None), "-.5", ".001"),
        ("z = 1.96, p = .05", "z", (None, None), "1.96", ".05"),
        ("Z = 2.1, 95% CI [1, 2], p = .036", "z", (None, None), "2.1", ".036"),
        ("t = 2.05, df = 28, p = .05", "t", (None, 28), "2.05", ".05"),
        ("t(28) = 2.2, d = 0.8, p-value = 1.2e-3", "t", (None, 28), "2.2", "1.2e-3"),
        ("Q(3) = 7.8, p = 0.05", "Q", (None, 3), "7.8", "0.05"),
        ("| r = -0.81, p = 0.014 |", "r", (None, None), "-0.81", "0.014"),
        ("$r = 0.5$\u00a0($p \\leq 0.01$)", "r", (None, None), "0.5", "0.01"),
        # What others overlook.
        ("t[28]=2.31, p = .03", "t", (None, 28), "2.31", ".03"),
        ("t{28} = 2.2, p = .03", "t", (None, 28), "2.2", ".03"),
        ("Welch's t(23.4) = -2.87, two-tailed p = .0086", "t", (None, 23.4), "-2.87", ".0086"),
        ("$\\chi^2_{3} = 7.81$, $p = .05$", "chi2", (None, 3), "7.81", ".05"),
        ("X2(28) = 2.20, p = .03", "chi2", (None, 28), "2.20", ".03"),
        ("chi_2(28) = 2.20, p = .03", "chi2", (None, 28), "2.20", ".03"),
        ("Q-within(2) = 2.20, p = .03", "Q", (None, 2), "2.20", ".03"),
        ("t(38) = 2.25, p <= .03", "t", (None, 38), "2.25", ".03"),
        ("F(1, 38) = 4.20, p = . 04 7", "F", (1, 38), "4.20", ".047"),
        ("t(191) = 8.22, p <. 001 in all", "t", (None, 191), "8.22", ".001"),
        ("t(5) = 2, p = .04 7 of them", "t", (None, 5), "2", ".04"),
        ("t(198) = -2.22, p = -.22", "t", (None, 198), "-2.22", "-.22"),
        ("χ2(5) = 231.24, p = 5.81 × 10−48", "chi2", (None, 5), "231.24", "5.81e-48"),
        ("z = 2, p = 5.0 * 10 ^ -2", "z", (None, None), "2", "5.0e-2"),
        ("F(2,25) = 11.37, MSE = 236.43, p < .01", "F", (2, 25), "11.37", ".01"),
    ],
)
def test_a_report_is_read_as_printed(text, test, degrees, statistic, p):
    row = only(text)
    assert (row["test"], row["statistic"], row["p_printed"]) == (test, statistic, p)
    for actual, expected in zip(row[["df_numerator", "df"]], degrees, strict=True):
        assert isnan(actual) if expected is None else actual == expected


def test_lines_are_counted_from_one_however_many_and_two_statistics_share_no_p():
    rows = reported_tests.find("p < .05\n\nthen r = .5,\np = .01 and t(3) = 1, p = .4")
    assert rows["line"].tolist() == [1, 3, 4]
    assert rows["test"].tolist() == ["p alone", "r", "t"]
    rows = reported_tests.find("t = 2.1, r = .5, p = .03")
    assert rows["quoted"].tolist() == ["r = .5, p = .03"]
    row = only("t(10) = 1.2, ns")
    assert (row["p_comparison"], row["p_printed"]) == ("ns", "")
    assert reported_tests.find("$r_s = .5$, $p = .02$")["test"].tolist() == ["p alone"]
    # One look at all others for each would be 10^9 looks.
    rows = reported_tests.find("t(28) = 2.20, p = .036\nbeside p = .04\n" * 20_000)
    assert rows["line"].tolist() == list(range(1, 40_001))
    assert rows["test"].tolist() == ["t", reported_tests.P_ALONE] * 20_000


@pytest.mark.parametrize(
    "text",
    [
        "head density ρ = 0.25 and L = 12",
        "sheets(4) = 3",
        "G_max = 10^(1/L), p is small",
        "The step p of 0.05 is not a p.",
        "",
    ],
)
def test_other_equations_are_no_tests(text):
    assert reported_tests.find(text).empty


@pytest.mark.parametrize(
    "text",
    [
        "t(28) = .2.20, p = .03",
        "t(28) = %^&2.20, p = .03",
        "t(2,28) = 2.20, p = .03",
        "F(l, 76) = 23.95, p < .001",
        "F(28) = 2.20, p = .03",
        "t(123) = 1 0.25, p = .806",
        "T(28) = 2.20, p = .03",
        "t28 = -2.20, p = .03",
        "Qs(2) = 2.2, p = .03",
        "ρ(44) = .349, p = .017",
        "a mean difference, t(28) = 2.20, in all groups",
    ],
)
def test_what_looks_like_a_test_is_a_row(text):
    assert only(text)["test"] == "not understood"


@pytest.fixture(params=["quotations", "documents"])
def audited(request, tmp_path):
    """Return what is quoted of the audited paper and, where it lies beside the checkout, all."""
    if request.param == "documents":
        if not PAPER.exists():
            pytest.skip(f"the paper's text is not at {PAPER}")
        return PAPER
    quoted = pd.read_csv(PUBLISHED / "claim_quotation.csv")["quotation"]
    path = tmp_path / "quoted.md"
    path.write_text("\n\n".join(quoted), encoding="utf-8")
    return path


def test_the_audited_paper_reports_one_correlation_several_times(audited):
    rows = reported_tests.find(audited.read_text(encoding="utf-8"))
    assert set(rows.loc[rows["test"] == "r", "statistic"]) == {"-0.81"}
    assert (rows["test"] == "p alone").any()


def test_an_impossible_or_endless_number_is_a_row_with_its_reason(tmp_path):
    paper = tmp_path / "paper.md"
    paper.write_text("t(28) = 2.20, p = .036\n\nt(0) = 2.0, p = .05\n\nF(0, 0) = 1, p = .3\n")
    rows = audit.of_file(paper)
    assert rows["line"].tolist() == [1, 3, 5]
    assert rows["consistency"].tolist() == ["consistent", "inconsistent", "inconsistent"]
    assert rows["quoted"][1] == "t(0) = 2.0, p = .05"
    assert rows["note"][1] == "The degrees of freedom of t must be above 0; found 0."
    paper = tmp_path / "paper.md"
    paper.write_text("t(28) = 1e999, p = .036\n")
    row = audit.of_file(paper).iloc[0]
    assert row["consistency"] == "not checkable"
    assert "at most 300 places" in row["note"]


@pytest.mark.parametrize(
    "text",
    [
        "t = 1 " + ", CI [1,2]" * 50_000,
        "t = 1 " + "d = 1 " * 50_000,
        "t = 1 " + "and " * 50_000,
        "t = 2" + " ," * 200_000,
        f"t({'7' * 400}) = {'7' * 400}, p = {'7' * 400} " * 40,
    ],
    ids=["intervals", "quantities", "words", "separators", "digits"],
)
def test_what_could_be_read_in_many_ways_is_read_in_one(text):
    # In quadratic time the first would take hours: 5 kB of it took two seconds.
    assert "quoted" in reported_tests.find(text)


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


def test_the_audited_paper_reports_no_test_that_contradicts_itself(capsys, audited):
    code, out, _ = run(capsys, audited)
    assert code == 0
    assert out.count("the two agree for n = 8") == (3 if audited == PAPER else 2)
