"""Formulas of the data are set as mathematics; other words stay as they are."""

import re
from pathlib import Path

import pytest

from analysis.tidy import notation

ROOT = Path(__file__).parents[3]


def unescaped(markdown):
    """Return Markdown without the backslashes before marks; commands of TeX keep theirs."""
    return re.sub(r"\\([^A-Za-z])", r"\1", markdown)


@pytest.fixture(scope="module")
def published(published_store):
    return published_store


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


def test_no_claim_or_definition_of_gain_shows_raw_markup(published):
    claims = published.query("SELECT statement AS text FROM claim")
    defects = published.query("SELECT explanation AS text FROM caveat")
    gains = published.query("SELECT symbol || ' ' || definition AS text FROM gain_definition")
    for rows in (claims, defects, gains):
        for text in rows["text"]:
            words = re.sub(r"\$[^$]+\$", "", unescaped(notation.typeset(text)))
            assert not re.search(r"[|‖{}]|\*\*|\b[A-Zx]_", words), text


def test_every_formula_has_balanced_brackets(published):
    for text in published.query("SELECT statement FROM claim")["statement"]:
        for formula in re.findall(r"\$[^$]+\$", notation.typeset(text)):
            assert all(formula.count(a) == formula.count(b) for a, b in ("()", "{}")), formula
