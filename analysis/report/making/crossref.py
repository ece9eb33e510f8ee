"""Numbers for sections, figures, tables and equations, and the references to them.

A float is a figure or table with a caption: a division ``::: {#fig-x}`` whose last paragraph
is the caption, an image or table that carries the label itself, or a labelled chunk, which
arrives here as a division.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from analysis.report.making.tree import (
    Node,
    attributes,
    div,
    html,
    link,
    plain,
    plain_text,
    rewritten,
    span,
    text_nodes,
)
from analysis.tidy.errors import ReportError

NAMES: Mapping[str, str] = {
    "fig": "Figure",
    "tbl": "Table",
    "sec": "Section",
    "eq": "Equation",
}
LABEL = re.compile(r"^(fig|tbl|sec|eq)-")
EQUATION_LABEL = re.compile(r"^\{#(eq-[\w-]+)\}$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the table of contents; ``inlines`` include its number."""

    level: int
    identifier: str
    inlines: list[Node]


@dataclass(slots=True)
class Numbering:
    """The numbers given so far.

    Attributes
    ----------
    labels
        Number by label, in the order of the text.
    headings
        Every heading that is not ``.unlisted``.
    """

    number_sections: bool
    top_level: int
    labels: dict[str, str] = field(default_factory=dict)
    headings: list[Heading] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("fig", "tbl", "eq"), 0))
    sections: list[int] = field(default_factory=list)

    def next(self, kind: str, label: str) -> str:
        """Return the next number of a kind and keep it under the label."""
        self.counts[kind] += 1
        return self.keep(label, str(self.counts[kind]))

    def next_section(self, level: int, label: str) -> str:
        """Return the number of a section, such as 2.1, and keep it under the label."""
        depth = level - self.top_level + 1
        counts = [*self.sections, *[0] * depth][:depth]
        self.sections = [*counts[:-1], counts[-1] + 1]
        return self.keep(label, ".".join(map(str, self.sections)))

    def keep(self, label: str, number: str) -> str:
        """Keep the number of a label and return it.

        Raises
        ------
        ReportError
            If the label has a number already.
        """
        if label in self.labels:
            raise ReportError(f"A label must be used once; '{label}' is used again.")
        self.labels[label] = number
        return number


def numbered(document: Node, *, number_sections: bool) -> tuple[Node, Numbering]:
    """Return the document with numbers in headings and captions, and the numbers.

    Headings move one level down, since the title is the page's only first-level heading.

    Raises
    ------
    ReportError
        If a label is used twice, or a labelled division does not end with its caption.
    """
    numbering = Numbering(number_sections, top_level=_top_level(document))
    kinds: Mapping[str, Callable[[Node, Numbering], Node | list[Node]]] = {
        "Header": _heading,
        "Div": _division,
        "Figure": _figure,
        "Table": _table,
        "Para": _equations,
    }

    def rewrite(node: Node) -> Node | list[Node]:
        return kinds[node["t"]](node, numbering) if node["t"] in kinds else node

    blocks = rewritten(document["blocks"], rewrite)
    return {**document, "blocks": blocks}, numbering


def resolved(
    document: Node, labels: Mapping[str, str], place_of: Callable[[str], str]
) -> tuple[Node, list[str]]:
    """Return the document with references turned into links, and the citation keys that remain.

    Parameters
    ----------
    document
        Numbered document.
    labels
        Number by label.
    place_of
        Where the source contains a text, for messages.

    Raises
    ------
    ReportError
        If a label does not exist, or references and citations share one pair of brackets.
    """
    unresolved: list[str] = []
    citations: list[str] = []

    def rewrite(node: Node) -> Node | list[Node]:
        if node["t"] != "Cite":
            return node
        keys = [citation["citationId"] for citation in node["c"][0]]
        if not any(LABEL.match(key) for key in keys):
            citations.extend(keys)
            return node
        missing = [key for key in keys if key not in labels]
        unresolved.extend(missing)
        return node if missing else _reference(node["c"][0], labels)

    linked = rewritten(document, rewrite)
    if unresolved:
        found = ", ".join(f"@{key} ({place_of(f'@{key}')})" for key in dict.fromkeys(unresolved))
        raise ReportError(
            f"Every reference must name a numbered figure, table, equation or section; "
            f"unresolved: {found}.",
            f"The labels are {', '.join(sorted(filter(LABEL.match, labels))) or 'none'}.",
        )
    return linked, citations


def _top_level(document: Node) -> int:
    levels: list[int] = []

    def rewrite(node: Node) -> Node:
        if node["t"] == "Header" and "unnumbered" not in node["c"][1][1]:
            levels.append(node["c"][0])
        return node

    rewritten(document["blocks"], rewrite)
    return min(levels, default=1)


def _heading(node: Node, numbering: Numbering) -> Node:
    level, (identifier, classes, pairs), inlines = node["c"]
    if numbering.number_sections and "unnumbered" not in classes:
        number = numbering.next_section(level, identifier)
        inlines = [span(text_nodes(number), "section-number"), {"t": "Space"}, *inlines]
    if "unlisted" not in classes:
        numbering.headings.append(Heading(level, identifier, inlines))
    name = f"Link to section {plain_text(inlines)}"
    anchor = link(text_nodes("#"), f"#{identifier}", "anchor", aria_label=name)
    return {"t": "Header", "c": [level + 1, [identifier, classes, pairs], [*inlines, anchor]]}


