"""Text from data that would be markup: a table shows it, no page runs it, none fails for it."""

from __future__ import annotations

import re
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.audit.pages import tables as exhibits
from analysis.heritage.pages import frames, verdict_rule
from analysis.heritage.transition import stated
from analysis.report.making.page import page, pandoc
from analysis.report.reading.settings import settings_of
from analysis.tidy import notation, prose

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
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


class Parts(HTMLParser):
    """Elements with their attributes, and the words of each cell."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.rows: list[list[str]] = []
        self._in_cell = False
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def rendered(markdown: str) -> Parts:
    """Return the page of the embedded renderer, which refuses what a page may not hold."""
    with tempfile.TemporaryDirectory() as folder:
        return Parts(page(markdown, settings_of({}, HERE), HERE, Path(folder)))


def assert_harmless(parts: Parts, *, n_links: int = 0) -> None:
    names = [name for name, _ in parts.elements]
    # The script and the style are the template's own; the link skips to the text.
    assert {"img", "iframe", "object", "svg", "b", "i", "form", "input"}.isdisjoint(names)
    assert (names.count("script"), names.count("style")) == (1, 1)
    assert names.count("a") == 1 + n_links
    for _, attributes in parts.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert "javascript" not in attributes.get("href", "")


def words(text: str) -> str:
    """Return text as a page shows it: on one line, typographic marks set straight again."""
    visible = re.sub("[\x00-\x08\x0e-\x1b\x7f]", "\ufffd", text)
    for typographic, typed in (("“", '"'), ("”", '"'), ("‘", "'"), ("’", "'")):
        visible = visible.replace(typographic, typed)
    return " ".join(visible.split())


def test_a_cell_shows_any_text_as_it_stands() -> None:
    rows = pd.DataFrame({"a": HOSTILE, "b": HOSTILE[::-1]})
    parts = rendered(prose.pipe_table(rows, {"a": "A", "b": "B"}))
    assert_harmless(parts)
    assert [[words(cell) for cell in row] for row in parts.rows[1:]] == [
        [words(a), words(b)] for a, b in zip(HOSTILE, HOSTILE[::-1], strict=True)
    ]


class Hostile:
    """A store whose every text is hostile."""

    def query(self, sql: str, **_: object) -> pd.DataFrame:
        columns = ["symbol", "definition", "metric", "title", "explanation"]
        frame = pd.DataFrame(
            {name: np.roll(np.array(HOSTILE), i) for i, name in enumerate(columns)}
        )
        return frame.assign(caveat_id=HOSTILE)


def ledger() -> pd.DataFrame:
    texts = {
        name: np.roll(np.array(HOSTILE), i) for i, name in enumerate(("place", "term", "note"))
    }
    return pd.DataFrame(texts).assign(printed=HOSTILE, estimate=0.5, status=stated.AGREES)


def judged() -> pd.DataFrame:
    numbers = dict.fromkeys(("estimate", "conf_low", "conf_high", "p_value"), 0.5)
    return pd.DataFrame({"claim_id": range(len(HOSTILE)), "statement": HOSTILE}).assign(
        verdict="contradicted",
        method=HOSTILE,
        measure=HOSTILE,
        is_percent=False,
        n_models=3,
        n_suites=2,
        **numbers,
    )


@pytest.mark.parametrize(
    "rows",
    [
        exhibits.verdict_rows(judged()),
        frames.gain_definitions(Hostile()),  # type: ignore[arg-type]
        exhibits.caveats(Hostile()),  # type: ignore[arg-type]
        stated.printable(ledger()),
        pd.DataFrame({"meaning": [notation.typeset(text) for text in HOSTILE]}),
    ],
    ids=["verdicts", "gains", "caveats", "stated", "codebook"],
)
def test_a_column_of_markdown_escapes_what_comes_from_data(rows: pd.DataFrame) -> None:
    markdown = prose.pipe_table(rows, {name: name for name in rows}, markup=VETTED)
    parts = rendered(markdown)
    assert_harmless(parts)
    assert {len(row) for row in parts.rows} == {rows.shape[1]}
    assert len(parts.rows) == 1 + len(HOSTILE)


def test_only_vetted_columns_of_the_report_are_markdown() -> None:
    named: set[str] = set()
    for path in (ROOT / "quarto").rglob("*.qmd"):
        result = re.findall(r"markup=(\[[^\]]*\]|[\w.]+)", path.read_text(encoding="utf-8"))
        named |= set(result)
    vetted = {"exhibits.MARKUP", "stated.MARKUP", "verdict_rule.MARKUP", '["meaning"]', '["law"]'}
    assert named == vetted


def test_a_value_in_prose_shows_any_text_as_it_stands() -> None:
    parts = rendered("\n\n".join(f"Said: {prose.literal(text)}." for text in HOSTILE))
    assert_harmless(parts)
    assert [name for name, _ in parts.elements].count("p") >= len(HOSTILE)


def test_what_is_set_as_a_formula_can_be_set() -> None:
    """Pandoc complains of TeX that it cannot set, and a complaint is a refusal."""
    rng = np.random.default_rng(7)
    signs = [
        *"xGLH_^{}()|‖a12/-+=*.,<≈∝Σρ\\#%&~²₂−",
        "L*",
        "Tr",
        "argmax",
        "x_L",
        "|x_1|",
        "^(",
        "}",
    ]
    texts = ["".join(rng.choice(signs, size=rng.integers(2, 12))) for _ in range(6000)]
    set_as_formula = [
        it for text in texts for it in re.findall(r"\$[^$]+\$", notation.typeset(text))
    ]
    assert len(set_as_formula) > 300
    markup = pandoc(
        "\n\n".join(set_as_formula), ["--from=markdown", "--to=html5", "--mathml"], directory=HERE
    )
    assert markup.count("<math") == len(set_as_formula)
