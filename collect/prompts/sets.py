r"""Prompt sets: a text file with one prompt per line, or records (see `records` and `entry`).

In a text file a line ``# Factual`` opens a category, a line ``## ...`` before the first prompt is
a remark, an empty line means nothing; every other line is a prompt, verbatim. Inside a prompt
``\n`` is a line break, ``\t`` a tab, ``\\`` a backslash, and ``\#`` a hash sign that would
otherwise open a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from collect.errors import InputError, nearest
from collect.process import shipped
from collect.prompts.entry import Entry, entry
from collect.prompts.records import is_dataset, readable, records, set_name, text_of
from collect.schema.counting import repeated
from collect.schema.marks import prompts_sha256
from collect.schema.paths import expand_path

#: Where the shipped sets lie.
DIRECTORY = shipped.root() / "data" / "prompts"

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
        ``prompt_id`` is the set's name and the prompt's own identifier, or else its place in
        the set, counted from 00.
    sha256
        Hash over all that is known of the prompts, independent of remarks and empty lines.
    """

    name: str
    prompts: pd.DataFrame
    sha256: str


def names() -> list[str]:
    """Return the names of the sets that are shipped, sorted."""
    return sorted(path.stem for path in DIRECTORY.glob("*.txt"))


def load(name_or_path: str | Path) -> PromptSet:
    """Read a shipped prompt set by name, or one of one's own by path.

    Parameters
    ----------
    name_or_path
        A name of `names`; a file of JSON lines, JSON, CSV, TSV or Parquet, or a directory that
        ``datasets.save_to_disk`` wrote, each with one record per prompt; or a text file.

    Raises
    ------
    InputError
        If there is no such set or file, or the file is empty, not UTF-8 or ill-formed.
    """
    path = find(str(name_or_path))
    if readable(path):
        loaded = prompt_set(set_name(path), (entry(r, place) for place, r in records(path)))
    else:
        loaded = prompt_set(path.stem, _entries(_text(path), path))
    if not len(loaded.prompts):
        raise InputError(
            f"A prompt set must hold at least one prompt; {path} holds none.",
            "Write one record per prompt." if readable(path) else "Write one prompt per line.",
        )
    _refuse_a_taken_name(path, loaded)
    return loaded


def load_all(names_or_paths: Iterable[str | Path]) -> tuple[PromptSet, ...]:
    """Read prompt sets, each named once; see `load`.

    Raises
    ------
    InputError
        As `load`; and if two have one name.
    """
    loaded = tuple(load(name_or_path) for name_or_path in names_or_paths)
    twice = repeated(each.name for each in loaded)
    if twice:
        raise InputError(
            f"Every prompt set must be named once; {', '.join(twice)} comes up more than once.",
            "Leave the repetition out, or rename a file: its name is that of the set.",
        )
    return loaded


def given(
    prompts: str | Path | PromptSet | pd.DataFrame | Mapping[str, object] | Iterable[object],
    name: str,
) -> PromptSet:
    """Return prompts as a program gives them as a set.

    Parameters
    ----------
    prompts
        The name or the path of a set, a set, a frame with a record per row, or records, one or
        several; see `entry.entry`.
    name
        Name of the set where the prompts bring none.

    Raises
    ------
    InputError
        If there is no such set, or a record is ill-formed.
    """
    if isinstance(prompts, PromptSet):
        return prompts
    if isinstance(prompts, (str, Path)):
        return load(prompts)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"The name of a prompt set may hold letters a to z, digits, '_', '-' and '.'; "
            f"found {name!r}.",
            "Give another prompt_set: it becomes part of every prompt_id.",
        )
    rows: Any = prompts.to_dict("records") if isinstance(prompts, pd.DataFrame) else prompts
    if not isinstance(rows, Iterable):
        raise InputError(
            "Prompts must be the name or path of a set, a frame, or a list of texts or records; "
            f"found {type(prompts).__name__}.",
            'Give for example ["The sky is"].',
        )
    rows = [rows] if isinstance(rows, Mapping) else rows
    return prompt_set(name, [entry(row, f"prompt {place}") for place, row in enumerate(rows)])


def prompt_set(name: str, entries: Iterable[Entry]) -> PromptSet:
    """Return a prompt set of a name.

    Parameters
    ----------
    name
        Letters a to z, digits, '_', '-' and '.'.
    entries
        Its prompts in order.

    Raises
    ------
    InputError
        If two prompts have the same identifier.
    """
    prompts = _frame(name, list(entries))
    twice = repeated(prompts["prompt_id"])
    if twice:
        raise InputError(
            f"Every prompt must have an identifier of its own; {twice[0]} comes up twice.",
            "Give each another id, or leave ids out: prompts are then numbered.",
        )
    rows = prompts.astype(object).where(prompts.notna(), None).to_dict("records")
    return PromptSet(
        name, prompts, prompts_sha256([{str(n): v for n, v in r.items()} for r in rows])
    )


