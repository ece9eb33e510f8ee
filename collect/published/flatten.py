"""A result file becomes its leaves: every number, label, flag and null, with its place.

A JSON file is walked as it is. A CSV file is read as a list of rows, each an object of
cells by column name, so that both have paths of one kind: ``$.models[0].rho`` and
``$[3].Last_Gain``. A name that is no plain word is quoted: ``$.results['pythia-6.9b']``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from collect.errors import InputError

Step = str | int
Scalar = str | int | float | bool | None

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar of a document.

    Parameters
    ----------
    steps
        Names and indices that lead to it from the top of the document.
    value
        The scalar itself; NaN where the file says NaN.
    is_last
        True when it is the last element of a list.
    fields
        Scalars of all enclosing objects by name; the nearest object wins.
    """

    steps: tuple[Step, ...]
    value: Scalar
    is_last: bool
    fields: Mapping[str, Scalar]

    @property
    def path(self) -> str:
        """Path of the leaf in the file."""
        return json_path(self.steps)


def json_path(steps: tuple[Step, ...]) -> str:
    """Return the path that the steps spell.

    >>> json_path(("results", "pythia-6.9b", "gains", 3))
    "$.results['pythia-6.9b'].gains[3]"
    """
    return "$" + "".join(_spelt(step) for step in steps)


def _spelt(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _WORD.fullmatch(step):
        return f".{step}"
    quoted = step.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{quoted}']"


def read_leaves(path: Path) -> list[Leaf]:
    """Return every leaf of a JSON or CSV file, in the order of the file."""
    return list(leaves(read_document(path)))


def read_document(path: Path) -> object:
    """Return the content of a JSON file, or of a CSV file as a list of rows by column name.

    ``NaN`` and ``Infinity``, which Python writes and strict JSON forbids, are read as numbers.
    Cells of a CSV file stay text: the format has no types.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".csv":
            return _whole_text(json.loads(text))
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        return [dict(zip(header, cells, strict=True)) for cells in rows]
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise InputError(
            f"The file {path} cannot be read: {error}.",
            "Fetch the published files again; nothing was imported.",
        ) from error


def _whole_text(document: object) -> object:
    """Return a document of JSON whose texts can be written; one may name half of a sign."""
    json.dumps(document, ensure_ascii=False).encode()
    return document


def leaves(document: object) -> Iterator[Leaf]:
    """Yield every leaf of a document of objects, lists and scalars."""
    yield from _leaves(document, (), False, {})


def _leaves(
    node: object, steps: tuple[Step, ...], is_last: bool, fields: Mapping[str, Scalar]
) -> Iterator[Leaf]:
    if isinstance(node, dict):
        scalars = {name: value for name, value in node.items() if _is_scalar(value)}
        for name, child in node.items():
            yield from _leaves(child, (*steps, name), False, {**fields, **scalars})
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _leaves(child, (*steps, index), index == len(node) - 1, fields)
    elif _is_scalar(node):
        yield Leaf(steps, node, is_last, fields)


def _is_scalar(node: object) -> TypeGuard[Scalar]:
    return node is None or isinstance(node, str | int | float | bool)
