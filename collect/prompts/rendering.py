"""Prompts as a model is given them: as they stand, or as turns of a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from collect.errors import InputError
from collect.prompts import template
from collect.prompts.template import Conversation

RENDERINGS = ("plain", "chat")

#: Stands for what is said, while the template's own text is told apart from it.
_PLACEHOLDER = "thermoscope prompt {}"

#: A turn that is not the assistant's is followed by the beginning of an answer.
USER = "user"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation, or a prompt as its only turn, inside a chat template.

    Attributes
    ----------
    text
        The whole as the model is given it.
    spans
        Where the content of each turn begins and ends in it [characters].
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    def holds(self, start: int, end: int) -> bool:
        """Return whether some characters, from start to before end, belong to what is said."""
        return any(start < last and end > first for first, last in self.spans)


def check_template(tokenizer: Any, model_id: str) -> None:
    """Check that a tokenizer has a chat template.

    Raises
    ------
    InputError
        If it has none.
    """
    if not tokenizer.chat_template:
        raise InputError(
            f"A chat template must come with the tokenizer; that of {model_id} has none.",
            "Leave --chat-template out: the model is used without one.",
        )


def user_turn(text: str) -> Conversation:
    """Return a prompt as the one turn of a user."""
    return [{"role": USER, "content": text}]


def apply_template(conversations: Sequence[Conversation], tokenizer: Any) -> list[Rendered]:
    """Return conversations in the tokenizer's chat template; see `template.rendered`.

    Raises
    ------
    InputError
        If the template fails or does not end, or does not pass what is said on as it stands (white
        space at either end aside).
    """
    frames = [
        [{"role": t["role"], "content": _PLACEHOLDER.format(n)} for n, t in enumerate(turns)]
        for turns in conversations
    ]
    shapes = {json.dumps(frame): frame for frame in frames}
    rendered = template.rendered([*shapes.values(), *conversations], tokenizer)
    framed = dict(zip(shapes, rendered, strict=False))
    return [
        _delimit([turn["content"] for turn in turns], text, framed[json.dumps(frame)])
        for turns, text, frame in zip(conversations, rendered[len(shapes) :], frames, strict=True)
    ]


def _delimit(contents: Sequence[str], text: str, frame: str) -> Rendered:
    """Return where contents stand in a text, given the template around placeholders for them."""
    pieces = _pieces(frame, len(contents))
    spans: list[tuple[int, int]] = []
    place = 0
    for piece, content in zip(pieces, contents, strict=False):
        start = place + len(piece)
        is_framed = text.startswith(piece, place)
        same = [variant for variant in _variants(content) if text.startswith(variant, start)]
        if not is_framed or not same:
            raise _changes(content)
        place = start + len(same[0])
        spans.append((start, place))
    if not pieces or text[place:] != pieces[-1]:
        raise _changes(contents[-1])
    return Rendered(text, tuple(spans))


def _pieces(frame: str, n_turns: int) -> list[str]:
    """Return the template's own text around some placeholders; nothing if one is not there."""
    pieces, rest = [], frame
    for number in range(n_turns):
        before, mark, rest = rest.partition(_PLACEHOLDER.format(number))
        if not mark:
            return []
        pieces.append(before)
    return [*pieces, rest]


def _variants(content: str) -> list[str]:
    """Return a text with white space at both ends, at one, and at none, the longest first."""
    variants = {content, content.strip(), content.lstrip(), content.rstrip()}
    return sorted(variants, key=len, reverse=True)


def _changes(content: str) -> InputError:
    return InputError(
        f"A chat template must pass a prompt on as it stands; it changes {content[:40]!r}.",
        "Leave --chat-template out, or leave the prompt out.",
    )
