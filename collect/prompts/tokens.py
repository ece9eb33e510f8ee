"""Prompts as token ids: encoded, checked against the model, and padded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import pandas as pd
import torch
from torch import Tensor

from collect.errors import InputError
from collect.prompts.beginning import PIECE, beginning, refuse_beyond_memory
from collect.prompts.rendering import Rendered, apply_template, user_turn

#: What may be asked about the tokens that a tokenizer adds of its own accord.
SPECIAL_TOKENS = ("default", "never", "always")

#: Token ids, whether each is special, and whether the text goes on.
_Marked: TypeAlias = "tuple[tuple[int, ...], tuple[bool, ...], bool]"


@dataclass(frozen=True, slots=True)
class Encoded:
    """One prompt as token ids, with the tokens the tokenizer added marked.

    Attributes
    ----------
    prompt_id
        As in table ``prompt``.
    token_ids, is_special
        One entry per token.
    is_beginning
        Whether the prompt has more tokens than these, see `beginning.beginning`.
    """

    prompt_id: str
    token_ids: tuple[int, ...]
    is_special: tuple[bool, ...]
    is_beginning: bool = False

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
    n_wanted: int | None = None,
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
    n_wanted
        How many first tokens of a text are wanted: of one that has far more only a beginning is
        made tokens. None for all of them.

    Raises
    ------
    InputError
        If a start token is asked for and the tokenizer has none, the template fails, turns or
        token ids cannot be rendered as asked, or all the tokens of a text do not fit into memory.
    """
    _check_renderable(prompts, rendering, special_tokens)
    encoded: dict[int, _Marked] = {}
    wanted = (tokenizer, n_wanted)
    for kind, rows in _number(prompts).groupby("format", sort=False):
        texts, ids = [str(text) for text in rows["text"]], [*rows["prompt_id"]]
        if kind == "tokens":
            batch = [_given_tokens(json.loads(text), tokenizer) for text in texts]
        elif rendering == "chat":
            turns = [json.loads(text) if kind == "turns" else user_turn(text) for text in texts]
            whole = apply_template(turns, tokenizer)
            parts = _wanted_tokens(
                [(id_, it.text) for id_, it in zip(ids, whole, strict=True)], *wanted
            )
            batch = [_encode_turns(*it, tokenizer) for it in zip(whole, parts, strict=True)]
        else:
            parts = _wanted_tokens([*zip(ids, texts, strict=True)], *wanted)
            batch = _encode_texts(texts, parts, tokenizer, special_tokens)
        encoded |= dict(zip(rows["place"], batch, strict=True))
    return [
        Encoded(prompt_id, *encoded[place]) for place, prompt_id in enumerate(prompts["prompt_id"])
    ]


def _number(prompts: pd.DataFrame) -> pd.DataFrame:
    """Return identifier, text, format and place of each prompt."""
    kinds = prompts["format"].fillna("text") if "format" in prompts.columns else "text"
    return prompts[["prompt_id", "text"]].assign(format=kinds, place=range(len(prompts)))


def _wanted_tokens(texts: list[tuple[str, str]], tokenizer: Any, n_wanted: int | None) -> list[str]:
    """Return what of some texts, each behind its identifier, is made tokens."""

    def tokens(text: str) -> Sequence[int]:
        return cast("Sequence[int]", tokenizer(text, add_special_tokens=False)["input_ids"])

    if n_wanted is None:
        refuse_beyond_memory(texts, tokens)
        return [text for _, text in texts]
    return [text if len(text) <= PIECE else beginning(text, n_wanted, tokens) for _, text in texts]


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


def _given_tokens(token_ids: list[int], tokenizer: Any) -> _Marked:
    """Return token ids as they came, those marked that the tokenizer holds for special."""
    special = set() if tokenizer is None else set(tokenizer.all_special_ids)
    return tuple(token_ids), tuple(token_id in special for token_id in token_ids), False


def _encode_texts(
    texts: list[str], parts: list[str], tokenizer: Any, special_tokens: str
) -> list[_Marked]:
    """Return the tokens of a part of each text."""
    tokens = tokenizer(
        parts,
        add_special_tokens=special_tokens != "never",
        return_special_tokens_mask=True,
        return_attention_mask=False,
    )
    marks = (tokens["input_ids"], tokens["special_tokens_mask"])
    encoded = [
        (tuple(token_ids), tuple(bool(flag) for flag in mask), len(part) < len(text))
        for token_ids, mask, part, text in zip(*marks, parts, texts, strict=True)
    ]
    if special_tokens != "always":
        return encoded
    return [_prepend_start(of_text, tokenizer) for of_text in encoded]


def _prepend_start(of_text: _Marked, tokenizer: Any) -> _Marked:
    """Return the tokens with the start token in front, unless it stands there already."""
    start = tokenizer.bos_token_id
    if start is None:
        raise InputError(
            "A start token must be one of the tokenizer's; this tokenizer has none.",
            "Use --special-tokens default.",
        )
    token_ids, is_special, goes_on = of_text
    if token_ids[:1] == (start,):
        return of_text
    return (start, *token_ids), (True, *is_special), goes_on


def _encode_turns(rendered: Rendered, part: str, tokenizer: Any) -> _Marked:
    tokens = tokenizer(
        part,
        add_special_tokens=False,
        return_offsets_mapping=tokenizer.is_fast,
        return_attention_mask=False,
    )
    token_ids, goes_on = tuple(tokens["input_ids"]), len(part) < len(rendered.text)
    if tokenizer.is_fast:
        is_special = tuple(not rendered.holds(*place) for place in tokens["offset_mapping"])
        return token_ids, is_special, goes_on
    special = set(tokenizer.all_special_ids)
    return token_ids, tuple(token_id in special for token_id in token_ids), goes_on


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
