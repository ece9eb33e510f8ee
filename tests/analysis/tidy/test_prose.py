"""Numbers and cells to words, and what every statistic asks of a frame at the door."""

import io
import re
import sys

import numpy as np
import pandas as pd
import pytest

from analysis.commands import cli
from analysis.tidy import frame, markdown, notation, prose
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError, MissingExtraError
from analysis.tidy.extra import extra
from analysis.tidy.formula import model_matrices
from analysis.tidy.spreadsheet import to_csv
from tests.analysis.places import ROOT, SECOND


@pytest.mark.parametrize(
    ("value", "text"), [(-0.001, "0.00"), (float("inf"), "∞"), (-1234.5, "−1,234.50")]
)
def test_numbers_print_without_surprises(value, text):
    assert prose.number(value) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0, "p < 0.001"), (0.0009, "p < 0.001"), (0.0994, "p = 0.099"), (0.2, "p = 0.20")],
)
def test_a_p_value_is_never_printed_as_zero(p, text):
    assert prose.p_value(p).replace(prose.NO_BREAK, " ") == text


def test_cells_of_a_table_are_set_by_what_they_hold():
    rows = pd.DataFrame({"a": ["|W|"], "b": [None]})
    assert markdown.pipe_table(rows, {"a": "A", "b": "B"}).splitlines()[2] == r"| \|W\| | – |"
    rows = pd.DataFrame({"word": ["x", "y"], "n": ["1,000", "−2"]})
    rule = markdown.pipe_table(rows, {"word": "Word", "n": "N"}).splitlines()[1]
    assert rule == "|:-----|-----:|"
    rows = pd.DataFrame({"n": ["0.049", "−0.13", "∞"], "r": ["r 0.5", "accuracy 12", "–"]})
    lines = markdown.pipe_table(rows, {"n": "N", "r": "R"}, numbers=["r"]).splitlines()[1:]
    assert [line.count(":|") for line in lines] == [2, 0, 0, 0]
    assert lines[1:] == [
        "| 0\\.049 | r 0\\.5 |",
        "| −0\\.13\u2007 | accuracy 12\u2008\u2007 |",
        "| ∞ | – |",
    ]
    rows = pd.DataFrame({"a": ["4.8 % in 21 of 22 models"]})
    cell = markdown.pipe_table(rows, {"a": "A"}).splitlines()[2]
    assert cell == "| 4\\.8\u00a0% in 21\u00a0of\u00a022 models |"


def test_words_for_lists_numbers_weights_and_verdicts():
    assert prose.listing(["one"]) == "one"
    assert prose.listing([]) == ""
    tiny = [prose.number(2.1e-8), prose.power_of_ten(1.84e-15, 1), prose.power_of_ten(-4e-5)]
    assert [text.replace(prose.NO_BREAK, " ") for text in tiny] == [
        "2 × 10⁻⁸",
        "1.8 × 10⁻¹⁵",
        "−4 × 10⁻⁵",
    ]
    assert prose.floored(2e-8) == "<\u00a00.01"
    assert prose.floored(0.01) == "0.01"


@pytest.mark.parametrize(
    "cell", ["3\u00a0×\u00a010⁻⁷", "∞", "<\u00a00.01", "[11\u00a0%, 50\u00a0%]", "–"]
)
def test_powers_infinities_and_bounds_are_numbers(cell):
    rows = pd.DataFrame({"n": ["1.5", cell]})
    assert markdown.pipe_table(rows, {"n": "N"}).splitlines()[1].endswith("-:|")


def unescaped(markdown):
    """Return Markdown without the backslashes before marks; commands of TeX keep theirs."""
    return re.sub(r"\\([^A-Za-z])", r"\1", markdown)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("G_l", "$G_l$"),
        ("G_l,frob", r"$G_{\text{l,frob}}$"),
        ("|x_0| / |e|.", r"$\lVert x_0\rVert / \lVert e\rVert$."),
        ("(|x_{L-1}| / |e|)^(1/L).", r"$(\lVert x_{L-1}\rVert / \lVert e\rVert)^{1/L}$."),
        ("G_max^L = 10", r"$G_{\text{max}}^L = 10$"),
        ("‖W_V‖/‖W_O‖ predicts", r"$\lVert W_V\rVert/\lVert W_O\rVert$ predicts"),
        ("(‖W_V‖₂²)", r"$(\lVert W_V\rVert_2^2)$"),
        ("zero but for 1e-10.", "zero but for 1\u00a0×\u00a010⁻¹⁰."),
        ("‖x^(l)‖", r"$\lVert x^{(l)}\rVert$"),
        ("Bentov law |G−1| ∝ H", r"Bentov law $\lvert G-1\rvert \propto  H$"),
        ("L* file in repo", "$L^*$ file in repo"),
        ('(Pythia, **GPT-NeoX**) dampen"', '(Pythia, GPT-NeoX) dampen"'),
    ],
)
def test_a_formula_by_hand(text, printed):
    assert unescaped(notation.typeset(text)) == printed


