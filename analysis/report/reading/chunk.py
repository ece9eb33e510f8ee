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
LABEL = re.compile(r"^[A-Za-z][\w-]*$")
OPTION_TYPES: Mapping[str, tuple[type, ...]] = {
    "label": (str,),
    "echo": (bool,),
    "eval": (bool,),
    "include": (bool,),
    "output": (bool, str),
    "warning": (bool,),
    "code-fold": (bool, str),
    "code-summary": (str,),
    "fig-cap": (str,),
    "fig-alt": (str, list),
    "tbl-cap": (str,),
    "tags": (list, str),
}
DEFAULTS: Mapping[str, Any] = {
    "echo": True,
    "eval": True,
    "include": True,
    "output": True,
    "warning": True,
    "code-fold": False,
    "code-summary": "Code",
}
WORDS: Mapping[str, str] = {"output": "asis", "code-fold": "show"}


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
        If an option is unknown or has a value of the wrong kind, or a labelled figure or table
        has no caption.

    Examples
    --------
    >>> chunk_of(["#| echo: false", "1 + 1"], place="paper.qmd:3").options
    {'echo': False}
    """
    n_options = next((i for i, line in enumerate(lines) if not OPTION_LINE.match(line)), len(lines))
    written = "\n".join(OPTION_LINE.sub(r"\g<yaml>", line) for line in lines[:n_options])
    chunk = Chunk("\n".join(lines[n_options:]).strip("\n"), mapping(written, place), place)
    for key, value in chunk.options.items():
        _check_option(chunk, key, value)
    _check_caption(chunk)
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


def _check_option(chunk: Chunk, key: str, value: object) -> None:
    if key not in OPTION_TYPES:
        raise ReportError(
            f"The chunk {chunk.name} must have only known options; found '{key}'.",
            f"The options are {list(OPTION_TYPES)}.",
        )
    word_allowed = not isinstance(value, str) or WORDS.get(key, value) == value
    if not isinstance(value, OPTION_TYPES[key]) or not word_allowed:
        kinds = " or ".join(kind.__name__ for kind in OPTION_TYPES[key])
        kinds = kinds.replace("str", f"'{WORDS[key]}'") if key in WORDS else kinds
        raise ReportError(
            f"The option '{key}' of the chunk {chunk.name} must be {kinds}; found {value!r}."
        )
    if key == "label" and not LABEL.match(str(value)):
        raise ReportError(
            f"The label of the chunk {chunk.name} must be letters, digits and hyphens, "
            "beginning with a letter."
        )


def _check_caption(chunk: Chunk) -> None:
    for kind in ("fig", "tbl"):
        other = "tbl" if kind == "fig" else "fig"
        if not str(chunk.options.get("label", "")).startswith(f"{kind}-"):
            continue
        if f"{kind}-cap" not in chunk.options or f"{other}-cap" in chunk.options:
            raise ReportError(
                f"The chunk {chunk.name} must have '{kind}-cap' and not '{other}-cap'.",
                f"For a caption with inline code leave out the label and write "
                f"'::: {{#{chunk.options['label']}}}' around the chunk.",
            )
