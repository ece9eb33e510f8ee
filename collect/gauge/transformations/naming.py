"""The parts of a block found by the names that model families gave them.

The adapter says where attention lies; the names of feed-forward parts are listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from collect.adapters import Adapter, Heads
from collect.gauge.transformations.block import Block, Matrix, Neurons, Norm, once
from collect.model.checkpoint.decoder import Decoder

#: Feed-forward parts as (what reads the stream, what writes to it); gates come before what they
#: multiply. The first whose modules a block has is its own.
_LAYERS = (
    (("mlp.c_fc",), "mlp.c_proj"),
    (("mlp.fc_in",), "mlp.fc_out"),
    (("mlp.dense_h_to_4h",), "mlp.dense_4h_to_h"),
    (("mlp.fc1",), "mlp.fc2"),
    (("fc1",), "fc2"),
    (("ffn.up_proj",), "ffn.down_proj"),
    (("ffn.0",), "ffn.2"),
    (("mlp.gate_proj", "mlp.up_proj"), "mlp.down_proj"),
    (("mlp.up_proj",), "mlp.down_proj"),
    (("mlp.gate_up_proj",), "mlp.down_proj"),
    (("mlp.experts.gate_up_proj",), "mlp.experts.down_proj"),
)
#: A second feed-forward part, beside the experts.
_SHARED = (
    ("mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj"),
    "mlp.shared_expert.down_proj",
)

#: What else reads the stream in feed-forward: routers and gates of experts.
_ROUTERS = ("mlp.gate", "mlp.router", "mlp.shared_expert_gate")

#: Norms in front of feed-forward where attention works in parallel; without, both share one.
_PARALLEL_NORMS = ("post_attention_layernorm", "ln_mlp")

_QUERY_NORMS = ("q_norm.", "q_layernorm.", "query_layernorm.")
_KEY_NORMS = ("k_norm.", "k_layernorm.", "key_layernorm.")


def block(decoder: Decoder, parameters: Parameters, layer: int) -> Block:
    """Return the parts of a block; what they take of the parameters counts as claimed."""
    adapter = decoder.adapter
    place = f"{adapter.blocks}.{layer}."
    projections = tuple(
        parameters.matrix(place + name, is_transposed=adapter.is_conv1d)
        for name in adapter.projections
    )
    three: Any = projections if len(projections) == 3 else projections * 3
    output: Any = parameters.matrix(place + adapter.output, is_transposed=adapter.is_conv1d)
    neurons = tuple(_neurons(parameters, place, adapter))
    routers = tuple(m for name in _ROUTERS if (m := parameters.matrix(place + name)) is not None)
    attention_readers = once(three)
    ffn_readers = (*(matrix for part in neurons for matrix in part.reads), *routers)
    inner = _inner_norms(decoder, parameters, place, attention_readers, ffn_readers)
    return Block(
        projections=three,
        rows=_rows(adapter, decoder.heads, three),
        output=output,
        query_norms=_query_key_norms(parameters, place + adapter.attention, _QUERY_NORMS),
        key_norms=_query_key_norms(parameters, place + adapter.attention, _KEY_NORMS),
        attention_norm=inner[0],
        ffn_norm=inner[1],
        outer_norms=_outer_norms(parameters, adapter, place),
        neurons=neurons,
        routers=routers,
    )


def _inner_norms(
    decoder: Decoder,
    parameters: Parameters,
    block: str,
    attention: tuple[Matrix, ...],
    ffn: tuple[Matrix, ...],
) -> tuple[Norm | None, Norm | None]:
    """Return the norms in front of attention and of feed-forward."""
    adapter, offset = decoder.adapter, decoder.adapter.gain_offset
    if adapter.attention_norm is None:
        return None, None
    first = block + adapter.attention_norm
    names = _PARALLEL_NORMS if adapter.mid is None else (adapter.mid,)
    second = next(
        (block + n for n in names if module_at(decoder.model, block + n) is not None), None
    )
    if second is None:
        both = parameters.norm(first, offset, (*attention, *ffn))
        return both, both
    return parameters.norm(first, offset, attention), parameters.norm(second, offset, ffn)


def _outer_norms(parameters: Parameters, adapter: Adapter, block: str) -> tuple[Norm, ...]:
    """Return the norms on what sub-layers return, or on the sums, that are added to nothing."""
    if adapter.norm_position in ("sandwich", "output"):
        names: tuple[str, ...] = (adapter.attention_update, adapter.ffn_update)
    else:
        names = adapter.norms_after
    norms = (parameters.norm(block + name, adapter.gain_offset, ()) for name in names)
    return tuple(norm for norm in norms if norm is not None)


def _neurons(parameters: Parameters, block: str, adapter: Adapter) -> Iterator[Neurons]:
    for reads, writes in (
        next(_known(parameters, block, _LAYERS)),
        *_known(parameters, block, (_SHARED,)),
    ):
        is_paired = adapter.has_sinks  # GPT-OSS alone keeps experts as (in, out) with rows in turn
        is_transposed = is_paired or (adapter.is_conv1d and reads[0].startswith("mlp.c_"))
        matrices: Any = [
            parameters.matrix(block + name, is_transposed=is_transposed) for name in reads
        ]
        written: Any = parameters.matrix(block + writes, is_transposed=is_transposed)
        is_fused = reads[0].endswith("gate_up_proj")
        yield Neurons(tuple(matrices), written, is_fused or len(reads) == 2, is_fused, is_paired)


def _known(parameters: Parameters, block: str, layers: Any) -> Iterator[Any]:
    for reads, writes in layers:
        paths = [block + name for name in (*reads, writes)]
        if all(parameters.has(path) or parameters.has(f"{path}.weight") for path in paths):
            yield reads, writes


def _query_key_norms(
    parameters: Parameters, attention: str, names: tuple[str, ...]
) -> tuple[Tensor, ...]:
    """Return the parameters of the norms between projections and scores."""
    paths = [
        n for n in parameters.known if any(n.startswith(f"{attention}.{name}") for name in names)
    ]
    return tuple(parameters.take(path) for path in paths)  # type: ignore[misc]


def _rows(
    adapter: Adapter, heads: Heads, projections: tuple[Matrix, Matrix, Matrix]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of every head in the matrices of Q, K and V."""
    if adapter.layout is not None:
        return adapter.layout(torch.arange(projections[0].entries.shape[0]), heads)
    query, key, value = (
        torch.arange(matrix.entries.shape[0]).view(-1, heads.d_head) for matrix in projections
    )
    return query, key, value


