"""Prompts as a model is given them: as they stand, or as a user's turn of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from collect.errors import InputError
from collect.prompts import template

RENDERINGS = ("plain", "chat")

#: Stands for the prompt while the template's own text is told apart from it.
_PLACEHOLDER = "thermoscope prompt"


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt inside a chat template.

    Attributes
    ----------
    text
        The whole conversation as the model is given it.
    start, end
        Where the prompt itself begins and ends in it [characters].
    """

    text: str
    start: int
    end: int

    def holds(self, start: int, end: int) -> bool:
        """Return whether some characters, from start to before end, belong to the prompt."""
        return start < self.end and end > self.start


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


def turn(text: str, tokenizer: Any) -> Turn:
    """Return one prompt as a user's turn; see `turns`."""
    return turns([text], tokenizer)[0]


def turns(texts: Sequence[str], tokenizer: Any) -> list[Turn]:
    """Return prompts as users' turns in the tokenizer's chat template, the answer to begin.

    Raises
    ------
    InputError
        If the template fails or does not end, or does not pass a prompt on as it stands (white
        space at either end aside).
    """
    frame, *rendered = template.rendered([_PLACEHOLDER, *texts], tokenizer)
    return [_told_apart(text, whole, frame) for text, whole in zip(texts, rendered, strict=True)]


def _told_apart(text: str, rendered: str, frame: str) -> Turn:
    before, found, after = frame.partition(_PLACEHOLDER)
    end = len(rendered) - len(after)
    is_whole = rendered.startswith(before) and rendered.endswith(after)
    if not (found and is_whole and rendered[len(before) : end].strip() == text.strip()):
        raise InputError(
            f"A chat template must pass a prompt on as it stands; it changes {text[:40]!r}.",
            "Leave --chat-template out, or leave the prompt out.",
        )
    return Turn(rendered, len(before), end)
