"""Prompts as token ids: encoded, checked against the model, and padded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd
import torch
from torch import Tensor

from collect.errors import InputError
from collect.prompts.rendering import Rendered, as_turn, in_template

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


def needs_tokenizer(prompts: pd.DataFrame) -> bool:
    """Return whether a prompt of table ``prompt`` is anything else than token ids."""
    return "format" not in prompts.columns or bool((prompts["format"] != "tokens").any())


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
        Table ``prompt``: one row per ``prompt_id``, with its ``text`` and, unless all are texts,
        its ``format``. Token ids are taken as they are.
    tokenizer
        The checkpoint's tokenizer; None will do where all prompts are token ids, of which none is
        then held for special.
    rendering
        ``plain``, or ``chat`` for the tokenizer's chat template, the tokens of the template
        marked as special; a text is then a user's turn.
    special_tokens
        ``default`` as the tokenizer does, ``never``, or ``always`` for a start token in front
        of every prompt; in chat the template decides.

    Raises
    ------
    InputError
        If a start token is asked for and the tokenizer has none, the template fails, or turns or
        token ids cannot be rendered as asked.
    """
    _check_renderable(prompts, rendering, special_tokens)
    encoded: dict[int, _Marked] = {}
    for kind, rows in _numbered(prompts).groupby("format", sort=False):
        texts = [str(text) for text in rows["text"]]
        if kind == "tokens":
            batch = [_given(json.loads(text), tokenizer) for text in texts]
        elif rendering == "chat":
            turns = [json.loads(text) if kind == "turns" else as_turn(text) for text in texts]
            batch = [_encoded_turns(whole, tokenizer) for whole in in_template(turns, tokenizer)]
        else:
            batch = _encoded_texts(texts, tokenizer, special_tokens)
        encoded |= dict(zip(rows["place"], batch, strict=True))
    return [
        Encoded(prompt_id, *encoded[place]) for place, prompt_id in enumerate(prompts["prompt_id"])
    ]


def _numbered(prompts: pd.DataFrame) -> pd.DataFrame:
    """Return text, format and place of each prompt."""
    kinds = prompts["format"].fillna("text") if "format" in prompts.columns else "text"
    return pd.DataFrame({"text": prompts["text"], "format": kinds}).assign(
        place=range(len(prompts))
    )


def _check_renderable(prompts: pd.DataFrame, rendering: str, special_tokens: str) -> None:
    """Refuse turns without a template, and token ids with one or with a policy of its own."""
    if "format" not in prompts.columns:
        return
    turns = prompts["prompt_id"][prompts["format"] == "turns"]
    if rendering != "chat" and len(turns):
        raise InputError(
            f"Turns of a conversation must be put into a chat template; {turns.iloc[0]} has turns.",
            "Add --chat-template.",
        )
    tokens = prompts["prompt_id"][prompts["format"] == "tokens"]
    if len(tokens) and (rendering == "chat" or special_tokens != "default"):
        raise InputError(
            f"Token ids must be taken as they are; {tokens.iloc[0]} has token ids, and a chat "
            "template or special tokens are asked for.",
            "Leave --chat-template and --special-tokens out, or give text.",
        )


def _given(token_ids: list[int], tokenizer: Any) -> _Marked:
    """Return token ids as they came, those marked that the tokenizer holds for special."""
    special = set() if tokenizer is None else set(tokenizer.all_special_ids)
    return tuple(token_ids), tuple(token_id in special for token_id in token_ids)


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


def _encoded_turns(rendered: Rendered, tokenizer: Any) -> _Marked:
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
