"""Text that could be markup: every page shows it as it stands."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.audit.about import About
from analysis.audit.evidence.checks import Check, Label, beside
from analysis.audit.pages import cards, front, imprint, strips
from analysis.audit.pages import tables as exhibits
from analysis.delia2026.pages import frames, verdict_rule
from analysis.delia2026.transition import stated
from analysis.report.making.page import page, pandoc
from analysis.report.reading.settings import settings_of
from analysis.tidy import markdown, notation
from analysis.tidy.columns import texts
from tests.analysis.places import ROOT
from tests.analysis.report.both_renderers import content
from tests.analysis.report.parsed import Page

HERE = Path(__file__).parent
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</td></table><iframe src='https://a.test'>",
    "[a](javascript:alert(1))",
    "![a](https://a.test/x.png)",
    "<javascript:alert(1)>",
    "`<b>`{=html}",
    "`` ` ``{=html} <b onclick=a()>",
    "[x]{onclick=alert(1) style='background: url(x.png)'}",
    "$\\href{javascript:alert(1)}{x}$ and $\\frac{$",
    "G_{\\bad{ = x^2^3 |x_{",
    "\\begin{tabular}{c} x_1",
    "a | b | c || d",
    "line\n\n# one {#sec-x onclick=a()}\r\n| two |\u2028three",
    ": caption {#tbl-x}",
    "[@nobody] @fig-nowhere [^1]",
    "{{< include /etc/passwd >}} {{< meta title >}}",
    "::: {.callout-note}",
    "\\",
    "&lt;b&gt; &#60;i&#62;",
    "name\x00\x1b[31m",
    "x_L <img src=x onerror=alert(1)> x^(<b>)",
    "**bold** _it_ ~~out~~ H~2~O ==m==",
    "- item\t1. item",
)
#: The columns of the report's tables that are Markdown; all others are shown as they are.
VETTED = {*exhibits.MARKUP, *stated.MARKUP, *verdict_rule.MARKUP, "meaning", "law"}


def rendered(markdown):
    """Return the page of the embedded renderer, which refuses what a page may not hold."""
    with tempfile.TemporaryDirectory() as folder:
        return page(markdown, settings_of({}, HERE), HERE, Path(folder))


def assert_harmless(markup, *, n_links=0):
    elements = Page(markup).tags
    names = [name for name, _ in elements]
    # The script and the style are the template's own; the link skips to the text.
    assert {"img", "iframe", "object", "svg", "b", "i", "form", "input"}.isdisjoint(names)
    assert (names.count("script"), names.count("style")) == (1, 1)
    assert names.count("a") == 1 + n_links
    for _, attributes in elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert "javascript" not in attributes.get("href", "")


def words(text):
    """Return text as a page shows it: on one line, typographic marks set straight again."""
    visible = re.sub("[\x00-\x08\x0e-\x1b\x7f]", "\ufffd", text)
    for typographic, typed in (("“", '"'), ("”", '"'), ("‘", "'"), ("’", "'")):
        visible = visible.replace(typographic, typed)
    return " ".join(visible.split())


def test_a_cell_and_a_value_in_prose_show_any_text_as_it_stands():
    rows = pd.DataFrame({"a": HOSTILE, "b": HOSTILE[::-1]})
    markup = rendered(markdown.pipe_table(rows, {"a": "A", "b": "B"}))
    assert_harmless(markup)
    (table,) = content(markup).tables
    assert [[words(cell) for cell in row] for row in table[1:]] == [
        [words(a), words(b)] for a, b in zip(HOSTILE, HOSTILE[::-1], strict=True)
    ]
    markup = rendered("\n\n".join(f"Said: {markdown.literal(text)}." for text in HOSTILE))
    assert_harmless(markup)
    assert len(Page(markup).all("p")) >= len(HOSTILE)


class Hostile:
    """A store whose every text is hostile."""

    def query(self, sql, **_):
        columns = ["symbol", "definition", "metric", "title", "explanation"]
        frame = pd.DataFrame(
            {name: np.roll(np.array(HOSTILE), i) for i, name in enumerate(columns)}
        )
        return frame.assign(caveat_id=HOSTILE)


def ledger():
    texts = {
        name: np.roll(np.array(HOSTILE), i) for i, name in enumerate(("place", "term", "note"))
    }
    return pd.DataFrame(texts).assign(printed=HOSTILE, estimate=0.5, status=stated.AGREES)


def judged():
    numbers = dict.fromkeys(("estimate", "conf_low", "conf_high", "p_value"), 0.5)
    numbers |= {"is_percent": False, "n_models": 3, "n_suites": 2, "verdict": "contradicted"}
    texts = dict.fromkeys(("statement", "method", "measure"), HOSTILE)
    return pd.DataFrame({"claim_id": range(len(HOSTILE))} | texts | numbers)


@pytest.mark.parametrize(
    "rows",
    [
        texts(judged(), exhibits.SHORT)[["statement", "verdict"]],
        frames.gain_definitions(Hostile()),
        exhibits.caveats(Hostile()),
        stated.printable(ledger()),
        pd.DataFrame({"meaning": [notation.typeset(text) for text in HOSTILE]}),
    ],
    ids=["verdicts", "gains", "caveats", "stated", "codebook"],
)
def test_a_column_of_markdown_escapes_what_comes_from_data(rows):
    markup = rendered(markdown.pipe_table(rows, {name: name for name in rows}, markup=VETTED))
    assert_harmless(markup)
    (table,) = content(markup).tables
    assert {len(row) for row in table} == {rows.shape[1]}
    assert len(table) == 1 + len(HOSTILE)


def hostile_claim(text):
    """Return a row of a claim, its checks and all that is known of it, every text hostile."""
    made = [
        Check(Label("a", text), Label(f"b{n}", text), n == 0, 2.0, 0.5, 9.0, 0.2, 3, 3, 2,
              (text,), (text,), text, text, note=text, beside="", null=1.0)
        for n in range(3)
    ]  # fmt: skip
    made += [beside(replace(made[0], part=Label("c", text)), text)]
    row = {"claim_id": 1, "kind": "difference", "verdict": "contradicted", "testable": ""}
    row |= dict.fromkeys(("statement", "place", "category", "reading", "family"), text)
    row |= dict.fromkeys(("rule", "estimand"), text)
    about = About(text, text, text, text, text, text, text, text)
    facts = cards.Facts(meaning=text, caveats={text: markdown.literal(text)}, about=about)
    return row, made, facts


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_card_escapes_every_field_of_a_claim(is_drawn):
    texts = [text for text in HOSTILE if text.strip()]
    shown = [cards.controls(pd.DataFrame([hostile_claim(text)[0] for text in texts]))]
    for number, text in enumerate(texts):
        row, made, facts = hostile_claim(text)
        line = strips.Line(made[0].part, text, 1.0, 0.5, 2.0)
        facts = replace(facts, is_drawn=is_drawn, lines=[line])
        shown.append(cards.card({**row, "claim_id": number}, made, facts))
        filters = pd.DataFrame([row]).assign(claim_id=number, stated_by="author")
        shown.append(front.opening(facts.about, filters))
        shown.append(imprint.facts(facts.about))
    markup = rendered("\n\n".join(shown))
    elements = Page(markup).tags
    names = [name for name, _ in elements]
    assert {"img", "iframe", "object", "b", "i"}.isdisjoint(names)
    # The template has one script and one style; the bar of filters is one form with one input.
    assert (names.count("script"), names.count("style")) == (1, 1)
    assert names.count("form") == names.count("input") == 1
    assert names.count("figure") >= len(texts)
    for _, attributes in elements:
        handlers = [name for name in attributes if name.startswith("on") and name != "onsubmit"]
        assert not handlers
        assert "javascript" not in attributes.get("href", "")


def test_only_vetted_columns_of_the_report_are_markdown():
    named = set()
    for path in (ROOT / "quarto").rglob("*.qmd"):
        result = re.findall(r"markup=(\[[^\]]*\]|[\w.]+)", path.read_text(encoding="utf-8"))
        named |= set(result)
    vetted = {"exhibits.MARKUP", "printed_numbers.MARKUP", "verdict_rule.MARKUP"}
    vetted |= {'["meaning"]', '["law"]', '["source"]'}
    # Both are written by `notation.typeset`, which escapes what it does not set.
    vetted |= {'["statement"]', '["law", "statement"]'}
    assert named == vetted


def test_what_is_set_as_a_formula_can_be_set():
    """Pandoc complains of TeX that it cannot set, and a complaint is a refusal."""
    rng = np.random.default_rng(7)
    signs = [*"xGLH_^{}()|‖a12/-+=*.,<≈∝Σρ\\#%&~²₂−", "L*", "Tr", "argmax", "x_L", "|x_1|", "^("]
    texts = ["".join(rng.choice(signs, size=rng.integers(2, 12))) for _ in range(8000)]
    set_as_formula = [
        it for text in texts for it in re.findall(r"\$[^$]+\$", notation.typeset(text))
    ]
    assert len(set_as_formula) > 300
    markup = pandoc(
        "\n\n".join(set_as_formula), ["--from=markdown", "--to=html5", "--mathml"], directory=HERE
    )
    assert markup.count("<math") == len(set_as_formula)
