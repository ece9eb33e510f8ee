"""Prompts as token ids: encoded, checked against the model, batched and padded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from collect.errors import InputError


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


def encode(prompts: pd.DataFrame, tokenizer: Any) -> list[Encoded]:
    """Return the prompts as the tokenizer encodes them by default, special tokens marked.

    Parameters
    ----------
    prompts
        Table ``prompt``: one row per ``prompt_id``, with its ``text``.
    tokenizer
        The checkpoint's tokenizer.
    """
    tokens = tokenizer(
        prompts["text"].tolist(), return_special_tokens_mask=True, return_attention_mask=False
    )
    columns = (prompts["prompt_id"], tokens["input_ids"], tokens["special_tokens_mask"])
    return [
        Encoded(prompt_id, tuple(token_ids), tuple(bool(flag) for flag in mask))
        for prompt_id, token_ids, mask in zip(*columns, strict=True)
    ]


def check_fits(prompts: Sequence[Encoded], n_context: int, n_vocabulary: int) -> None:
    """Check that the model can read every prompt.

    Parameters
    ----------
    prompts
        Prompts as token ids.
    n_context
        Longest input of the model [tokens].
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
        if len(prompt) > n_context:
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


def buckets(prompts: Sequence[Encoded], batch_size: int) -> Iterator[list[Encoded]]:
    """Yield the prompts in batches of about equal length, shortest first."""
    ordered = sorted(prompts, key=len)
    for start in range(0, len(ordered), batch_size):
        yield ordered[start : start + batch_size]


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
