"""Ways to spoil a text or a value: what a slip, a broken disk or a hostile hand would do."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import numpy as np

#: Pieces of text that break what is careless.
PIECES = (
    "", " ", "\n", "\r\n", "\t", "\0", "\ufeff", "\u202e", "\u2212", "é", "😀", "'", '"', "`", "\\",
    "\\n", ",", ";", ":", "=", "#", "##", "[", "]", "[[", "{", "}", "{{", "(", ")", "<", ">",
    "<!--",
    "<img src=x onerror=alert(1)>", "$x$", "\\frac{1}{", "%s", "{0}", "../..", "/dev/null", "~",
    "*", "-", "--", "NaN", "nan", "inf", "-inf", "1e400", "1e-400", "0", "-1", "1_000", "0x10",
    "9" * 25, "9" * 400, "true", "null", "None", "2026-13-45", "a" * 300, "a" * 5000, "x.y.z",
    "; DROP TABLE model", "=1+1", "@SUM(A1)", "(" * 200, "[" * 3000, '{"a":' * 600, "\x1b[31m",
)  # fmt: skip

#: Values that a reader of TOML, JSON or configurations may meet instead of the right one.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 10**9, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e308,
    5e-324, -1.5, float("nan"), float("inf"), "", " ", "a", "1", "nan", "../x", "a\0b", "\ud800",
    "x" * 5000, [], [1], [[]], [None], ["a", 1], {}, {"a": 1}, {"": {}}, [[1, 2], [3]],
)  # fmt: skip


def text(rng: np.random.Generator, whole: str, *, most: int = 3) -> str:
    """Return a text with up to ``most`` spoilt places."""
    for _ in range(int(rng.integers(1, most + 1))):
        start = int(rng.integers(0, len(whole) + 1))
        end = min(len(whole), start + int(rng.integers(0, 12)))
        way = rng.integers(0, 7)
        if way == 0:
            whole = whole[:start] + whole[end:]
        elif way == 1:
            whole = whole[:end] + whole[start:]
        elif way in (2, 3, 4):
            whole = whole[:start] + piece(rng) + whole[end if way == 4 else start :]
        elif way == 5:
            whole = whole[:start] + whole[start:end][::-1] + whole[end:]
        elif rng.random() < 0.2:
            whole = whole[:start]
        else:
            whole = _lines_exchanged(rng, whole)
    return whole


def _lines_exchanged(rng: np.random.Generator, whole: str) -> str:
    lines = whole.split("\n")
    one, other = rng.integers(0, len(lines), 2)
    lines[one] = lines[other]
    return "\n".join(lines)


def piece(rng: np.random.Generator) -> str:
    """Return a piece of text that breaks what is careless."""
    return str(PIECES[int(rng.integers(len(PIECES)))])


def value(rng: np.random.Generator) -> Any:
    """Return a value of any kind, free to be changed."""
    return deepcopy(VALUES[int(rng.integers(len(VALUES)))])


def raw(rng: np.random.Generator, whole: str) -> bytes:
    """Return a spoilt text as bytes, now and then bytes that are no UTF-8."""
    encoded = text(rng, whole).encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        place = int(rng.integers(0, len(encoded) + 1))
        encoded = encoded[:place] + rng.bytes(3) + encoded[place:]
    return encoded


def document(rng: np.random.Generator, whole: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a nested table in which a few entries are spoilt, lost, renamed or added."""
    spoilt: dict[str, Any] = json.loads(json.dumps(whole))
    for _ in range(int(rng.integers(1, 4))):
        table = spoilt
        while any(isinstance(one, dict) and one for one in table.values()) and rng.random() < 0.6:
            inner = [one for one in table.values() if isinstance(one, dict) and one]
            table = inner[int(rng.integers(len(inner)))]
        keys = list(table)
        key = keys[int(rng.integers(len(keys)))] if keys else "a"
        way = rng.integers(0, 8)
        if way == 0:
            table.pop(key, None)
        elif way == 1:
            table[piece(rng)] = table.pop(key, None)
        elif way == 2:
            table[piece(rng)] = value(rng)
        else:
            table[key] = value(rng)
    return spoilt
