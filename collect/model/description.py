"""What is said of a model: its row of table ``model``, and what it cannot give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from collect.adapters.capability import HEAD, HEADS, MAPS, PARTS
from collect.measures.register import OF_VECTORS
from collect.model.checkpoint.checkpoint import Checkpoint
from collect.model.checkpoint.decoder import Decoder


@dataclass(frozen=True, slots=True)
class Missing:
    """A quantity that a model cannot give, and why; as table ``not_measured``."""

    table: str
    quantity: str
    reason: str


def missing(decoder: Decoder) -> list[Missing]:
    """Return what a model cannot give of the tables that it fills, with reasons."""
    return [Missing(*entry) for entry in (*_stream_gaps(decoder), *_model_gaps(decoder))]


def undefined(decoder: Decoder, tables: Mapping[str, Sequence[str]]) -> list[Missing]:
    """Return the tables that a model cannot fill at all, with reasons.

    Parameters
    ----------
    decoder
        The model.
    tables
        By quantity that was asked for: the tables it fills.
    """
    gap = decoder.adapter.gap
    gaps = {table: gap(quantity) or gap(table) for quantity in tables for table in tables[quantity]}
    return [
        Missing(table, "every row", _sentence(reason))
        for table, reason in gaps.items()
        if reason is not None
    ]


def rows(gaps: Sequence[Missing]) -> pd.DataFrame:
    """Return rows of ``not_measured``, without ``run_id`` and ``model_id``."""
    return pd.DataFrame(
        {"measured_table": gap.table, "quantity": gap.quantity, "reason": gap.reason}
        for gap in gaps
    )


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


def _stream_gaps(decoder: Decoder) -> Iterator[tuple[str, str, str]]:
    adapter = decoder.adapter
    if not adapter.has(PARTS):
        reason = _sentence(adapter.lacks[PARTS])
        yield "residual_norm", "site block_mid", reason
        yield "residual_update", "part attention", reason
        yield "residual_update", "part ffn", reason
    elif adapter.is_parallel:
        reason = "Attention and feed-forward read the same stream, so there is none between them."
        yield "residual_norm", "site block_mid", reason
    if decoder.final_norm is None:
        reason = "The model has no norm after its last block."
        for table in ("residual_norm", "token_geometry", "prompt_geometry", *OF_VECTORS):
            yield table, "site final_norm", reason


def _model_gaps(decoder: Decoder) -> Iterator[tuple[str, str, str]]:
    adapter = decoder.adapter
    if adapter.has(HEADS) and adapter.attention_norm is None:
        reason = "Attention reads the stream without a norm before it, so there is no gain."
        yield "weight_norm", "is_folded", reason
    if not adapter.has(MAPS):
        yield "model", "n_heads", _sentence(adapter.lacks[MAPS])
    if not adapter.has(HEADS):
        for column in ("n_kv_heads", "d_head"):
            yield "model", column, _sentence(adapter.lacks[HEADS])
    if not adapter.has(PARTS):
        yield "model", "is_parallel", _sentence(adapter.lacks[PARTS])
    if not adapter.has(HEAD):
        yield "model", "is_tied", _sentence(adapter.lacks[HEAD])
    if adapter.n_context(decoder.config) is None:
        yield "model", "n_context", "The configuration names no longest input."


def model_row(checkpoint: Checkpoint, placed: Decoder) -> pd.DataFrame:
    """Return the row of table ``model``: labels of the checkpoint, shape of the model."""
    config, adapter, heads = placed.config, placed.adapter, placed.heads
    embedding: Any = placed.embedding
    labels = checkpoint.labels
    row = {
        "model_id": checkpoint.model_id,
        "revision": checkpoint.revision,
        "lab": labels.lab,
        "suite": labels.suite,
        "family": placed.model.config.model_type,
        "base_model_id": labels.base_model_id,
        "year": labels.year,
        "n_layers": len(placed.blocks),
        "d_model": config.hidden_size,
        "n_heads": heads.n_heads or None,
        "n_kv_heads": heads.n_kv_heads or None,
        "d_head": heads.d_head or None,
        "d_ffn": _d_ffn(placed),
        "n_vocabulary": embedding.weight.shape[0],
        "n_context": adapter.n_context(config),
        "norm_kind": adapter.norm_kind,
        "norm_position": adapter.norm_position,
        "positional_scheme": adapter.positional_scheme(config),
        "is_parallel": adapter.is_parallel,
        "is_tied": _is_tied(placed),
        "n_parameters": _n_parameters(placed),
        "n_parameters_source": "counted",
        "training_step": checkpoint.training_step,
        "training_tokens": checkpoint.training_tokens,
        **checkpoint.of_model,
    }
    return pd.DataFrame([row])


def _is_tied(placed: Decoder) -> bool | None:
    """Return whether both embeddings are one matrix; None where there is no second."""
    if not placed.adapter.has(HEAD):
        return None
    head: Any = placed.head
    embedding: Any = placed.embedding
    return head.weight is embedding.weight


def _d_ffn(placed: Decoder) -> int | None:
    """Return the inner width of a feed-forward layer, of one expert where any block has experts.

    A configuration may name the width of experts that no block has.
    """
    config = placed.config
    width, of_experts = placed.adapter.d_ffn(config), getattr(config, "moe_intermediate_size", None)
    if of_experts is None or width != of_experts:
        return width
    names = (name for block in placed.blocks for name, _ in block.named_parameters())
    return width if any("expert" in name for name in names) else config.intermediate_size


def _n_parameters(placed: Decoder) -> int:
    """Return the number of parameters; of a language model within another, its own and its head."""
    if placed.config is placed.model.config:
        return sum(parameter.numel() for parameter in placed.model.parameters())
    parts = [placed.body, *([placed.head] if placed.adapter.has(HEAD) else [])]
    parameters = [parameter for part in parts for parameter in part.parameters()]
    return sum(parameter.numel() for parameter in {id(each): each for each in parameters}.values())
