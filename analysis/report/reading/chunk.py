"""One executable chunk and its ``#|`` options, checked when the source is read."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.reading.front_matter import mapping, scalar
from analysis.tidy.errors import ReportError, ReportRequestError

OPTION_LINE = re.compile(r"^#\s*\| ?(?P<yaml>.*)$")
#: What each option may be, and the one word that an option of yes or no may be instead.
OPTION_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("echo", "eval", "include", "output", "warning", "code-fold"), bool),
    **dict.fromkeys(("label", "code-summary", "fig-cap", "tbl-cap"), str),
    **dict.fromkeys(("fig-alt", "tags"), (str, list)),
}
WORDS: Mapping[str, str] = {"output": "asis", "code-fold": "show"}
DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("echo", "eval", "include", "output", "warning"), True),
    "code-fold": False,
    "code-summary": "Code",
}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A ``{python}`` fence.

    Attributes
    ----------
    code
        The lines below the options.
    options
        The ``#|`` options as written; ``settled`` adds what holds by default.
    place
        ``file:line`` of the opening fence.
    """

    code: str
    options: Mapping[str, Any]
    place: str

    @property
    def name(self) -> str:
        """Label and place for messages."""
        label = self.options.get("label")
        return f"'{label}' at {self.place}" if label else f"at {self.place}"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the chunk; ``parameters`` is the one that matters."""
        tags = self.options.get("tags", [])
        return tuple(tags) if isinstance(tags, list) else (tags,)

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

    def settled(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with the document's defaults, then Quarto's, filled in."""
        known = {key: value for key, value in defaults.items() if key in OPTION_TYPES}
        return {**DEFAULTS, **known, **self.options}


def chunk_of(lines: Sequence[str], *, place: str) -> Chunk:
    """Return the chunk of the lines between two fences.

    Raises
    ------
    ReportError
        If an option is unknown or has a value of the wrong kind.

    Examples
    --------
    >>> chunk_of(["#| echo: false", "1 + 1"], place="paper.qmd:3").options
    {'echo': False}
    """
    n_options = next((i for i, line in enumerate(lines) if not OPTION_LINE.match(line)), len(lines))
    written = "\n".join(OPTION_LINE.sub(r"\g<yaml>", line) for line in lines[:n_options])
    chunk = Chunk("\n".join(lines[n_options:]).strip("\n"), mapping(written, place), place)
    for key, value in chunk.options.items():
        kind = OPTION_TYPES.get(key)
        if kind is None:
            raise ReportError(
                f"The chunk {chunk.name} has an unknown option, '{key}'.",
                f"The options are {', '.join(OPTION_TYPES)}.",
            )
        if not isinstance(value, kind) and value != WORDS.get(key, ...):
            raise ReportError(f"The option '{key}' of the chunk {chunk.name} cannot be {value!r}.")
    return chunk


def assigned_names(code: str) -> tuple[str, ...]:
    r"""Return the names that top-level assignments of the code bind, in order.

    >>> assigned_names("measurements = '../data'\nseed: int = 1")
    ('measurements', 'seed')
    """
    targets: list[ast.expr] = []
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Assign):
            targets += statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets.append(statement.target)
    return tuple(target.id for target in targets if isinstance(target, ast.Name))


def assignments(chunks: Sequence[Chunk], parameters: Mapping[str, str]) -> str:
    """Return the code to run after the ``parameters`` chunk, as papermill injects it.

    Values are read as YAML scalars, as ``quarto render -P`` does: ``3`` is a number, ``true``
    a truth value, everything else text.

    Raises
    ------
    ReportError
        If no chunk is tagged ``parameters``.
    ReportRequestError
        If a name is not assigned there.
    """
    tagged = next((chunk for chunk in chunks if "parameters" in chunk.tags), None)
    if tagged is None:
        raise ReportError(
            f"Parameters {sorted(parameters)} need a chunk tagged 'parameters'; there is none.",
            "Add '#| tags: [parameters]' to the chunk that assigns them.",
        )
    known = assigned_names(tagged.code)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ReportRequestError(
            f"A parameter must be assigned in the chunk {tagged.name}; found: "
            f"{', '.join(unknown)}.",
            f"Its parameters are {', '.join(known)}.",
        )
    return "\n".join(f"{name} = {scalar(value)!r}" for name, value in parameters.items())