@pytest.mark.parametrize(
    "text",
    ["r = −0.81, p = 0.014", "Kleiber → Scaling_Law_Multi_Pythia", "gain_block", "R² (labs)", ""],
)
def test_words_numbers_and_names_of_files_are_no_formulas(text):
    assert "$" not in notation.typeset(text)


def test_no_claim_or_definition_shows_raw_markup_and_formulas_are_balanced(published_store):
    claims = published_store.query("SELECT statement AS text FROM raw.claim")
    defects = published_store.query("SELECT explanation AS text FROM caveat")
    gains = published_store.query("SELECT symbol || ' ' || definition AS text FROM gain_definition")
    for rows in (claims, defects, gains):
        for text in rows["text"]:
            words = re.sub(r"\$[^$]+\$", "", unescaped(notation.typeset(text)))
            assert not re.search(r"[|‖{}]|\*\*|\b[A-Zx]_", words), text
    for text in published_store.query("SELECT statement FROM raw.claim")["statement"]:
        for formula in re.findall(r"\$[^$]+\$", notation.typeset(text)):
            assert all(formula.count(a) == formula.count(b) for a, b in ("()", "{}")), formula


SOURCES = sorted((ROOT / "reports").glob("claims*.csv"))


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


def test_numbers_and_other_values_are_written_as_they_are(capsys):
    rows = pd.DataFrame(
        {"a": ["-0.5", "+3e-7", "−0.81"], "b": [True, False, None], "c": [1, -2, 3]}
    )
    assert to_csv(rows) == "a,b,c\n-0.5,True,1\n+3e-7,False,-2\n−0.81,,3\n"
    twice = pd.DataFrame([["=1", "=2"]], columns=["x", "x"])
    assert to_csv(twice) == "x,x\n'=1,'=2\n"
    folder = SECOND
    query = "SELECT '=1+1' AS \"=a\", -1.5 AS n"
    assert cli.main(["--data", str(folder), "sql", query, "--csv"]) == 0
    assert capsys.readouterr().out == "'=a,n\n'=1+1,-1.5\n"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_committed_verdicts_hold_no_formula(path):
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert to_csv(rows) == rows.to_csv(index=False, lineterminator="\n")


def test_columns_are_what_patsy_makes_of_them_and_powers_must_not_overflow():
    with pytest.raises(ColumnError, match=r"up to 1e\+75.*one of size 1e\+200"):
        frame.numbers(pd.DataFrame({"gain": [1.0, 1e200]}), "gain")
    with pytest.raises(DesignError, match="'gain' must vary"):
        frame.require_variation(np.array([0.0, 1e-200]), "gain")
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.normal(size=(6, 3)), columns=["y", "a", "b"])
    quick = model_matrices(rows, "y ~ a + b + a")
    general = model_matrices(rows, "y ~ 1 + a + b + a")
    assert quick.terms == general.terms == ("Intercept", "a", "b")
    np.testing.assert_array_equal(quick.design, general.design)
    np.testing.assert_array_equal(quick.response, general.response)


@pytest.mark.parametrize("level", ["0.95", None, 95, np.nan, 1.0])
def test_a_level_is_a_number_between_0_and_1(level):
    with pytest.raises(AnalysisError, match="`conf_level` must lie between 0 and 1; found"):
        frame.require_conf_level(level)


@pytest.mark.parametrize("count", [0, -1, 2.5, np.nan, True])
def test_a_number_of_draws_is_whole_and_positive(count):
    with pytest.raises(AnalysisError, match="`n_resamples` must be a whole number of at least 1"):
        frame.require_count("n_resamples", count)


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypandoc", None)
    with pytest.raises(MissingExtraError) as caught:
        extra("pypandoc")
    assert "'pypandoc'" in caught.value.problem
    assert "thermoscope[report]" in caught.value.hint
