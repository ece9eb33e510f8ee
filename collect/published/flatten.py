"""A result file becomes its leaves: every number, label, flag and null, with its place.

A JSON file is walked as it is. A CSV file is read as a list of rows, each an object of
cells by column name, so that both have paths of one kind: ``$.models[0].rho`` and
``$[3].Last_Gain``. A name that is no plain word is quoted: ``$.results['pythia-6.9b']``.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from collect.errors import InputError
from collect.schema.counting import repeated

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
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"The file {path} must be readable; {reason}.", _FETCH_AGAIN) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"The file {path.name} must be UTF-8 text; byte {error.start} is not.", _FETCH_AGAIN
        ) from error
    return _csv_rows(text, path.name) if path.suffix == ".csv" else _json(text, path.name)


#: Most levels of objects and lists in a document; the published files have at most eight.
_DEEPEST = 100

_SURROGATE = re.compile("[\ud800-\udfff]")

_FETCH_AGAIN = "Fetch the published files again; nothing was imported."


def _json(text: str, name: str) -> object:
    try:
        document = json.loads(text, parse_float=_finite, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise InputError(
            f"The file {name} must be JSON; line {error.lineno} column {error.colno}: {error.msg}.",
            _FETCH_AGAIN,
        ) from error
    except RecursionError as error:
        raise _too_deep(name) from error
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"Every number of {name} must be one that a double can hold; found {error}.",
            _FETCH_AGAIN,
        ) from error
    _check_document(document, name)
    return document


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise OverflowError(text[:20])
    return number


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _too_deep(name: str) -> InputError:
    return InputError(
        f"The file {name} must be nested at most {_DEEPEST} deep; it is deeper.", _FETCH_AGAIN
    )


def _check_document(document: object, name: str) -> None:
    """Refuse a document that is nested too deeply, or holds text that UTF-8 cannot hold."""
    waiting: list[tuple[object, int]] = [(document, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise _too_deep(name)
        if isinstance(node, dict):
            waiting.extend((part, depth + 1) for pair in node.items() for part in pair)
        elif isinstance(node, list):
            waiting.extend((part, depth + 1) for part in node)
        elif isinstance(node, str) and _SURROGATE.search(node):
            raise InputError(
                f"Every text of {name} must be one that UTF-8 can hold; {node[:40]!a} is none.",
                _FETCH_AGAIN,
            )


def _csv_rows(text: str, name: str) -> list[dict[str, str]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _refuse_twins(header, name)
        rows = []
        for cells in reader:
            if len(cells) != len(header):
                raise InputError(
                    f"Every row of {name} must have {len(header)} cells like its header; "
                    f"line {reader.line_num} has {len(cells)}.",
                    _FETCH_AGAIN,
                )
            rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise InputError(
            f"The file {name} must be CSV; line {reader.line_num}: {error}.", _FETCH_AGAIN
        ) from error
    return rows


def _refuse_twins(header: list[str], name: str) -> None:
    twins = repeated(header)
    if twins:
        raise InputError(
            f"The columns of {name} must have different names; {twins[0]!r} stands there twice.",
            _FETCH_AGAIN,
        )


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
