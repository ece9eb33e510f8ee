"""Pandoc's document tree: the few node kinds that the report builds, and a walk.

A node is ``{"t": kind, "c": content}`` as in pandoc's JSON; see the types of pandoc-types 1.23.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Node = dict[str, Any]


def rewritten(tree: Any, rewrite: Callable[[Node], Node | list[Node]]) -> Any:
    """Return the tree with each node rewritten, children before parents, in document order.

    ``rewrite`` returns a node, or a list of nodes that takes its place.
    """
    if isinstance(tree, list):
        items: list[Any] = []
        for item in tree:
            new = rewritten(item, rewrite)
            is_splice = isinstance(item, dict) and "t" in item and isinstance(new, list)
            items.extend(new) if is_splice else items.append(new)
        return items
    if isinstance(tree, dict):
        node = {key: rewritten(value, rewrite) for key, value in tree.items()}
        return rewrite(node) if "t" in node else node
    return tree


def attributes(identifier: str = "", classes: Sequence[str] = (), **pairs: str) -> list[Any]:
    """Return a node's attributes; underscores in names stand for hyphens."""
    return [identifier, list(classes), [[k.replace("_", "-"), v] for k, v in pairs.items()]]


def text_nodes(text: str) -> list[Node]:
    """Return inline nodes for plain text.

    >>> text_nodes("Figure 1")
    [{'t': 'Str', 'c': 'Figure'}, {'t': 'Space'}, {'t': 'Str', 'c': '1'}]
    """
    nodes: list[Node] = []
    for position, word in enumerate(text.split(" ")):
        nodes += [{"t": "Space"}] if position else []
        nodes += [{"t": "Str", "c": word}] if word else []
    return nodes


def plain_text(nodes: Any) -> str:
    """Return the text of inline nodes without markup.

    >>> plain_text([{"t": "Emph", "c": [{"t": "Str", "c": "a"}]}, {"t": "Space"}])
    'a '
    """
    if isinstance(nodes, list):
        return "".join(plain_text(node) for node in nodes)
    if not isinstance(nodes, dict):
        return ""
    if nodes["t"] in ("Space", "SoftBreak", "LineBreak"):
        return " "
    if nodes["t"] in ("Code", "Math"):
        return str(nodes["c"][1])
    return nodes["c"] if nodes["t"] == "Str" else plain_text(nodes.get("c"))


def html(markup: str) -> Node:
    """Return a block of HTML as it stands."""
    return {"t": "RawBlock", "c": ["html", markup]}


def inline_html(markup: str) -> Node:
    """Return HTML inside a line as it stands."""
    return {"t": "RawInline", "c": ["html", markup]}


def plain(inlines: list[Node]) -> Node:
    """Return text without a paragraph around it."""
    return {"t": "Plain", "c": inlines}


def div(content: list[Node], identifier: str = "", *classes: str, **pairs: str) -> Node:
    """Return a block container."""
    return {"t": "Div", "c": [attributes(identifier, classes, **pairs), content]}


def link(inlines: list[Node], target: str, *classes: str, **pairs: str) -> Node:
    """Return a link."""
    return {"t": "Link", "c": [attributes("", classes, **pairs), inlines, [target, ""]]}


def span(inlines: list[Node], *classes: str) -> Node:
    """Return an inline container."""
    return {"t": "Span", "c": [attributes("", classes), inlines]}
