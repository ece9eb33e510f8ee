"""Beginnings of long texts whose first tokens are those of the whole.

To make tokens takes 200 bytes and 2 microseconds for each, of which a model reads as many as its
context has. The end of a text changes only tokens near it: those of its last word (byte pairs,
word pieces), or of a stretch that two segmentations share (unigrams).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from collect.errors import InputError
from collect.process.memory import addressable_memory, available_memory

#: Characters of a text that are made tokens at once, whatever is wanted.
PIECE = 65_536

#: Characters for each token that is wanted at first, and how much more where they are too few.
_PER_TOKEN, _MORE = 8, 4

#: What making a token takes at its peak [bytes].
_BYTES = 200


def beginning(text: str, n_tokens: int, tokens: Callable[[str], Sequence[int]]) -> str:
    """Return a beginning of a text that has the first tokens of the whole, or the whole.

    A beginning has twice the tokens that are wanted, and they are the same when it is twice as
    long: what its end changes lies behind them.

    Parameters
    ----------
    text
        The text.
    n_tokens
        How many first tokens are wanted.
    tokens
        Returns the tokens of a text.
    """
    size = max(PIECE, _PER_TOKEN * n_tokens)
    while 2 * size < len(text):
        found, checked = tokens(text[:size]), tokens(text[: 2 * size])
        if len(found) > 2 * n_tokens and found[:n_tokens] == checked[:n_tokens]:
            return text[:size]
        size *= _MORE
    return text


def refuse_beyond_memory(
    texts: Sequence[tuple[str, str]], tokens: Callable[[str], Sequence[int]]
) -> None:
    """Refuse texts whose tokens would not fit into memory, by the density of their beginnings.

    Parameters
    ----------
    texts
        Identifier and text of each prompt.
    tokens
        Returns the tokens of a text.

    Raises
    ------
    InputError
        If making the tokens of one takes more memory than there is.
    """
    left, free = addressable_memory(), available_memory()
    free = free if left is None else min(left, free)
    for prompt_id, text in texts:
        if len(text) * _BYTES <= free:  # a text has hardly more tokens than characters
            continue
        n_tokens = len(tokens(text[:PIECE])) * len(text) // PIECE
        if n_tokens * _BYTES > free:
            raise InputError(
                f"The tokens of a prompt must fit into memory; {prompt_id} has about {n_tokens} "
                f"of them, which take {n_tokens * _BYTES / 1e9:.3g} GB, and {free / 1e9:.3g} GB "
                "are free.",
                "Use --too-long truncate, or cut the text into several prompts.",
            )
