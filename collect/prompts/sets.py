r"""Prompt sets: one text file per set, one prompt per line.

A line ``# Factual`` opens a category, a line ``## ...`` is a remark, an empty line means
nothing; every other line is a prompt, verbatim. Inside a prompt ``\n`` is a line break,
``\t`` a tab, ``\\`` a backslash, and ``\#`` a hash sign that would otherwise open a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from collect.errors import InputError
from collect.schema.marks import prompts_sha256

#: Where the shipped sets live in a clone of the repository.
DIRECTORY = Path(__file__).resolve().parents[2] / "data" / "prompts"

#: Code the authors gave each category; a label, not a scale.
COMPLEXITY = {"Factual": 1, "Cliche": 2, "Nonsense": 3, "Novel": 4, "Syntactic": 5}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_ESCAPE = re.compile(r"\\(.?)")
_ESCAPED = {"n": "\n", "t": "\t", "\\": "\\", "#": "#"}


@dataclass(frozen=True, slots=True)
class PromptSet:
    """A named set of prompts.

    Attributes
    ----------
    name
        File name without the suffix.
    prompts
        One row per prompt, in the order of the file; the columns of table ``prompt``.
        ``prompt_id`` is the set's name and the place in it, counted from 00.
    sha256
        Hash over categories and texts, independent of remarks and empty lines.
    """

    name: str
    prompts: pd.DataFrame
    sha256: str


def names() -> list[str]:
    """Return the names of the sets that come with the repository, sorted."""
    return sorted(path.stem for path in DIRECTORY.glob("*.txt"))


def load(name_or_path: str | Path) -> PromptSet:
    """Read a shipped prompt set by name, or a text file of one's own by path.

    Raises
    ------
    InputError
        If there is no such set or file, or the file is empty, not UTF-8 or ill-formed.
    """
    path = _find(str(name_or_path))
    entries = _entries(_text(path), path)
    if not entries:
        raise InputError(
            f"A prompt set must hold at least one prompt; {path} holds none.",
            "Write one prompt per line.",
        )
    prompt_set = PromptSet(path.stem, _frame(path.stem, entries), prompts_sha256(entries))
    _refuse_a_taken_name(path, prompt_set.sha256)
    return prompt_set


def _find(name_or_path: str) -> Path:
    shipped = DIRECTORY / f"{name_or_path}.txt"
    path = shipped if name_or_path in names() else Path(name_or_path).expanduser()
    if not path.is_file():
        raise InputError(
            f"A prompt set must be a known name or a text file; {name_or_path!r} is neither.",
            f"The sets are: {', '.join(names()) or 'none, outside a clone of the repository'}.",
        )
    if not _NAME.fullmatch(path.stem):
        raise InputError(
            f"The name of a prompt file may hold letters a to z, digits, '_', '-' and '.'; "
            f"found {path.name!r}.",
            "Rename the file: its name becomes part of every prompt_id.",
        )
    return path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"A prompt file must be UTF-8 text; {path} is not, at byte {error.start}.",
            "Save it as UTF-8.",
        ) from error
    except OSError as error:
        raise InputError(
            f"The prompt file {path} must be readable; {error.strerror or error}."
        ) from error


def _entries(text: str, path: Path) -> list[tuple[str | None, str]]:
    """Return (category, prompt) for every prompt of the file."""
    entries: list[tuple[str | None, str]] = []
    category: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.removesuffix("\r")
        if content.startswith("##") or not content.strip():
            continue
        if content.startswith("#"):
            category = content[1:].strip() or None
        else:
            entries.append((category, _unescaped(content, f"{path}, line {number}")))
    return entries


def _unescaped(line: str, place: str) -> str:
    unknown = [match.group() for match in _ESCAPE.finditer(line) if match.group(1) not in _ESCAPED]
    if unknown:
        raise InputError(
            rf"A backslash in a prompt must be one of \n, \t, \\ and \#; found {unknown[0]} "
            f"({place}).",
            r"Write \\ for a backslash.",
        )
    return _ESCAPE.sub(lambda match: _ESCAPED[match.group(1)], line)


def _frame(name: str, entries: list[tuple[str | None, str]]) -> pd.DataFrame:
    width = max(2, len(str(len(entries) - 1)))
    categories = [category for category, _ in entries]
    return pd.DataFrame(
        {
            "prompt_set": name,
            "prompt_id": [f"{name}:{place:0{width}d}" for place in range(len(entries))],
            "category": pd.Series(categories, dtype="str"),
            "complexity": pd.Series([COMPLEXITY.get(c or "") for c in categories], dtype="Int32"),
            "text": [text for _, text in entries],
        }
    )


def _refuse_a_taken_name(path: Path, sha256: str) -> None:
    shipped = DIRECTORY / f"{path.stem}.txt"
    if shipped.is_file() and prompts_sha256(_entries(_text(shipped), shipped)) != sha256:
        raise InputError(
            f"A prompt file of one's own must not bear the name of a shipped set; {path} holds "
            f"other prompts than {path.stem}.",
            "Rename the file.",
        )
