"""The words that pages explain: few, short, used, and each explained where a page has it first."""

import json
import re
from html.parser import HTMLParser

import pytest

from analysis.report.making.markup import prose_markdown
from analysis.report.making.page import pandoc
from analysis.report.reading import glossary, places
from analysis.report.reading.source import Prose, read_source
from analysis.tidy.errors import ReportError
from tests.analysis.places import ROOT
from tests.test_prose import CALQUES, MOST_WORDS, n_words, sentences

QUARTO = ROOT / "quarto"
FILTER = f"--lua-filter={QUARTO / 'filters' / 'site.lua'}"
TERMS = glossary.read_glossary(QUARTO)
PAGES = places.pages(QUARTO)
MOST_TERMS = 40
#: What is no running text: the filter passes over it.
PASSED = {"h1", "h2", "h3", "h4", "a", "code", "pre", "table", "blockquote", "figure"}
VOID = {"br", "hr", "img", "col", "input"}


class RunningText(HTMLParser):
    """The running text of a page, with a mark where a word is explained."""

    def __init__(self):
        super().__init__()
        self.text, self.meanings, self._open = "", [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in VOID:
            return
        is_float = re.match(r"(fig|tbl)-", values.get("id") or "")
        self._open.append("figure" if is_float else tag)
        if values.get("class") == "term":
            self.text += f"<{values['popovertarget']}>"
        if "popover" in values:
            self._open[-1] = "code"
            self.meanings.append(values["id"])
        if tag in ("p", "li"):
            self.text += "\n"

    def handle_endtag(self, tag):
        if self._open and tag not in VOID:
            self._open.pop()

    def handle_data(self, data):
        if not PASSED & set(self._open) and "math" not in self._open:
            self.text += data


def places_block(terms):
    known = {"page": "any", "pages": {}, "labels": {}, "terms": terms}
    return f"```{{.site-places}}\n{json.dumps(known)}\n```\n\n"


def filtered(text, terms, *, to="html"):
    told = places_block(terms) + text
    return pandoc(
        told, ["--from=markdown", f"--to={to}", "--wrap=none", "--mathml", FILTER], directory=ROOT
    )


def read_html(markup):
    reader = RunningText()
    reader.feed(markup)
    return reader


@pytest.fixture(scope="module")
def explained():
    """The running text of each page, its inline values one letter."""
    found = {}
    for path in PAGES:
        parts = [
            prose_markdown(block.lines, lambda asked: [{"text/plain": "0"} for _ in asked])
            for block in read_source(path).blocks
            if isinstance(block, Prose)
        ]
        text = re.sub(r"@[\w-]+|\[-?@[^\]]*\]", "0", "\n\n".join(parts))
        found[path.stem] = read_html(filtered(text, glossary.entries(QUARTO, path.stem)))
    return found


def test_the_words_are_few_and_each_meaning_is_one_or_two_short_sentences():
    assert 0 < len(TERMS) <= MOST_TERMS
    assert len({term.identifier for term in TERMS}) == len(TERMS)
    for term in TERMS:
        said = list(sentences(term.meaning))
        assert 1 <= len(said) <= 2, term.word
        assert max(map(n_words, said)) <= MOST_WORDS, term.word
        assert not [it for it in CALQUES if it in term.meaning], term.word


def test_every_word_is_explained_on_a_page_once_and_where_it_stands_first(explained):
    assert explained.pop(glossary.PAGE).meanings == []
    used = {name for page in explained.values() for name in page.meanings}
    assert used == {term.identifier for term in TERMS}
    for stem, page in explained.items():
        assert len(page.meanings) == len(set(page.meanings)), stem
        for term in TERMS:
            before = page.text.partition(f"<{term.identifier}>")[0]
            words = re.sub(r"<[\w-]+>", "", before)
            for form in term.forms:
                pattern = re.escape(form.replace("'", "’")).replace(r"\ ", r"\s")
                case = f"(?i:{pattern[0]}){pattern[1:]}" if form[0].islower() else pattern
                # A longer word may hold it: the block of "penultimate block" is none.
                others = _longer(form, words)
                assert not re.search(rf"(?<![\w/-]){case}(?![\w/-])", others), (stem, form)


def _longer(form, words):
    """Return words without the forms of other terms that hold a form."""
    for term in TERMS:
        for other in term.forms:
            if form != other and re.search(rf"\b{re.escape(form)}\b", other):
                pattern = re.escape(other.replace("'", "’")).replace(r"\ ", r"\s")
                words = re.sub(rf"(?i){pattern}", "", words)
    return words


GAIN = {"id": "term-gain", "forms": ["gain", "gains", "$g$", "$g_O$"], "meaning": "How *much*."}
LAW = {"id": "term-law", "forms": ["Kleiber's law"], "meaning": "A law."}
BUTTON = '<button type="button" class="term" popovertarget="term-gain">{}</button>'


@pytest.mark.parametrize(
    ("text", "word", "times"),
    [
        ("A gain. A gain.", "gain", 1),
        ("Again, gain-like, a_gain and x/gain.", None, 0),
        ("Gains", "Gains", 1),
        ("*a [gain](x.html)* and *the gain*", "gain", 1),
        ("# The gain\n\n`gain`\n\n> gain\n\n| gain |\n|---|\n| gain |\n", None, 0),
        ("- one\n- *gain*", "gain", 1),
        ("::: {#fig-x}\nx\n\nThe gain.\n:::", None, 0),
        ("::: {.fig-float}\nx\n\nThe gain.\n:::", None, 0),
        ("::: {.abstract}\nThe gain.\n:::", "gain", 1),
    ],
)
def test_running_text_is_explained_and_nothing_else(text, word, times):
    made = filtered(text, [GAIN])
    assert made.count('class="term"') == times
    assert word is None or BUTTON.format(word) in made


def test_what_touches_a_word_stays_with_it_and_its_spaces_and_apostrophes_are_of_any_kind():
    made = filtered("By (Kleiber's\\ law). The gain's end.", [GAIN, LAW])
    assert '<span class="explained">(<button type="button" class="term"' in made
    assert ">Kleiber’s\u00a0law</button>).<span" in made
    meaning = '<span class="term-meaning" popover id="term-gain">How <em>much</em>.</span></span>'
    assert f"{BUTTON.format('gain')}’s{meaning} end." in made
    for text, shown in {"$g$": "<em>g</em>", "$g_O$": "<em>g</em><sub><em>O</em></sub>"}.items():
        assert f"{BUTTON.format(shown)}{meaning} is" in filtered(f"{text} is", [GAIN])


def test_nodes_of_quarto_are_entered_where_they_hold_text():
    def node(kind, *parts):
        inner = "".join(f"<div>\n{it}\n</div>\n" for it in parts)
        return f'<div data-__quarto_custom_type="{kind}">\n{inner}</div>'

    text = (
        f"{places_block([GAIN])}{node('FloatRefTarget', 'gain')}{node('Callout', 'gain', 'a gain')}"
    )
    tree = pandoc(text, ["--from=markdown", "--to=json"], directory=ROOT)
    as_quarto_has_it = tree.replace("data-__quarto", "__quarto")
    made = pandoc(as_quarto_has_it, ["--from=json", "--to=html", FILTER], directory=ROOT)
    assert f'a <span class="explained">{BUTTON.format("gain")}' in " ".join(made.split())
    assert made.count('class="term"') == 1


def test_print_and_pages_without_words_are_left_as_they_are():
    assert filtered("A gain.", [GAIN], to="typst").strip() == "A gain."
    assert glossary.entries(QUARTO, glossary.PAGE) == []
    assert glossary.entries(QUARTO / "audit", "index") == []


def test_the_page_lists_every_word_with_its_meaning():
    listed = glossary.listing(QUARTO)
    made = pandoc(listed, ["--from=markdown", "--to=html", "--wrap=none"], directory=ROOT)
    names = re.findall(r'<dt>\s*<span id="([^"]*)">', made)
    assert sorted(names) == sorted(term.identifier for term in TERMS)
    assert made.count("<dd>") == len(TERMS)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[term]", "must be TOML"),
        ('[[term]]\nword = "a"\nforms = ["a"]', "must have the fields"),
        ('[[term]]\nword = "a"\nforms = "a"\nmeaning = "b"', "must have the fields"),
        (
            '[[term]]\nword = "a"\nforms = ["x"]\nmeaning = "b"\n'
            '[[term]]\nword = "c"\nforms = ["X"]\nmeaning = "b"',
            "must belong to one word",
        ),
    ],
)
def test_a_file_that_is_no_glossary_is_refused(tmp_path, text, named):
    (tmp_path / "glossary").mkdir()
    (tmp_path / glossary.FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ReportError, match=named):
        glossary.read_glossary(tmp_path)
