"""What the kernel answered, as Markdown for pandoc: inline values and chunk outputs.

The rules are Quarto's: HTML before Markdown before images before plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from analysis.report.making.images import Gallery, Picture
from analysis.report.reading.chunk import Chunk
from analysis.report.reading.inline import Inline, inline_markdown
from analysis.report.reading.source import Line
from analysis.tidy.errors import ReportError

#: A value by MIME type.
Forms: TypeAlias = Mapping[str, Any]

INLINE_CODE = re.compile(r"(?<!`)`\{python\}[ \t]([^`]+)`")
SVG = "image/svg+xml"
PREFERENCE = ("text/html", "text/markdown", SVG, "image/png", "image/jpeg", "text/plain")


def prose_markdown(
    lines: Sequence[Line], evaluate: Callable[[Sequence[Inline]], Sequence[Forms]]
) -> str:
    """Return prose with its inline code replaced by values; inside code fences nothing is.

    ``evaluate`` is asked once, for all values in their order.
    """
    asked = [
        Inline(match[1].strip(), line.place)
        for line in lines
        if not line.fence
        for match in INLINE_CODE.finditer(line.text)
    ]
    values = (
        inline_markdown(forms, mime=_choose_form(forms), name=inline.name)
        for inline, forms in zip(asked, evaluate(asked), strict=True)
    )
    return "\n".join(
        line.text if line.fence else INLINE_CODE.sub(lambda _: next(values), line.text)
        for line in lines
    )


def _choose_form(forms: Forms) -> str:
    """Return the MIME type to show, the richest that a page can hold."""
    return next(mime for mime in (*PREFERENCE, *forms) if mime in forms)


def chunk_markdown(
    chunk: Chunk, outputs: Sequence[Forms], document: Mapping[str, Any], gallery: Gallery
) -> str:
    """Return the Markdown that stands for a chunk: folded code, then what its run showed.

    The options of the document hold where the chunk has none; the gallery receives the drawings.
    """
    options = chunk.settled(document)
    if not options["include"]:
        return ""
    alt = " ".join(chunk.options.get("fig-alt", "").split())
    drawn = [mime for mime in map(_choose_form, outputs) if mime.startswith("image/")]
    if drawn != [SVG] * bool(alt):
        raise ReportError(
            f"The chunk {chunk.name} must have one 'fig-alt' for one drawing in SVG; it shows "
            f"{', '.join(drawn) or 'none'} and describes {int(bool(alt))}.",
            "Say what is plotted and what shape it has: '#| fig-alt: …'.",
        )
    body = "\n\n".join(_output_markdown(forms, chunk, alt, gallery) for forms in outputs)
    caption = chunk.options.get("fig-cap") or chunk.options.get("tbl-cap")
    if caption and outputs:
        label = chunk.options.get("label", "")
        kind = "fig" if "fig-cap" in chunk.options else "tbl"
        body = _div(
            f"{body}\n\n{' '.join(caption.split())}",
            f"#{label} .{kind}-float" if label else f".{kind}-float",
        )
    code = _code_markdown(chunk.code, options) if options["echo"] and chunk.code else ""
    return f"\n{code}\n\n{body}\n"


def _output_markdown(forms: Forms, chunk: Chunk, alt: str, gallery: Gallery) -> str:
    mime = _choose_form(forms)
    content = str(forms[mime])
    if mime == SVG:
        picture = Picture(content, alt, str(chunk.options.get("label", "")), chunk.last_call)
        return f"![]({gallery.add(picture)})"
    if mime == "text/markdown":
        return _div(content, ".cell-output")
    if mime == "text/html":
        return _div(_fence(content, "=html"), ".cell-output .html-output")
    return _fence(content, ".cell-output")


def _code_markdown(code: str, options: Mapping[str, Any]) -> str:
    block = _fence(code, ".python .cell-code")
    if not options["code-fold"]:
        return _div(block, ".code")
    opening = "<details class='code-fold'><summary>Code</summary>"
    return _div(f"{_fence(opening, '=html')}\n{block}\n{_fence('</details>', '=html')}", ".code")


def _div(content: str, attributes: str) -> str:
    return f"\n::: {{{attributes}}}\n{content}\n:::\n"


def _fence(text: str, attributes: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    plain = text.rstrip("\n")
    return f"{ticks} {{{attributes}}}\n{plain}\n{ticks}"
