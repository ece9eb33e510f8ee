"""How a model knows positions: by a table that ends, or by numbers that it computes."""

from __future__ import annotations

from typing import Any

import pandas as pd
from torch import nn

from collect.errors import InputError
from collect.model.checkpoint.decoder import Decoder
from collect.prompts.fitting import Fitted, fitted
from collect.prompts.tokens import encode

#: Rows that a table may have beyond the context: OPT's has two in front.
_MORE = 8


def position_table(decoder: Decoder) -> str | None:
    """Return the name of the table that has a row per position; None where positions are computed.

    A model with such a table can read nothing beyond it; rotary positions and ALiBi go on.

    Parameters
    ----------
    decoder
        A model, with its weights or without.
    """
    n_context = decoder.adapter.n_context(decoder.config)
    if n_context is None:
        return None
    if hasattr(decoder.body, "build_mpt_alibi_tensor"):
        return "build_mpt_alibi_tensor"  # made for the context alone, at every pass
    sizes = range(n_context, n_context + _MORE + 1)
    for path, module in decoder.model.named_modules():
        is_another = isinstance(module, nn.Embedding) and module is not decoder.embedding
        if is_another and module.num_embeddings in sizes:
            return str(path)
    for path, buffer in decoder.model.named_buffers():
        if buffer.ndim > 1 and any(size in sizes for size in buffer.shape):
            return str(path)
    return None


def refuse_beyond(decoder: Decoder, longest: int) -> None:
    """Refuse a prompt beyond the context of a model that has a table of positions.

    Parameters
    ----------
    decoder
        A model, with its weights or without.
    longest
        Length of the longest prompt [tokens].

    Raises
    ------
    InputError
        If the prompt is longer than the context and `position_table` names a table.
    """
    n_context = decoder.adapter.n_context(decoder.config)
    table = position_table(decoder) if n_context is not None and longest > n_context else None
    if table:
        raise InputError(
            f"The model cannot read beyond its context of {n_context} tokens: its positions come "
            f"from a table that ends there, {table}.",
            "Use --too-long skip or --too-long truncate.",
        )


def readable(
    decoder: Decoder, prompts: pd.DataFrame, tokenizer: Any, policy: str, **how: Any
) -> Fitted:
    """Return prompts as a model can read them; see `fitting.fitted`.

    Of a text that is far too long only a beginning is made tokens, unless it is to be read whole.

    Parameters
    ----------
    decoder
        A model, with its weights or without.
    prompts, tokenizer, **how
        As for `tokens.encode`.
    policy
        What to do with prompts beyond the context.

    Raises
    ------
    InputError
        As `encode` and `fitted`, and if prompts beyond the context are to be read where a table
        ends there.
    """
    n_context = decoder.adapter.n_context(decoder.model.config)
    encoded = encode(prompts, tokenizer, n_wanted=n_context, **how)
    if policy == "extend":
        refuse_beyond(decoder, max(map(len, encoded), default=0))
        if any(prompt.is_beginning for prompt in encoded):
            encoded = encode(prompts, tokenizer, **how)
    embedding: Any = decoder.embedding
    n_vocabulary = int(embedding.weight.shape[0])
    return fitted(encoded, n_context, n_vocabulary, policy=policy)


def forget_lengths(body: nn.Module) -> None:
    """Let dynamic rotary positions start anew, which else go by the longest prompt of before."""
    for module in body.modules():
        state: dict[str, Any] = module.__dict__
        for name in [name for name in state if name.endswith("max_seq_len_cached")]:
            prefix = name.removesuffix("max_seq_len_cached")
            now = getattr(module, f"{prefix}inv_freq", None)
            original = getattr(module, f"{prefix}original_inv_freq", None)
            if now is not None and original is not None:
                state[name] = module.original_max_seq_len
                module.register_buffer(
                    f"{prefix}inv_freq", original.clone().to(now.device), persistent=False
                )
