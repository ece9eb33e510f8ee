"""What a program can see of the language of README, guides, pages, comments and refusals.

The rules are few and exact. A sentence has at most 25 words; code and inline values count as one
word. Some phrases are calques that no textbook has.
"""

import ast
import re
from pathlib import Path

import pytest

from collect import schema

ROOT = Path(__file__).parents[1]
PAGES = [
    *(
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "ARCHITECTURE.md",
            "collect/adapters/README.md",
            "tests/readers/README.md",
            "data/published/README.md",
            "data/study/README.md",
            "quarto/README.md",
            "tests/proofs/README.md",
            "collect/record/publication/codebook.md",
        )
    ),
    *sorted((ROOT / "quarto").rglob("*.qmd")),
]
MOST_WORDS = 25

#: What stands for no prose: front matter, comments, code, formulas.
_NO_PROSE = re.compile(
    r"\A---\n.*?\n---\n|<!--.*?-->|^ *(`{3,}).*?^ *\1\s*$|\$\$.*?\$\$", re.DOTALL | re.MULTILINE
)
#: Lines that are no prose: tables, divisions, headings, HTML, includes, indented commands.
_NO_SENTENCE = re.compile(r"\s*(\||:::|#|\{\{<|<|: )")
_ITEM = re.compile(r"^\s*([-*]|\d+\.|>)\s+")
_INLINE = re.compile(r"`[^`]*`(\{[^}]*\})?|\$[^$]*\$")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[\"')*\]]*\s+(?=[A-Z@\"'(*\[`0-9“])")

#: What an alternative text may not say: a finding, which its chart computes from what it draws.
FINDINGS = re.compile(
    r"\b(most|mostly|nearly|rises?|falls?|near zero|on one line|close together|far apart|"
    r"(lies?|stands?|points?) (left|right|above|below|beyond|higher|lower|highest|lowest))\b"
)
FIGURE = re.compile(r"^#\| fig-alt: (.*)$", re.MULTILINE)

CALQUES = (
    "hold the level", "holds the level", "in percent of nat", "cannot be told", "for want of",
    "stands apart from", "by the hand of", "has it that", "exchanged units", "saying yes of",
    "half of a sign", "can be told from", "is no option", "of which the rule says",
)  # fmt: skip


def paragraphs(text):
    """Yield the paragraphs and items of a page as lines of prose."""
    for block in re.split(r"\n\s*\n", _NO_PROSE.sub("\n\n", text)):
        item = []
        for line in block.splitlines():
            if _NO_SENTENCE.match(line):
                continue
            if _ITEM.match(line) and item:
                yield " ".join(item)
                item = []
            item.append(_ITEM.sub("", line).strip())
        yield " ".join(item)


def sentences(page):
    """Yield the sentences of a page."""
    for paragraph in paragraphs(page):
        plain = _LINK.sub(r"\1", _INLINE.sub("X", paragraph))
        yield from (sentence for sentence in _END.split(plain) if sentence.strip())


def n_words(sentence):
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def test_sentences_are_counted_as_a_reader_would():
    page = (
        "# A heading\n\nOne `a b` two. Three [four five](x.md)?\n\n- six\n- seven\n\n```\n8\n```\n"
    )
    assert [n_words(sentence) for sentence in sentences(page)] == [3, 3, 1, 1]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_sentence_is_longer_than_a_breath(path):
    text = path.read_text(encoding="utf-8")
    long = [sentence for sentence in sentences(text) if n_words(sentence) > MOST_WORDS]
    assert long == []
    assert [words for words in CALQUES if words in text] == []


#: The end of a sentence of a comment, which may go on with a name in small letters.
_END_OF_COMMENT = re.compile(r"(?<=[.!?])(?<!\beq\.)[\"')]*\s+")


def comments():
    """Return what is said of every table, view, macro and column, without units."""
    with schema.connect(comments=False) as connection:
        for sql in (schema.views_sql(), schema.front_sql()):
            connection.execute(schema.commented(sql)[0])
        schema.comment(connection)
        rows = connection.execute(
            """
            SELECT schema_name, table_name, '', comment FROM duckdb_tables() WHERE NOT internal
            UNION ALL
            SELECT schema_name, view_name, '', comment FROM duckdb_views() WHERE NOT internal
            UNION ALL
            SELECT schema_name, table_name, column_name, comment
              FROM duckdb_columns() WHERE NOT internal
            UNION ALL
            SELECT schema_name, function_name, '', comment
              FROM duckdb_functions() WHERE NOT internal
            """
        ).fetchall()
    return [(tuple(name), _UNIT.sub("", text)) for *name, text in rows if text]


_UNIT = re.compile(r" \[[^\]]*\]$")


def test_alternative_texts_leave_the_findings_to_the_charts():
    texts = [text for path in PAGES for text in FIGURE.findall(path.read_text(encoding="utf-8"))]
    assert len(texts) > 20
    assert [text for text in texts if FINDINGS.search(text)] == []


def words_of(node):
    """Return a text as a refusal is given it, with a word for each value; None where it is none."""
    if isinstance(node, ast.JoinedStr):
        return "".join(getattr(part, "value", "X") if isinstance(part, ast.Constant) else "X"
                       for part in node.values)  # fmt: skip
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def refusals():
    """Yield place and text of what errors are raised with."""
    for path in sorted([*(ROOT / "collect").rglob("*.py"), *(ROOT / "analysis").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
                for text in filter(None, map(words_of, node.args)):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


@pytest.mark.parametrize(("source", "least"), [(comments, 1000), (refusals, 900)])
def test_no_sentence_of_a_comment_or_a_refusal_is_longer_than_a_breath(source, least):
    said = [*source()]
    assert len(said) > least
    long = [
        (place, sentence)
        for place, text in said
        for sentence in _END_OF_COMMENT.split(text)
        if n_words(sentence) > MOST_WORDS
    ]
    assert long == []
    assert [(place, text) for place, text in said if any(it in text for it in CALQUES)] == []
