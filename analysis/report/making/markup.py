"""What the kernel answered, as Markdown for pandoc: inline values and chunk outputs.

The rules are Quarto's: HTML before Markdown before images before plain text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from analysis.report.making.images import Gallery, Picture
from analysis.report.reading.chunk import Chunk
from analysis.report.reading.inline import Inline, inline_markdown
from analysis.report.reading.source import Line
from analysis.tidy.errors import ReportError

#: Takes inline code and returns the representations of each value by MIME type.
Evaluate: TypeAlias = Callable[[Sequence[Inline]], Sequence[Mapping[str, Any]]]

INLINE_CODE = re.compile(r"(?<!`)`\{python\}[ \t]([^`]+)`")
ANSI = re.compile(r"\x1b\[[0-9;]*m")
PREFERENCE = (
    "text/html",
    "text/markdown",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "text/plain",
)


def prose_markdown(lines: Sequence[Line], evaluate: Evaluate) -> str:
    """Return prose with its inline code replaced by values.

    Parameters
    ----------
    lines
        Source lines; inside code fences nothing is replaced.
    evaluate
        Asked once, for all values in their order.

    Raises
    ------
    ReportError
        If a value has no form for readers.
    """
    asked = [
        Inline(match[1].strip(), line.place)
        for line in lines
        if not line.fence
        for match in INLINE_CODE.finditer(line.text)
    ]
    values = map(_value, asked, evaluate(asked))
    return "\n".join(
        line.text if line.fence else INLINE_CODE.sub(lambda _: next(values), line.text)
        for line in lines
    )


def preferred(representations: Mapping[str, Any]) -> str:
    """Return the MIME type to show, the richest that a page can hold."""
    return next(mime for mime in (*PREFERENCE, *representations) if mime in representations)


def chunk_markdown(
    chunk: Chunk,
    outputs: Sequence[Mapping[str, Any]],
    defaults: Mapping[str, Any],
    gallery: Gallery,
) -> str:
    """Return the Markdown that stands for a chunk: folded code, then its outputs.

    Parameters
    ----------
    chunk, outputs
        The chunk and what its run showed, see ``execution.Kernel.run``.
    defaults
        Chunk options of the document.
    gallery
        Receives the images.

    Raises
    ------
    ReportError
        If an image has no alternative text.
    """
    options = chunk.settled(defaults)
    if not options["include"]:
        return ""
    shown = [output for output in outputs if _is_shown(output, options)]
    images = [output for output in shown if _mime(output).startswith("image/")]
    alts = _alternative_texts(chunk, len(images))
    parts = [_output_markdown(output, chunk, options, alts, gallery) for output in shown]
    body = "\n\n".join(parts)
    caption = chunk.options.get("fig-cap") or chunk.options.get("tbl-cap")
    if caption and parts:
        body = _float_markdown(chunk, body, " ".join(caption.split()))
    code = _code_markdown(chunk.code, options) if options["echo"] and chunk.code else ""
    return f"\n{code}\n\n{body}\n"


def _value(asked: Inline, bundle: Mapping[str, Any]) -> str:
    return inline_markdown(bundle, mime=preferred(bundle), name=asked.name)


def _is_shown(output: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    is_warning = output["type"] == "stream" and output["name"] == "stderr"
    return options["output"] is not False and (options["warning"] or not is_warning)


def _mime(output: Mapping[str, Any]) -> str:
    return "stream" if output["type"] == "stream" else preferred(output["data"])


def _alternative_texts(chunk: Chunk, n_images: int) -> list[str]:
    written = chunk.options.get("fig-alt", [])
    texts = [written] if isinstance(written, str) else list(written)
    texts = [" ".join(str(text).split()) for text in texts]
    if n_images != len([text for text in texts if text]):
        raise ReportError(
            f"The chunk {chunk.name} must have one 'fig-alt' for each image; "
            f"it shows {n_images} and describes {len(texts)}.",
            "Say what is plotted and what shape it has: '#| fig-alt: …', or a list of texts.",
        )
    return texts


def _output_markdown(
    output: Mapping[str, Any],
    chunk: Chunk,
    options: Mapping[str, Any],
    alts: list[str],
    gallery: Gallery,
) -> str:
    mime = _mime(output)
    if mime == "stream":
        if options["output"] == "asis" and output["name"] == "stdout":
            return str(output["text"])
        return _fenced(output["text"], f".cell-output .{output['name']}")
    content = output["data"][mime]
    if mime.startswith("image/"):
        octets = content if isinstance(content, bytes) else content.encode("utf-8")
        octets = octets if "svg" in mime else base64.b64decode(octets)
        label = str(chunk.options.get("label", ""))
        picture = Picture(mime, octets, alts.pop(0), label, chunk.last_call)
        return f"![]({gallery.add(picture)})"
    if mime == "text/markdown":
        return str(content) if options["output"] == "asis" else _div(str(content), ".cell-output")
    if mime == "text/html":
        return _div(_fenced(str(content), "=html"), ".cell-output .html-output")
    return _fenced(str(content), ".cell-output")


def _code_markdown(code: str, options: Mapping[str, Any]) -> str:
    block = _fenced(code, ".python .cell-code")
    if not options["code-fold"]:
        return _div(block, ".code")
    state = " open" if options["code-fold"] == "show" else ""
    opening = f"<details class='code-fold'{state}><summary>{options['code-summary']}</summary>"
    return _div(f"{_fenced(opening, '=html')}\n{block}\n{_fenced('</details>', '=html')}", ".code")


def _float_markdown(chunk: Chunk, body: str, caption: str) -> str:
    label = chunk.options.get("label", "")
    kind = "fig" if "fig-cap" in chunk.options else "tbl"
    return _div(f"{body}\n\n{caption}", f"#{label} .{kind}-float" if label else f".{kind}-float")


def _div(content: str, attributes: str) -> str:
    return f"\n::: {{{attributes}}}\n{content}\n:::\n"


def _fenced(text: str, attributes: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    plain = ANSI.sub("", text).rstrip("\n")
    return f"{ticks} {{{attributes}}}\n{plain}\n{ticks}"
