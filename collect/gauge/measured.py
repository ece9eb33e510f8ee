"""Everything this project measures of a network, in float64 and in memory, as one database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

import duckdb
import pandas as pd
import torch
from torch import Tensor

from collect.adapters.capability import HEADS
from collect.adapters.configuration import rotation_limits
from collect.gauge.precision import Float64
from collect.instruments import quantities, rows
from collect.instruments.hooks import Recorder
from collect.instruments.weights import spectra
from collect.instruments.weights.singular import grams, product_norms
from collect.measures.geometry import Geometry, geometry
from collect.measures.register import BUILT_IN
from collect.model.checkpoint.decoder import Decoder, HeadWeights
from collect.model.forward.hooked import after
from collect.model.forward.passes import buckets, inputs, whole
from collect.prompts.tokens import Encoded
from collect.schema import schema_sql, tables, views_sql, within_raw

_MODEL, _NEVER = "model", datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)

#: What is added to the name of a network for its weights, and the tables of weights alone.
_WEIGHTS = "/weights"
_OF_WEIGHTS = ("weight_norm", "matrix_norm", "circuit")
_CIRCUIT = ["layer", "head", "frobenius", "sigma_max"]
_LENS = ["prompt_id", "layer", "entropy"]


@torch.no_grad()
def measured(
    networks: Mapping[str, Decoder], prompts: Sequence[Encoded]
) -> duckdb.DuckDBPyConnection:
    """Return a database with what is measured of some networks on prompts, and every view.

    Parameters
    ----------
    networks
        By name: networks of one shape, in float64; see `precision.widen`.
    prompts
        Prompts as token ids, each of which the models must be able to read.

    Returns
    -------
    Tables and views of the contract, all numbers in double precision, and the tables
    ``circuit`` (layer, head, frobenius, sigma_max), see `circuits`, ``lens`` (prompt_id,
    layer, entropy), see `lens`, and the two of `centred_geometries`. ``run_id`` is the name of
    the network, in tables of weights with ``/weights`` after it.
    """
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(within_raw())
    connection.execute(schema_sql().replace(" FLOAT", " DOUBLE"))
    parts: list[dict[str, pd.DataFrame]] = []
    for name, network in networks.items():
        with Float64():
            frames = {
                **_frames(network, prompts),
                "circuit": pd.DataFrame(circuits(network), columns=_CIRCUIT, dtype=float),
                "lens": pd.DataFrame(lens(network, prompts), columns=_LENS),
                **centred_geometries(network, prompts),
            }
        parts.append(
            {
                table: frame.assign(
                    run_id=name + _WEIGHTS * (table in _OF_WEIGHTS), model_id=_MODEL
                )
                for table, frame in frames.items()
            }
        )
    one = next(iter(networks.values()))
    shared = _frames_of_model(one, prompts, tuple(networks))
    for table, frame in (shared | rows.joined(parts)).items():
        _insert(connection, table, frame)
    connection.execute(views_sql())
    return connection


def _insert(connection: duckdb.DuckDBPyConnection, table: str, frame: pd.DataFrame) -> None:
    if table not in tables():
        connection.execute(f'CREATE TABLE "{table}" AS FROM frame')
        return
    names = ", ".join(c.name for c in tables()[table].columns if c.name in frame)
    connection.execute(f'INSERT INTO "{table}" BY NAME SELECT {names} FROM frame')  # noqa: S608


def _frames(decoder: Decoder, prompts: Sequence[Encoded]) -> dict[str, pd.DataFrame]:
    batches = tuple(buckets(prompts, 8, rotation_limits(decoder.config)))
    defined = decoder.adapter.defined(tuple(BUILT_IN))
    recorder = Recorder(batches, quantities.of_prompts(defined))
    parts = [
        rows.frames(batches[index], recorder.observation(index))
        for index in whole(decoder, batches, recorder)
    ]
    for layer in range(len(decoder.blocks) if decoder.adapter.has(HEADS) else 0):
        of_layer = spectra.layer_rows(decoder.heads, layer, decoder.head_weights(layer))
        parts.append({table: pd.DataFrame(of) for table, of in of_layer.items()})
    return rows.joined(parts) | rows.across_prompts(recorder, _Nameless())


class _Nameless:
    """A tokenizer that calls every token by its number."""

    def decode(self, token_ids: Sequence[int]) -> str:
        return str(token_ids[0])


def _frames_of_model(
    decoder: Decoder, prompts: Sequence[Encoded], names: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Return the rows of ``model``, ``prompt`` and ``run`` that the views join on."""
    heads, adapter = decoder.heads, decoder.adapter
    model = {
        "model_id": _MODEL,
        "family": decoder.model.config.model_type,
        "n_layers": len(decoder.blocks),
        "d_model": decoder.model.config.hidden_size,
        "n_heads": heads.n_heads or None,
        "n_kv_heads": heads.n_kv_heads or None,
        "d_head": heads.d_head or None,
        "norm_kind": adapter.norm_kind,
        "norm_position": adapter.norm_position,
    }
    shared = dict.fromkeys((c.name for c in tables()["run"].columns if not c.nullable), "-") | {
        "model_id": _MODEL,
        "is_conforming": True,
        "schema_version": 0,
        "started_at": _NEVER,
        "duration_s": 0.0,
        "execution": "loaded",
    }
    runs = [
        shared | {"run_id": name + ending, "kind": kind, "weights_sha256": name}
        for name in names
        for kind, ending in (("prompts", ""), ("weights", _WEIGHTS))
    ]
    prompt_ids = [prompt.prompt_id for prompt in prompts]
    return {
        "model": pd.DataFrame([model]),
        "prompt": pd.DataFrame({"prompt_set": "-", "prompt_id": prompt_ids, "text": "-"}),
        "run": pd.DataFrame(runs),
    }