#: Parameters that no transformation touches and that none of them need know.
_UNTOUCHED = (".sinks", ".act_fn.alpha_p", ".act_fn.alpha_n")


class Parameters:
    """The parameters of a model by name, which remembers what was asked for."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.known = {name: parameter.data for name, parameter in model.named_parameters()}
        self.claimed: set[str] = set()

    def has(self, name: str) -> bool:
        """Return whether the model has a parameter of that name."""
        return name in self.known

    def take(self, name: str) -> Tensor | None:
        """Return a parameter, None where there is none, and count it as claimed."""
        self.claimed.add(name)
        return self.known.get(name)

    def matrix(self, path: str, *, is_transposed: bool = False) -> Matrix | None:
        """Return the matrix of a module, or of a parameter with its ``_bias`` beside it."""
        if self.has(f"{path}.weight"):
            weight = self.take(f"{path}.weight")
            return Matrix(path, weight, self.take(f"{path}.bias"), is_transposed)  # type: ignore[arg-type]
        if self.has(path):
            weight = self.take(path)
            return Matrix(path, weight, self.take(f"{path}_bias"), is_transposed)  # type: ignore[arg-type]
        return None

    def norm(self, path: str | None, offset: float, readers: tuple[Matrix, ...]) -> Norm | None:
        """Return a norm; None where the model has no such module."""
        module = None if path is None else module_at(self.model, path)
        if module is None or path is None:
            return None
        gain, bias = self.take(f"{path}.weight"), self.take(f"{path}.bias")
        return Norm(path, gain, bias, offset, readers, module)

    def unclaimed(self) -> list[str]:
        """Return the names of the parameters that nobody took and that have to have a place."""
        left = set(self.known) - self.claimed
        return sorted(name for name in left if not name.endswith(_UNTOUCHED))


def module_at(model: Any, path: str) -> Any:
    """Return the module at a dotted path; None where there is none."""
    try:
        return model.get_submodule(path)
    except AttributeError:
        return None
