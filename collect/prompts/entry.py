"""One prompt as its file gives it: text, turns of a conversation or token ids, with what is known.

A record is a mapping, from whatever kind of file or from a program. Its prompt is under one of
the names of `CONTENT`; ``id`` and ``category`` are taken by name; all else is kept as metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collect.errors import InputError
from collect.schema.counting import is_count
from collect.schema.paths import NUL

#: Names under which a record may hold its prompt, by what it then is; see column prompt.format.
CONTENT = {
    "text": ("text", "prompt"),
    "turns": ("messages", "turns"),
    "tokens": ("token_ids", "input_ids"),
}

#: Names under which a record may hold the prompt's identifier.
IDENTIFIERS = ("id", "prompt_id")

#: Types of what pandas has in the place of a missing value.
_NOTHING = ("NAType", "NaTType")

_CATEGORY = "category"
_TURN = {"role", "content"}

#: Longest identifier [characters]; it becomes part of every prompt_id.
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One prompt of a set.

    Attributes
    ----------
    text
        The prompt; of turns and token ids, their JSON.
    format
        ``text``, ``turns`` or ``tokens``.
    name
        The identifier it came with; None where it came with none.
    category
        Kind of prompt; None where none is named.
    metadata
        What else was said of it, as a JSON object; None where nothing was.
    """

    text: str
    format: str = "text"
    name: str | None = None
    category: str | None = None
    metadata: str | None = None


def entry(record: object, place: str) -> Entry:
    """Return the prompt that a record holds.

    Parameters
    ----------
    record
        A mapping as the module says; a text alone, turns alone or token ids alone will do.
    place
        Where the record stands, for messages.

    Raises
    ------
    InputError
        If it holds no prompt or several, or one that is no text, turns or token ids.
    """
    known = _mapping(record, place)
    named = {name: value for name, value in known.items() if not _is_missing(value)}
    held = [(kind, name) for kind, names in CONTENT.items() for name in names if name in named]
    present = [name for names in CONTENT.values() for name in names if name in known]
    if present and all(_is_empty(known[name]) for name in present):
        raise InputError(
            f"A prompt must not be empty; {place} has nothing under {' and '.join(present)}.",
            "Write the prompt there, or leave the record out.",
        )
    if len(held) != 1:
        wanted = ", ".join(name for names in CONTENT.values() for name in names)
        actual = " and ".join(name for _, name in held) or ", ".join(map(str, known)) or "nothing"
        raise InputError(
            f"A record must hold its prompt under one of {wanted}; {place} holds {actual}.",
            "Rename the column of the prompt to text, messages or token_ids.",
        )
    (kind, name), taken = held[0], {held[0][1], *IDENTIFIERS, _CATEGORY}
    kind, text = _content(kind, named[name], place)
    others = {str(n): value for n, value in named.items() if n not in taken}
    read = Entry(
        text=text,
        format=kind,
        name=_name(named, place),
        category=None if _CATEGORY not in named else str(named[_CATEGORY]).strip() or None,
        metadata=_json(others) if others else None,
    )
    _refuse_half_signs(read, place)
    return read


def _refuse_half_signs(prompt: Entry, place: str) -> None:
    """Refuse a text that no file can hold: JSON may name one half of a sign that has two."""
    for text in (prompt.text, prompt.category or "", prompt.metadata or ""):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                "A record must be text that UTF-8 can write; "
                f"{place} holds {text[error.start]!a}, which is half of a character.",
                "Write the character whole, or leave it out.",
            ) from error


def _mapping(record: Any, place: str) -> Mapping[str, Any]:
    if isinstance(record, Mapping):
        return record
    if isinstance(record, str):
        return {"text": record}
    if _is_list(record) and len(record):
        first = record[0]
        return {"messages" if isinstance(first, Mapping) else "token_ids": record}
    raise InputError(
        f"A prompt must be text, turns, token ids or a record of them; {place} is "
        f"{type(record).__name__}.",
        'Write one JSON object per prompt, such as {"id": "a", "text": "The sky is"}.',
    )


def _content(kind: str, value: Any, place: str) -> tuple[str, str]:
    """Return what a prompt is, and its text or JSON."""
    if kind == "text" and _is_list(value):
        kind = "turns"  # as sets of preferences name the turns before an answer
    if kind == "text":
        if not isinstance(value, str):
            raise InputError(
                f"A prompt's text must be text; {place} has {_short(value)}.",
                "Put it between quotes, or name it messages or token_ids if it is one of these.",
            )
        _refuse_nul(value, place)
        return kind, value
    items = _parse(value, place)
    if kind == "turns":
        turns = [_turn(item, place) for item in items]
        _refuse_nul("".join(turn["content"] for turn in turns), place)
        return kind, _json(turns)
    if not all(is_count(item) for item in items):
        raise InputError(
            f"Token ids must be whole numbers of 0 or more; {place} has {_short(value)}.",
            "Give the ids that the model's tokenizer returns.",
        )
    return kind, _json([int(n) for n in items])


def _refuse_nul(text: str, place: str) -> None:
    if NUL in text:
        raise InputError(
            f"A prompt's text must not hold NUL, as UTF-16 that was read as UTF-8 does; {place} "
            f"has it at character {text.index(NUL)}.",
            "Save the file as UTF-8; a token that stands for NUL is given by its id.",
        )


def _parse(value: Any, place: str) -> Sequence[Any]:
    """Return a list, from the JSON of one where the file has no lists."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not _is_list(value) or not len(value):
        raise InputError(
            f"Turns and token ids must be lists that are not empty; {place} has something else.",
            "In a CSV file write them as JSON.",
        )
    return list(value.tolist() if hasattr(value, "tolist") else value)


def _turn(turn: Any, place: str) -> dict[str, str]:
    known = {n: v for n, v in turn.items() if v is not None} if isinstance(turn, Mapping) else {}
    if known.keys() != _TURN or not all(isinstance(text, str) for text in known.values()):
        raise InputError(
            "A turn must have a role and a content that are text, and nothing besides; "
            f"{place} has {_short(turn)}.",
            'Write {"role": "user", "content": "..."}.',
        )
    return {"role": known["role"], "content": known["content"]}


def _name(named: Mapping[str, Any], place: str) -> str | None:
    given = [named[name] for name in IDENTIFIERS if name in named]
    if not given:
        return None
    name = str(given[0])
    if len(given) > 1 or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise InputError(
            f"The identifier of a prompt must be one, of 1 to {_LONGEST_NAME} printable "
            f"characters; {place} has {_short(' and '.join(map(str, given)))}.",
            "Correct it, or leave it out: prompts are then numbered.",
        )
    return name


def _is_list(value: Any) -> bool:
    """Return whether something is a sequence of items: list, tuple or array of one dimension."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", None) == 1


def _is_empty(value: Any) -> bool:
    """Return whether there is no value, or a text or a list without items."""
    return _is_missing(value) or (
        (_is_list(value) or isinstance(value, (str, Mapping))) and not len(value)
    )


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in _NOTHING:
        return True
    is_number = isinstance(value, float) or getattr(value, "ndim", None) == 0
    return is_number and bool(value != value)  # noqa: PLR0124  # NaN


def _json(content: object) -> str:
    is_sorted = isinstance(content, dict)
    return json.dumps(content, ensure_ascii=False, sort_keys=is_sorted, default=_plain)


def _plain(value: Any) -> Any:
    """Return the numbers of an array or a tensor as JSON has them, and anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