def circuits(decoder: Decoder) -> list[dict[str, float]]:
    """Return, head by head, the norms of what is left of W_O W_V when all that is free is out.

    With C = I - 1 1^T / d where the norm is a LayerNorm, and I else, and g the gain that
    attention reads through, it is C W_O W_V diag(g) C: a LayerNorm neither gives nor sees the
    direction of ones, so what W_V reads of it and what W_O writes of it are nothing.
    """
    entries: list[dict[str, float]] = []
    if not decoder.adapter.has(HEADS):
        return entries
    heads = decoder.heads
    kv_heads = torch.tensor([heads.kv_head(head) for head in range(heads.n_heads)])
    for layer in range(len(decoder.blocks)):
        output, value = _centre(decoder.head_weights(layer), decoder.adapter.norm_kind)
        norms = product_norms(grams(output.mT), grams(value).at(kv_heads))
        for head in range(heads.n_heads):
            frobenius, sigma_max = float(norms.frobenius[head]), float(norms.sigma_max[head])
            entries.append(
                {"layer": layer, "head": head, "frobenius": frobenius, "sigma_max": sigma_max}
            )
    return entries


def _centre(weights: HeadWeights, norm_kind: str) -> tuple[Tensor, Tensor]:
    """Return O (n_heads, d, d_head) and V with its gain, both without the direction of ones."""
    value = weights.value if weights.gain is None else weights.value * weights.gain
    if norm_kind != "LayerNorm":
        return weights.output, value
    output = weights.output - weights.output.mean(1, keepdim=True)
    return output, value - value.mean(2, keepdim=True)


def lens(decoder: Decoder, prompts: Sequence[Encoded]) -> list[tuple[str, int, float]]:
    """Return the entropy of the logit lens at the last token of each prompt, block by block.

    The logit lens (nostalgebraist 2020) puts the stream after a block through the final norm
    and the head. A model without final norm, or with a projection in front of its head, has none.
    """
    if decoder.final_norm is None or not decoder.has_lens:
        return []
    entries: list[tuple[str, int, float]] = []
    for prompt in prompts:
        for layer, states in block_outputs(decoder, prompt).items():
            logits = decoder.next_token_logits(decoder.final_norm(states[-1:]))
            log = logits.double().log_softmax(-1)
            entries.append((prompt.prompt_id, layer, float(-(log.exp() * log).nan_to_num().sum())))
    return entries


_COLUMNS = ("mean_cosine", "mean_cosine_body", "uniformity", "effective_rank")


def centred_geometries(decoder: Decoder, prompts: Sequence[Encoded]) -> dict[str, pd.DataFrame]:
    """Return tables ``centred_geometry`` and ``centred_prompt_geometry`` of one network.

    Parameters
    ----------
    decoder
        In the number format in which the angles are wanted.
    prompts
        Prompts as token ids.

    Returns
    -------
    ``centred_geometry``, one row per (prompt_id, layer): `mean_cosine`, `mean_cosine_body`,
    `uniformity` and `effective_rank` of the prompt's tokens after the block.
    ``centred_prompt_geometry``, one row per layer: the same of the prompts' last tokens.
    """
    rows, last = [], dict[int, list[Tensor]]()
    for prompt in prompts:
        for layer, stream in block_outputs(decoder, prompt).items():
            states = stream - stream.mean(-1, keepdim=True)
            rows.append({"prompt_id": prompt.prompt_id, "layer": layer, **_numbers(states)})
            last.setdefault(layer, []).append(states[-1])
    across = [{"layer": layer, **_numbers(torch.stack(of))} for layer, of in last.items()]
    return {
        "centred_geometry": _frame(rows),
        "centred_prompt_geometry": _frame(across),
    }


def _numbers(vectors: Tensor) -> dict[str, float | None]:
    shape: Geometry = geometry(vectors)
    return {name: getattr(shape, name) for name in _COLUMNS}


def _frame(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows).astype(dict.fromkeys(_COLUMNS, float))


@torch.no_grad()
def block_outputs(decoder: Decoder, prompt: Encoded) -> dict[int, Tensor]:
    """Return by block what it returns for a prompt, (n_tokens, d)."""
    seen: dict[int, Tensor] = {}
    with ExitStack() as hooks:
        for layer, block in enumerate(decoder.blocks):
            hooks.callback(after(block, partial(seen.__setitem__, layer)).remove)
        decoder.body(**inputs(decoder, (prompt,)), use_cache=False)
    return {layer: states[0] for layer, states in seen.items()}
