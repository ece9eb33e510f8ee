"""Callouts: ``::: {.callout-note}`` divisions as titled boxes, collapsible if asked."""

from __future__ import annotations

from html import escape

from analysis.report.making.tree import Node, html, plain, rewritten, span, text_nodes

KINDS = ("note", "tip", "warning", "caution", "important")


def with_callouts(document: Node) -> Node:
    """Return the document with each callout division turned into a box.

    The title is the attribute ``title``, or a heading that opens the callout, or the kind. The
    kind is always written out, so that no callout differs from another by colour alone.
    """
    boxed: Node = rewritten(document, _boxed)
    return boxed


def _boxed(node: Node) -> Node | list[Node]:
    if node["t"] != "Div":
        return node
    (identifier, classes, pairs), content = node["c"]
    kind = next((kind for kind in KINDS if f"callout-{kind}" in classes), None)
    if kind is None:
        return node
    options = dict(pairs)
    title = text_nodes(options["title"]) if "title" in options else []
    if not title and content and content[0]["t"] == "Header":
        title, content = content[0]["c"][2], content[1:]
    head = [span(text_nodes(kind.capitalize()), "callout-kind")]
    head += [{"t": "Space"}, span(title, "callout-name")] if title else []
    named = f' id="{escape(identifier)}"' if identifier else ""
    opening = f'{named} class="callout callout-{kind}"'
    if "collapse" in options:
        state = " open" if options["collapse"] == "false" else ""
        before, between, after = (
            f'<details{opening}{state}><summary class="callout-title">',
            '</summary><div class="callout-body">',
            "</div></details>",
        )
    else:
        before, between, after = (
            f'<div{opening} role="note"><p class="callout-title">',
            '</p><div class="callout-body">',
            "</div></div>",
        )
    return [html(before), plain(head), html(between), *content, html(after)]