def _division(node: Node, numbering: Numbering) -> Node | list[Node]:
    (identifier, classes, _), content = node["c"]
    kind = next((kind for kind in ("fig", "tbl") if f"{kind}-float" in classes), None)
    if identifier.startswith(("fig-", "tbl-")):
        kind = identifier[:3]
    if kind is None:
        return node
    if len(content) < 2 or content[-1]["t"] not in ("Para", "Plain") or _has_image(content[-1]):
        raise ReportError(
            f"The division '{identifier}' must end with a paragraph, its caption; it does not."
        )
    code = [block for block in content[:-1] if _has_class(block, "code")]
    body = [block for block in content[:-1] if not _has_class(block, "code")]
    body = [inner for block in body for inner in _without_caption(block)]
    return [*code, *_float(kind, identifier, content[-1]["c"], body, numbering)]


def _figure(node: Node, numbering: Numbering) -> Node | list[Node]:
    (identifier, _, _), (_, caption), content = node["c"]
    if not identifier.startswith("fig-"):
        return node
    return _float("fig", identifier, _inlines(caption), content, numbering)


def _table(node: Node, numbering: Numbering) -> list[Node]:
    (identifier, classes, _), (_, caption), columns, *rest = node["c"]
    # As Quarto's `tbl-colwidths: false`: the browser fits columns better than dashes do.
    columns = [[alignment, {"t": "ColWidthDefault"}] for alignment, _ in columns]
    bare: Node = {"t": "Table", "c": [attributes("", classes), [None, []], columns, *rest]}
    scrolling = _scrolling(bare, "table-scroll", aria_label=_table_name(rest[0]))
    if not caption:
        return [scrolling]
    return _float("tbl", identifier, _inlines(caption), [scrolling], numbering)


def _equations(node: Node, numbering: Numbering) -> Node:
    inlines: list[Node] = []
    for inline in node["c"]:
        match = EQUATION_LABEL.match(inline["c"]) if inline["t"] == "Str" else None
        if match is None:
            inlines.append(inline)
            continue
        while inlines and inlines[-1]["t"] in ("Space", "SoftBreak"):
            inlines.pop()
        if not inlines or inlines[-1]["t"] != "Math":
            raise ReportError(f"The label '{match[1]}' must follow a displayed formula.")
        number = span(text_nodes(f"({numbering.next('eq', match[1])})"), "equation-number")
        identified = attributes(match[1], ["equation"])
        formula = span([inlines.pop()], "formula")
        inlines.append({"t": "Span", "c": [identified, [formula, number]]})
    return {"t": "Para", "c": inlines}


def _float(
    kind: str, label: str, caption: list[Node], content: list[Node], numbering: Numbering
) -> list[Node]:
    number, named, legend_named = NAMES[kind], "", ""
    if label:
        number = f"{NAMES[kind]}\u00a0{numbering.next(kind, label)}"
        caption = [span(text_nodes(f"{number}: "), "float-number"), *caption]
        named = f' id="{escape(label)}"'
        legend_named = f' id="{escape(label)}-caption"'
    legend = [html(f"<figcaption{legend_named}>"), plain(caption), html("</figcaption>")]
    body = rewritten(content, lambda node: _reachable(node, number, label))
    parts = [*legend, *body] if kind == "tbl" else [*body, *legend]
    return [html(f'<figure{named} class="float float-{kind}">'), *parts, html("</figure>")]


def _reachable(node: Node, number: str, label: str) -> Node:
    """Return a block of a float; images scroll by themselves, tables are named by the caption."""
    if node["t"] in ("Para", "Plain") and _has_image(node):
        return _scrolling(node, "img-scroll", aria_label=number)
    if label and _has_class(node, "table-scroll"):
        return _scrolling(node["c"][1][0], "table-scroll", aria_labelledby=f"{label}-caption")
    return node


def _scrolling(node: Node, name: str, **naming: str) -> Node:
    """Return a block in a box that scrolls sideways, by keys too, and says what it holds."""
    return div([node], "", name, role="group", tabindex="0", **naming)


def _table_name(head: Any) -> str:
    """Return a name for a table without a caption: its headers."""
    cells = [cell[-1] for row in head[1] for cell in row[1]]
    headers = [text for cell in cells if (text := plain_text(cell).strip())]
    return f"Table of {', '.join(headers)}" if headers else "Table"


def _reference(citations: list[Any], labels: Mapping[str, str]) -> list[Node]:
    inlines: list[Node] = []
    for citation in citations:
        label = citation["citationId"]
        prefix = [*citation["citationPrefix"]]
        if not prefix and citation["citationMode"]["t"] != "SuppressAuthor":
            prefix = [{"t": "Str", "c": NAMES[label.split("-")[0]]}]
        gap = [{"t": "Str", "c": "\u00a0"}] if prefix else []
        text = [*prefix, *gap, {"t": "Str", "c": labels[label]}]
        separator = text_nodes(", ") if inlines else []
        inlines += [*separator, link(text, f"#{label}", "xref"), *citation["citationSuffix"]]
    return inlines


def _has_class(node: Node, name: str) -> bool:
    return node["t"] == "Div" and name in node["c"][0][1]


def _has_image(paragraph: Node) -> bool:
    return any(inline["t"] == "Image" for inline in paragraph["c"])


def _without_caption(node: Node) -> list[Node]:
    """Return the content of a figure that lies inside a float, and any other block as it is."""
    return list(node["c"][2]) if node["t"] == "Figure" else [node]


def _inlines(blocks: list[Node]) -> list[Node]:
    return [inline for block in blocks for inline in block["c"]]
