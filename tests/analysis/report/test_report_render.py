"""Whole pages: what they hold, what is refused, which renderer runs, and hostile text."""

import os
import re
import sys
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
from analysis.tidy import notation, prose
from analysis.tidy.errors import ReportError
from tests.analysis.places import ROOT
from tests.analysis.report.alone import render
from tests.analysis.report.both_renderers import content
from tests.analysis.report.parsed import Page

EXAMPLE = Path(__file__).parent / "report_example" / "paper.qmd"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports") / "paper"
    path = render(EXAMPLE, folder, parameters={"n_points": "5"}, engine="embedded")
    assert path == folder / "paper.html"
    assert [it.name for it in folder.iterdir()] == ["paper.html"]
    markup = path.read_text(encoding="utf-8")
    return Page(markup), markup


def document(directory, body, *, front="title: T"):
    source = directory / "paper.qmd"
    source.write_text(f"---\n{front}\n---\n\n{body}\n", encoding="utf-8")
    return source


def refusal(source, **options):
    """Return the message of a refused rendering; the page that was there must survive."""
    destination = source.with_suffix(".html")
    destination.write_text("the old page", encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        render(source, source.parent, engine="embedded", **options)
    assert destination.read_text(encoding="utf-8") == "the old page"
    assert not list(source.parent.glob(".*.tmp"))
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@pytest.mark.slow
def test_the_page_loads_nothing_and_is_accessible_in_structure(example):
    page, _ = example
    loaded = [it[key] for _, it in page.tags for key in ("src", "srcset", "data") if key in it]
    assert loaded == []
    assert len(page.all("svg", role="graphics-document document")) == 2
    assert page.all("link") == page.all("iframe") == page.all("object") == []
    assert set(re.findall(r"url\(.{15}", page.styles)) == {"url(data:font/woff;"}
    assert "@import" not in page.styles
    assert ".verdict-holds" in page.styles
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert page.all("nav", **{"aria-label": "Contents"})
    assert page.all("a", **{"class": "skip", "href": "#main"})
    assert [it["aria-label"] for it in page.all("svg")] == [
        "A line that rises from the lower left to the upper right.",
        "Points on a rising diagonal.",
    ]
    cells = page.all("th")
    assert {cell["scope"] for cell in cells} == {"col"}
    targets = [it["href"][1:] for it in page.all("a") if it.get("href", "").startswith("#")]
    assert len(targets) > 20
    assert set(targets) <= set(page.text)


@pytest.mark.slow
def test_captions_references_citations_and_values_are_resolved(example):
    page, _ = example
    assert page.words("fig-line").endswith("Figure\u00a01: The points of Table\u00a01, drawn.")
    assert page.words("fig-div").endswith("Figure\u00a02: The same 5 points, p = 0.5.")
    assert page.words("tbl-counts").startswith("Table\u00a01: Points by coordinate.")
    assert page.words("tbl-wide").startswith("Table\u00a02: A wide table of 5 points.")
    assert page.words("tbl-hand").startswith("Table\u00a03: A table written by hand")
    assert page.words("sec-end").startswith(
        "3 End# As Section\u00a01, Section\u00a02, Section\u00a02.1 and Equation\u00a01 say; "
        "see 1, Chart\u00a01 and Figure\u00a01, Figure\u00a02. "
        "Tukey (Tukey 1962, 2) wrote so, and so did Tukey (1962).1"
    )
    assert "The Future of Data Analysis" in page.words("ref-tukey1962")
    assert page.words("fn1").startswith("A footnote with code and markup.")
    assert "reference to Figure\u00a01" in page.words("main")
    text = page.words("sec-beginning")
    assert "There are 5 points from somewhere." in text
    assert "A space that does not break is a space: 5\u00a0%." in text
    assert "nothing: A string is literal: 3 * 4 * 5 -- _not_ italic." in text
    assert "`{python} n_points`" in text


@pytest.mark.slow
def test_callouts_code_and_contents_are_boxes_folds_and_a_list(example):
    page, markup = example
    boxes = [it["class"] for it in page.all("div") if "callout " in it.get("class", "")]
    assert boxes == [f"callout callout-{kind}" for kind in ("note", "warning", "important")]
    assert page.all("details", **{"class": "callout callout-tip"}) == [
        {"class": "callout callout-tip"}
    ]
    folds = page.all("details", **{"class": "code-fold"})
    assert len(folds) == 3
    assert not any("open" in fold for fold in folds)
    assert "<summary>Code</summary>" in markup
    assert "Hidden until opened: 5." in page.words("sec-deep")
    contents = markup[markup.index("<nav") : markup.index("</nav>")]
    targets = re.findall(r'href="#([\w-]+)"', contents)
    sections = [f"sec-{name}" for name in ("beginning", "middle", "deep", "end")]
    assert targets == [*sections, "unnumbered", "references"]
    assert page.words("eq-mean").endswith("(1)")
    assert len(page.all("math")) == 3
    (generator,) = page.all("meta", name="generator")
    assert "not Quarto" in generator["content"]
    assert "without Quarto" in page.words("main")


SHOW = "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "named"),
    [
        (f"```{{python}}\n#| label: fig-a\n#| fig-cap: C\n{SHOW}\n```",
         ["The chunk 'fig-a' at paper.qmd:6 must have one 'fig-alt'"]),
        ("See [@here] and [@nowhere].", ["in the bibliography; missing: nowhere."]),
        ("One.\n\nSee @fig-nowhere.", ["@fig-nowhere at paper.qmd:8"]),
        ('<script src="https://a.b/c.js"></script>\n\n[gone](#nowhere)',
         ["<script> loads 'https://a.b/c.js'", "a link to '#nowhere', which does not exist."]),
        ("A share of `{python} '80\\u00a0%'`.", ["The inline code ''80\\u00a0%'' at paper.qmd:6",
         "Quarto would print '80\\xa0%'."]),
    ],
)  # fmt: skip
def test_what_no_page_may_hold_is_refused_with_its_name(tmp_path, body, named):
    (tmp_path / "a.bib").write_text("@book{here, title={T}, year={1}}\n", encoding="utf-8")
    message = refusal(document(tmp_path, body, front="title: T\nbibliography: a.bib"))
    assert [it for it in named if it not in message] == []


