"""Prompts as token ids: encoded, checked against the model, batched and padded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd
import torch
from torch import Tensor

from collect.errors import InputError
from collect.prompts.rendering import Turn, turns

#: What may be asked about the tokens that a tokenizer adds of its own accord.
SPECIAL_TOKENS = ("default", "never", "always")

#: Token ids, and whether each is special.
_Marked: TypeAlias = "tuple[tuple[int, ...], tuple[bool, ...]]"


@dataclass(frozen=True, slots=True)
class Encoded:
    """One prompt as token ids, with the tokens the tokenizer added marked.

    Attributes
    ----------
    prompt_id
        As in table ``prompt``.
    token_ids, is_special
        One entry per token.
    """

    prompt_id: str
    token_ids: tuple[int, ...]
    is_special: tuple[bool, ...]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.token_ids)


def encode(
    prompts: pd.DataFrame,
    tokenizer: Any,
    *,
    rendering: str = "plain",
    special_tokens: str = "default",
) -> list[Encoded]:
    """Return the prompts as token ids, with the tokens that are not the prompt's own marked.

    Parameters
    ----------
    prompts
        Table ``prompt``: one row per ``prompt_id``, with its ``text``.
    tokenizer
        The checkpoint's tokenizer.
    rendering
        ``plain``, or ``chat`` for a user's turn in the tokenizer's chat template, the tokens
        of the template marked as special.
    special_tokens
        ``default`` as the tokenizer does, ``never``, or ``always`` for a start token in front
        of every prompt; in chat the template decides.

    Raises
    ------
    InputError
        If a start token is asked for and the tokenizer has none, or the template fails.
    """
    if rendering == "chat":
        rendered = turns(prompts["text"].tolist(), tokenizer)
        encoded = [_encoded_turn(turn, tokenizer) for turn in rendered]
    else:
        encoded = _encoded_texts(prompts["text"].tolist(), tokenizer, special_tokens)
    return [
        Encoded(prompt_id, token_ids, is_special)
        for prompt_id, (token_ids, is_special) in zip(prompts["prompt_id"], encoded, strict=True)
    ]


def _encoded_texts(texts: list[str], tokenizer: Any, special_tokens: str) -> list[_Marked]:
    tokens = tokenizer(
        texts,
        add_special_tokens=special_tokens != "never",
        return_special_tokens_mask=True,
        return_attention_mask=False,
    )
    encoded = [
        (tuple(token_ids), tuple(bool(flag) for flag in mask))
        for token_ids, mask in zip(tokens["input_ids"], tokens["special_tokens_mask"], strict=True)
    ]
    if special_tokens != "always":
        return encoded
    return [_started(*of_text, tokenizer) for of_text in encoded]


def _started(token_ids: tuple[int, ...], is_special: tuple[bool, ...], tokenizer: Any) -> _Marked:
    """Return the tokens with the start token in front, unless it stands there already."""
    start = tokenizer.bos_token_id
    if start is None:
        raise InputError(
            "A start token must be one of the tokenizer's; this tokenizer has none.",
            "Use --special-tokens default.",
        )
    if token_ids[:1] == (start,):
        return token_ids, is_special
    return (start, *token_ids), (True, *is_special)


def _encoded_turn(rendered: Turn, tokenizer: Any) -> _Marked:
    tokens = tokenizer(
        rendered.text,
        add_special_tokens=False,
        return_offsets_mapping=tokenizer.is_fast,
        return_attention_mask=False,
    )
    token_ids = tuple(tokens["input_ids"])
    if tokenizer.is_fast:
        return token_ids, tuple(not rendered.holds(*place) for place in tokens["offset_mapping"])
    special = set(tokenizer.all_special_ids)
    return token_ids, tuple(token_id in special for token_id in token_ids)


def check_fits(prompts: Sequence[Encoded], n_context: int | None, n_vocabulary: int) -> None:
    """Check that the model can read every prompt.

    Parameters
    ----------
    prompts
        Prompts as token ids.
    n_context
        Longest input of the model [tokens]; None where it has no limit.
    n_vocabulary
        Rows of the token embedding.

    Raises
    ------
    InputError
        If a prompt has no token, more than ``n_context``, or a token the model lacks.
    """
    for prompt in prompts:
        if not prompt.token_ids:
            raise InputError(f"A prompt must have at least one token; {prompt.prompt_id} has none.")
        if n_context is not None and len(prompt) > n_context:
            raise InputError(
                f"A prompt must fit the model's context of {n_context} tokens; "
                f"{prompt.prompt_id} has {len(prompt)}.",
                "Shorten it, or leave the model out.",
            )
        if max(prompt.token_ids) >= n_vocabulary:
            raise InputError(
                f"Every token must be one of the model's {n_vocabulary}; {prompt.prompt_id} holds "
                f"token {max(prompt.token_ids)}.",
                "The tokenizer belongs to another model.",
            )


#: Tokens that cost about as much as a pass does by itself, found with GPT-2 on a processor: all
#: weights go through its cache once, however few tokens there are.
_TOKENS_OF_A_PASS = 64


def buckets(prompts: Sequence[Encoded], batch_size: int) -> list[tuple[Encoded, ...]]:
    """Return the prompts in batches of about equal length, shortest first.

    Of all ways to cut the prompts, sorted by length, into batches of at most ``batch_size``, the
    one that is cheapest to run: tokens with their padding, and 64 more for each batch.
    """
    ordered = sorted(prompts, key=len)
    cheapest = [(0, 0)]
    for stop, longest in enumerate(ordered, start=1):
        cheapest.append(
            min(
                (cheapest[start][0] + (stop - start) * len(longest) + _TOKENS_OF_A_PASS, start)
                for start in range(max(0, stop - batch_size), stop)
            )
        )
    return _cut(ordered, cheapest)


def _cut(
    ordered: Sequence[Encoded], cheapest: Sequence[tuple[int, int]]
) -> list[tuple[Encoded, ...]]:
    """Return the batches, from the cheapest start of the batch that ends at each place."""
    batches, stop = [], len(ordered)
    while stop:
        start = cheapest[stop][1]
        batches.append(tuple(ordered[start:stop]))
        stop = start
    return batches[::-1]


def right_padded(prompts: Sequence[Encoded], device: torch.device) -> dict[str, Tensor]:
    """Return ``input_ids``, ``attention_mask`` and ``position_ids``, each (n_prompts, n_tokens).

    Padding stands on the right, so positions count from 0 in every row; its token id is
    masked out.
    """
    n_tokens = max(len(prompt) for prompt in prompts)
    token_ids = [[*prompt.token_ids, *[0] * (n_tokens - len(prompt))] for prompt in prompts]
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
    positions = torch.arange(n_tokens, device=device).expand(len(prompts), -1)
    return {
        "input_ids": torch.tensor(token_ids, device=device),
        "attention_mask": (positions < lengths[:, None]).long(),
        "position_ids": positions,
    }