def find(name_or_path: str) -> Path:
    """Return the file or data set of prompts that a shipped name or a path stands for.

    Raises
    ------
    InputError
        If there is none, or it cannot be a set by its name.
    """
    shipped = DIRECTORY / f"{name_or_path}.txt"
    path = shipped if name_or_path in names() else expand_path(name_or_path)
    if not path.exists():
        near = nearest(name_or_path, names())
        there_are = f"The sets are: {', '.join(names()) or 'none'}."
        raise InputError(
            "A prompt set must be a known name, or the path of a file or data set that is there; "
            f"{name_or_path!r} is neither.",
            f"The nearest is {near[0]}." if near else f"Check the path. {there_are}",
        )
    if path.is_dir() and not is_dataset(path):
        raise InputError(
            f"A directory of prompts must be a data set that datasets saved; {path} is not one.",
            "Give the files in it, or save the data set with save_to_disk.",
        )
    if not _NAME.fullmatch(set_name(path)):
        raise InputError(
            f"The name of a prompt file may hold letters a to z, digits, '_', '-' and '.'; "
            f"found {path.name!r}.",
            "Rename the file: its name becomes part of every prompt_id.",
        )
    return path


def _text(path: Path) -> str:
    """Return the text of a file of lines."""
    text = text_of(path)
    _refuse_records(text, path)
    return text


def _refuse_records(text: str, path: Path) -> None:
    """Refuse a file of JSON objects under the name of a text file: its lines are no prompts."""
    first = text.lstrip().partition("\n")[0]
    try:
        is_record = first.startswith("{") and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return
    if is_record:
        raise InputError(
            f"A text file must hold one prompt per line; {path} begins with a JSON object.",
            "Name the file .jsonl, and its records are read as such.",
        )


def _entries(text: str, path: Path) -> list[Entry]:
    """Return every prompt of a text file."""
    entries: list[Entry] = []
    category: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.removesuffix("\r")
        if not content.strip():
            continue
        if content.startswith("##"):
            if entries or content.startswith("###"):  # as a remark it would be lost without a word
                raise InputError(
                    f"A remark, ##, must stand before the first prompt; {path}, line {number} "
                    f"reads {content[:40]!r}, as a heading of Markdown does.",
                    r"Write \# for a prompt that begins with a hash sign, or leave the line out; "
                    "prompts of several lines go into a JSONL file.",
                )
            continue
        if content.startswith("#"):
            category = content[1:].strip() or None
        else:
            signs = [match for match in _ESCAPE.finditer(content) if match[1] not in _ESCAPED]
            if signs:
                raise InputError(
                    r"A backslash in a prompt must be one of \n, \t, \\ and \#; found "
                    f"{signs[0][0]} ({path}, line {number}).",
                    r"Write \\ for a backslash.",
                )
            prompt = _ESCAPE.sub(lambda match: _ESCAPED[match[1]], content)
            entries.append(Entry(prompt, category=category))
    return entries


def _frame(name: str, entries: Sequence[Entry]) -> pd.DataFrame:
    width = max(2, len(str(len(entries) - 1)))
    names = [given.name or f"{place:0{width}d}" for place, given in enumerate(entries)]
    complexity = [COMPLEXITY.get(given.category or "") for given in entries]
    return pd.DataFrame(
        {
            "prompt_set": name,
            "prompt_id": [f"{name}:{of_prompt}" for of_prompt in names],
            "category": pd.Series([given.category for given in entries], dtype="str"),
            "complexity": pd.Series(complexity, dtype="Int32"),
            "format": [given.format for given in entries],
            "text": [given.text for given in entries],
            "metadata": pd.Series([given.metadata for given in entries], dtype="str"),
        }
    )


def _refuse_a_taken_name(path: Path, loaded: PromptSet) -> None:
    shipped = DIRECTORY / f"{loaded.name}.txt"
    if not shipped.is_file() or shipped.resolve() == path.resolve():
        return
    if prompt_set(loaded.name, _entries(_text(shipped), shipped)).sha256 != loaded.sha256:
        raise InputError(
            f"A prompt file of your own must not have the name of a shipped set; {path} holds "
            f"other prompts than {loaded.name}.",
            "Rename the file.",
        )