@pytest.mark.slow
def test_what_is_missing_or_cannot_be_written_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    source = document(tmp_path, "Text.")
    with pytest.raises(ReportError, match=r"out must be writable; "):
        render(source, tmp_path / "file" / "out", engine="embedded")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError, match="needs the quarto command on the PATH"):
        render(source, tmp_path / "out", engine="quarto")


def test_an_unknown_parameter_is_refused_before_anything_runs(tmp_path):
    body = "```{python}\n#| tags: [parameters]\na = 1\n```"
    message = refusal(document(tmp_path, body), parameters={"b": "1"})
    assert message.startswith("A parameter must be assigned in the chunk at paper.qmd:5;")


def fake_quarto(directory, monkeypatch, script):
    command = directory / "bin" / "quarto"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)


def test_quarto_renders_where_it_is_installed(tmp_path, monkeypatch):
    (tmp_path / "_quarto.yml").write_text(
        "project: {output-dir: out, render: [paper.qmd]}\n", encoding="utf-8"
    )
    source = document(tmp_path, "Text.")
    fake_quarto(
        tmp_path, monkeypatch, f'mkdir -p out; echo "$@ $QUARTO_PYTHON" > {tmp_path}/out/paper.html'
    )
    monkeypatch.chdir(tmp_path)
    parameters = {"a": "1", "b": "x #y", "c": ""}
    page = render(source, tmp_path / "deep", parameters=parameters)
    printed = f'render {source} -P a:"1" -P b:"x #y" -P c:"" {sys.executable}\n'
    assert page.read_text(encoding="utf-8") == printed
    assert render(source, tmp_path / "out") == tmp_path / "out" / "paper.html"


def test_a_failing_or_silent_quarto_is_refused(tmp_path, monkeypatch):
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, "exit $STATUS")
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(ReportError, match="'quarto render' must succeed; it ended with code 3"):
        render(source, tmp_path / "out")
    monkeypatch.setenv("STATUS", "0")
    with pytest.raises(ReportError, match=r"must write .*paper\.html; it did not"):
        render(source, tmp_path / "out", engine="quarto")


def test_a_faulty_page_of_quarto_is_refused_and_not_passed_on(tmp_path, monkeypatch):
    """Quarto itself warns of these and ends with success."""
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, 'echo "<p><b>?@fig-a</b></p>" > "${2%.qmd}.html"')
    with pytest.raises(ReportError, match=r"found in paper\.html: a reference without a target"):
        render(source, tmp_path / "out", engine="quarto")
    assert not list((tmp_path / "out").iterdir())


def test_a_page_cut_short_by_a_full_disk_leaves_the_old_one(tmp_path, monkeypatch):
    source = document(tmp_path, "Text.")
    fake_quarto(tmp_path, monkeypatch, 'echo "the new page" > "${2%.qmd}.html"')
    destination = tmp_path / "out" / "paper.html"
    destination.parent.mkdir()
    destination.write_text("the old page", encoding="utf-8")

    def no_space(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(ReportError, match=r"paper\.html must be writable; No space left on device"):
        render(source, destination.parent)
    assert destination.read_text(encoding="utf-8") == "the old page"
    assert not list(destination.parent.glob(".*.tmp"))


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
    markup = rendered(prose.pipe_table(rows, {"a": "A", "b": "B"}))
    assert_harmless(markup)
    (table,) = content(markup).tables
    assert [[words(cell) for cell in row] for row in table[1:]] == [
        [words(a), words(b)] for a, b in zip(HOSTILE, HOSTILE[::-1], strict=True)
    ]
    markup = rendered("\n\n".join(f"Said: {prose.literal(text)}." for text in HOSTILE))
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
        exhibits.verdict_rows(judged()),
        frames.gain_definitions(Hostile()),
        exhibits.caveats(Hostile()),
        stated.printable(ledger()),
        pd.DataFrame({"meaning": [notation.typeset(text) for text in HOSTILE]}),
    ],
    ids=["verdicts", "gains", "caveats", "stated", "codebook"],
)
def test_a_column_of_markdown_escapes_what_comes_from_data(rows):
    markup = rendered(prose.pipe_table(rows, {name: name for name in rows}, markup=VETTED))
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
    facts = cards.Facts(meaning=text, caveats={text: prose.literal(text)}, about=about)
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
