"""One executable chunk and its ``#|`` options, checked when the source is read."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.reading.settings import mapping
from analysis.tidy.errors import ReportError, ReportRequestError

OPTION_LINE = re.compile(r"^#\s*\| ?(?P<yaml>.*)$")
#: The options, and what each may be.
OPTIONS: Mapping[str, type] = {
    **dict.fromkeys(("echo", "include"), bool),
    **dict.fromkeys(("label", "fig-cap", "fig-alt", "tbl-cap"), str),
    "tags": list,
}
DEFAULTS = {"echo": True, "include": True, "code-fold": False}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A ``{python}`` fence."""

    code: str  #: The lines below the options.
    #: The ``#|`` options as written; ``settled`` adds what holds by default.
    options: Mapping[str, Any]
    place: str  #: ``file:line`` of the opening fence.

    @property
    def name(self) -> str:
        """Label and place for messages."""
        label = self.options.get("label")
        return f"'{label}' at {self.place}" if label else f"at {self.place}"

    @property
    def has_parameters(self) -> bool:
        """Whether it assigns the parameters of its document."""
        return "parameters" in self.options.get("tags", [])

    @property
    def last_call(self) -> str:
        """The function whose value the chunk shows, empty if it shows no value of a function."""
        try:
            last = ast.parse(self.code).body[-1:]
        except SyntaxError:
            return ""
        call = last[0].value if last and isinstance(last[0], ast.Expr) else None
        while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if not isinstance(call.func.value, ast.Call):
                break
            call = call.func.value
        return ast.unparse(call.func) if isinstance(call, ast.Call) else ""

    def settled(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with those of the document, then Quarto's, filled in."""
        given = {**document, **document.get("execute", {}), **self.options}
        return {key: given.get(key, default) for key, default in DEFAULTS.items()}


def chunk_of(lines: Sequence[str], *, place: str) -> Chunk:
    """Return the chunk of the lines between two fences.

    Examples
    --------
    >>> chunk_of(["#| echo: false", "1 + 1"], place="paper.qmd:3").options
    {'echo': False}
    """
    n_options = next((i for i, line in enumerate(lines) if not OPTION_LINE.match(line)), len(lines))
    written = "\n".join(OPTION_LINE.sub(r"\g<yaml>", line) for line in lines[:n_options])
    chunk = Chunk("\n".join(lines[n_options:]).strip("\n"), mapping(written, place), place)
    for key, value in chunk.options.items():
        if key not in OPTIONS:
            raise ReportError(
                f"The chunk {chunk.name} has an unknown option, '{key}'.",
                f"The options are {', '.join(OPTIONS)}.",
            )
        if not isinstance(value, OPTIONS[key]):
            raise ReportError(f"The option '{key}' of the chunk {chunk.name} cannot be {value!r}.")
    return chunk


def assignments(chunks: Sequence[Chunk], parameters: Mapping[str, str]) -> str:
    """Return the code to run after the ``parameters`` chunk: a parameter is text."""
    tagged = next((chunk for chunk in chunks if chunk.has_parameters), None)
    if tagged is None:
        raise ReportError(
            f"Parameters {sorted(parameters)} need a chunk tagged 'parameters'; there is none.",
            "Add '#| tags: [parameters]' to the chunk that assigns them.",
        )
    body = ast.parse(tagged.code).body
    assigned = [it.targets[0] for it in body if isinstance(it, ast.Assign)]
    known = [target.id for target in assigned if isinstance(target, ast.Name)]
    if unknown := sorted(set(parameters) - set(known)):
        raise ReportRequestError(
            f"A parameter must be assigned in the chunk {tagged.name}; found: "
            f"{', '.join(unknown)}.",
            f"Its parameters are {', '.join(known)}.",
        )
    return "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
