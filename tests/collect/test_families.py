"""Every model type with an adapter: heads, sums, batches and logits are the model's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Tensor

from collect.adapters import ADAPTERS, Adapter, Heads
from collect.adapters.layouts import codegen, contiguous, interleaved
from collect.checkpoint import Checkpoint, Labels
from collect.conformance import examine
from collect.decoder import Decoder, decoder, model_row
from collect.deviations import rebuilt_attention
from collect.passes import inputs, whole
from collect.tokens import Encoded
from collect.writer import conforming
from tests.collect.families import CONFIGURATIONS, FAMILIES, tiny_family

of_each_family = pytest.mark.parametrize("name", FAMILIES)
LONG, SHORT = (
    Encoded(
        name,
        tuple(torch.randint(3, 97, (n,), generator=torch.Generator().manual_seed(n)).tolist()),
        (False,) * n,
    )
    for name, n in (("long", 12), ("short", 7))
)


@dataclass
class Shown:
    """What a model did with the two prompts together, and with each alone."""

    decoder: Decoder
    states: dict[int, Tensor] = field(default_factory=dict)
    maps: dict[int, Tensor] = field(default_factory=dict)
    projected: dict[int, Tensor] = field(default_factory=dict)
    streams: dict[str, list[Tensor]] = field(default_factory=dict)


@contextmanager
def hooked(decoder: Decoder, see: Callable[..., None]) -> Iterator[None]:
    """Call ``see(layer, kind, args, kwargs, output)`` for attention, W_O and the block."""
    handles = []
    for layer, block in enumerate(decoder.blocks):
        modules = {
            "attention": decoder.attentions[layer],
            "projection": block.get_submodule(decoder.adapter.output),
            "block": block,
        }
        handles += [
            module.register_forward_hook(
                lambda _module, *call, layer=layer, kind=kind: see(layer, kind, *call),
                with_kwargs=True,
            )
            for kind, module in modules.items()
        ]
    yield
    for handle in handles:
        handle.remove()


def loaded_family(name: str) -> Decoder:
    model = tiny_family(name)
    return decoder(model, ADAPTERS[model.config.model_type])


@cache
def shown(name: str) -> Shown:
    """Run the tiny model of a name once, and keep what it showed."""
    placed = loaded_family(name)
    result = Shown(placed)

    def see(layer, kind, args, kwargs, output):
        if kind == "attention" and label == "together":
            result.states[layer] = (args[0] if args else kwargs["hidden_states"]).clone()
            result.maps[layer] = placed.attention_maps(layer, args, kwargs, output).clone()
        elif kind == "projection" and label == "together":
            result.projected[layer] = output.clone()
        elif kind == "block":
            first = output[0] if isinstance(output, tuple) else output
            result.streams.setdefault(label, []).append(first.clone())

    batches = {"together": (LONG, SHORT), "long": (LONG,), "short": (SHORT,)}
    with torch.no_grad(), hooked(placed, see):
        for label, batch in batches.items():
            output = placed.body(**inputs(placed, batch), use_cache=False)
            result.streams[label].append(output.last_hidden_state)
    return result


@torch.no_grad()
def rebuilt_error(
    of: Shown,
    layer: int,
    *,
    adapter: Adapter | None = None,
    maps: Tensor | None = None,
    value_of_head: list[int] | None = None,
) -> float:
    """Return how far the heads are from the output of W_O, read as they are or in another way.

    Parameters
    ----------
    adapter
        Cuts the weights in place of the model's own.
    maps
        Take the place of the attention maps.
    value_of_head
        The key and value head that each query head is said to read.
    """
    placed = of.decoder if adapter is None else replace(of.decoder, adapter=adapter)
    weights, heads = placed.head_weights(layer), placed.heads
    if value_of_head is not None:
        bias = weights.value_bias
        weights = replace(
            weights,
            value=weights.value[value_of_head],
            value_bias=None if bias is None else bias[value_of_head],
        )
        heads = replace(heads, n_kv_heads=heads.n_heads)
    clip = placed.adapter.clip(placed.model.config)
    maps = of.maps[layer] if maps is None else maps
    found = rebuilt_attention(weights, heads, of.states[layer], maps, clip)
    true = of.projected[layer].view_as(found)
    return float((found - true).abs().max() / true.abs().max())


@of_each_family
def test_heads_rebuild_the_attention_output_in_every_layer(name):
    seen = shown(name)
    assert len(seen.maps) == len(seen.decoder.blocks) >= 3
    assert max(rebuilt_error(seen, layer) for layer in seen.maps) < 1e-5


def keys_as_values(adapter: Adapter) -> Adapter:
    """Return the adapter that takes W_K for W_V."""
    if adapter.layout is None:
        query, key, value = adapter.projections
        return replace(adapter, projections=(query, value, key))

    def swapped(rows: Tensor, heads: Heads) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = adapter.layout(rows, heads)
        return query, value, key

    return replace(adapter, layout=swapped)


def other_layouts(adapter: Adapter, heads: Heads) -> list[Adapter]:
    """Return the adapter with every other layout that reads other rows as V."""
    if adapter.layout is None:
        return []
    rows = torch.arange((heads.n_heads + 2 * heads.n_kv_heads) * heads.d_head)
    true = adapter.layout(rows, heads)[2].tolist()
    layouts = [contiguous, interleaved]
    if heads.n_kv_heads == heads.n_heads:
        layouts.append(codegen)
    return [
        replace(adapter, layout=layout)
        for layout in layouts
        if layout(rows, heads)[2].tolist() != true
    ]


@of_each_family
def test_read_in_any_wrong_way_the_heads_do_not_rebuild_it(name):
    seen = shown(name)
    adapter, heads = seen.decoder.adapter, seen.decoder.heads
    wrong = [keys_as_values(adapter), *other_layouts(adapter, heads)]
    side_by_side = [heads.kv_head(head) for head in range(heads.n_heads)]
    in_turn = [head % heads.n_kv_heads for head in range(heads.n_heads)]
    for layer, maps in seen.maps.items():
        errors = [rebuilt_error(seen, layer, adapter=other) for other in wrong]
        errors.append(rebuilt_error(seen, layer, maps=maps.flip(1)))
        assert rebuilt_error(seen, layer, value_of_head=side_by_side) < 1e-5
        if in_turn != side_by_side:
            errors.append(rebuilt_error(seen, layer, value_of_head=in_turn))
        assert min(errors) > 0.1


def rows_by_head(placed: Decoder) -> dict[str, Tensor]:
    """Return which rows of its projection each value head has, one tensor for each projection."""
    adapter, heads = placed.adapter, placed.heads
    n_rows = heads.n_kv_heads * heads.d_head
    if adapter.layout is None:
        return {adapter.projections[2]: torch.arange(n_rows)}
    rows = torch.arange(heads.n_heads * heads.d_head + 2 * n_rows)
    return {adapter.projections[0]: adapter.layout(rows, heads)[2].flatten()}


def output_without(placed: Decoder, rows: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Return W_O's output in block 0 when rows of a projection are zero, and its bias."""
    block = placed.blocks[0]
    ((path, taken),) = rows.items()
    projection = block.get_submodule(path)
    weight = projection.weight.T if placed.adapter.is_conv1d else projection.weight
    seen = {}

    def see(layer, kind, _args, _kwargs, output):
        if (layer, kind) == (0, "projection"):
            seen["output"] = output

    with torch.no_grad(), hooked(placed, see):
        weight[taken] = 0
        if projection.bias is not None:
            projection.bias[taken] = 0
        placed.body(**inputs(placed, (LONG,)), use_cache=False)
    bias = getattr(block.get_submodule(placed.adapter.output), "bias", None)
    return seen["output"], torch.zeros(()) if bias is None else bias


@of_each_family
def test_without_the_value_rows_the_output_bias_alone_is_left(name):
    placed = loaded_family(name)
    output, bias = output_without(placed, rows_by_head(placed))
    assert torch.equal(output, bias.expand_as(output))


FUSED = ["gpt_neox", "bloom", "falcon_rw", "persimmon", "gpt_bigcode", "codegen"]


@pytest.mark.parametrize("name", FUSED)
def test_the_contiguous_last_third_is_not_where_these_families_keep_their_values(name):
    placed = loaded_family(name)
    path = placed.adapter.projections[0]
    width = placed.heads.n_heads * placed.heads.d_head
    last_third = torch.arange(2 * width, 3 * width)
    misread = placed.head_weights(0).value_contiguous
    fused = placed.blocks[0].get_submodule(path).weight
    assert torch.equal(misread, fused[last_third].view_as(misread))
    output, bias = output_without(placed, {path: last_third})
    assert (output - bias).abs().max() > 0.1


@pytest.mark.parametrize("name", ["gpt2", "mpt", "llama", "falcon_7b", "falcon_40b", "phi3"])
def test_elsewhere_there_is_no_other_reading_to_keep(name):
    assert loaded_family(name).head_weights(0).value_contiguous is None


@of_each_family
def test_a_batch_equals_one_prompt_at_a_time(name):
    streams = shown(name).streams
    for row, label in enumerate(("long", "short")):
        for together, alone in zip(streams["together"], streams[label], strict=True):
            single = alone.view(-1, alone.shape[-1])
            padded = together.view(2, -1, together.shape[-1])[row, : len(single)]
            assert (padded - single).abs().max() / single.abs().max() < 1e-4


@of_each_family
@torch.no_grad()
def test_positions_and_logits_are_those_the_model_gives_by_itself(name):
    placed = loaded_family(name)
    ids = torch.tensor([LONG.token_ids])
    states = shown(name).streams["long"][-1]
    own = placed.model(ids, use_cache=False).logits[0]
    found = placed.next_token_logits(states[0])
    assert found.dtype == torch.float32
    assert (found - own).abs().max() / own.abs().max() < 1e-5


@of_each_family
def test_it_conforms_to_its_adapter(name):
    placed = loaded_family(name)
    findings = examine(placed, partial(whole, placed))
    assert {finding.property for finding in findings if not finding.is_met} == set()
    found = {finding.property: finding.deviation for finding in findings}
    assert found["heads_rebuild_attention"] < 1e-5
    assert found["batch_equals_single"] < 1e-4


@of_each_family
def test_it_is_placed_without_weights_as_with_them(name):
    bare = tiny_family(name).to("meta")
    placed = decoder(bare, ADAPTERS[bare.config.model_type])
    assert placed.heads == shown(name).decoder.heads
    assert placed.head_weights(0).query.is_meta


def test_every_model_type_with_an_adapter_is_shown_here():
    assert {model_type for model_type, _ in CONFIGURATIONS.values()} == set(ADAPTERS)


#: Columns of table model that differ between families, read off the modelling files by hand.
ROWS = """\
name n_kv_heads d_head d_ffn n_context norm_kind norm_position positional_scheme residual head
gpt2 8 8 256 64 LayerNorm pre learned sequential tied
gpt_neo 8 8 256 64 LayerNorm pre learned sequential tied
gptj 8 8 256 64 LayerNorm pre rotary parallel untied
codegen 8 8 256 64 LayerNorm pre rotary parallel untied
gpt_neox 8 8 160 64 LayerNorm pre rotary parallel untied
gpt_neox_sequential 8 8 160 64 LayerNorm pre rotary sequential untied
opt 8 8 160 64 LayerNorm pre learned sequential tied
opt_post_norm 8 8 160 64 LayerNorm post learned sequential tied
bloom 8 8 256 None LayerNorm pre alibi sequential tied
bloom_adds_to_norm 8 8 256 None LayerNorm pre alibi sequential tied
falcon_7b 1 8 256 2048 LayerNorm pre rotary parallel tied
falcon_40b 2 8 256 2048 LayerNorm pre rotary parallel tied
falcon_11b 2 8 256 2048 LayerNorm pre rotary parallel tied
falcon_rw 8 8 256 2048 LayerNorm pre alibi sequential tied
mpt 8 8 256 64 LayerNorm pre alibi sequential tied
gpt_bigcode_shared 1 8 256 64 LayerNorm pre learned sequential tied
gpt_bigcode 8 8 256 64 LayerNorm pre learned sequential tied
llama 8 8 160 64 RMSNorm pre rotary sequential untied
llama_shared 2 8 160 64 RMSNorm pre rotary sequential untied
mistral 2 8 160 64 RMSNorm pre rotary sequential untied
mixtral 2 8 160 64 RMSNorm pre rotary sequential untied
gemma 1 16 160 64 RMSNorm pre rotary sequential tied
gemma2 4 16 160 64 RMSNorm sandwich rotary sequential tied
gemma3_text 4 16 160 64 RMSNorm sandwich rotary sequential tied
stablelm 4 8 160 64 LayerNorm pre rotary sequential untied
stablelm_parallel 8 8 160 64 LayerNorm pre rotary parallel untied
qwen2 2 8 160 64 RMSNorm pre rotary sequential untied
qwen3 2 16 160 64 RMSNorm pre rotary sequential untied
qwen3_moe 2 16 32 64 RMSNorm pre rotary sequential untied
phi 8 8 160 64 LayerNorm pre rotary parallel untied
phi3 2 8 160 64 RMSNorm pre rotary sequential untied
olmo 8 8 160 64 LayerNorm pre rotary sequential untied
olmo2 2 8 160 64 RMSNorm output rotary sequential untied
olmo3 2 8 160 64 RMSNorm output rotary sequential untied
olmoe 8 8 160 64 RMSNorm pre rotary sequential untied
cohere 4 8 160 64 LayerNorm pre rotary parallel tied
cohere2 4 8 160 64 LayerNorm pre rotary parallel tied
granite 4 8 160 64 RMSNorm pre rotary sequential untied
smollm3 2 8 160 64 RMSNorm pre rotary sequential tied
ministral 2 8 160 64 RMSNorm pre rotary sequential untied
starcoder2 2 8 160 64 LayerNorm pre rotary sequential tied
nemotron 2 8 160 64 LayerNorm pre rotary sequential untied
exaone4 2 8 160 64 RMSNorm output rotary sequential untied
glm4 2 8 160 64 RMSNorm sandwich rotary sequential untied
helium 4 8 160 64 RMSNorm pre rotary sequential untied
gpt_oss 2 16 160 64 RMSNorm pre rotary sequential untied
persimmon 8 8 160 64 LayerNorm pre rotary sequential untied
xglm 8 8 160 64 LayerNorm pre sinusoidal sequential tied
biogpt 8 8 160 64 LayerNorm pre learned sequential tied
apertus 2 8 160 64 RMSNorm pre rotary sequential untied
arcee 2 16 160 64 RMSNorm pre rotary sequential untied
cwm 2 16 160 64 RMSNorm pre rotary sequential untied
ernie4_5 2 16 160 64 RMSNorm pre rotary sequential tied
flex_olmo 2 8 160 64 RMSNorm output rotary sequential untied
glm 2 16 160 64 RMSNorm pre rotary sequential untied
hunyuan_v1_dense 2 16 160 64 RMSNorm pre rotary sequential untied
jais2 2 16 160 64 LayerNorm pre rotary sequential untied
ministral3 2 16 160 64 RMSNorm pre rotary sequential untied
phimoe 2 8 160 64 LayerNorm pre rotary sequential untied
qwen2_moe 2 8 32 64 RMSNorm pre rotary sequential untied
seed_oss 2 16 160 64 RMSNorm pre rotary sequential untied
vaultgemma 2 16 160 64 RMSNorm pre rotary sequential tied
"""


def row_of(placed: Decoder) -> pd.Series:
    labels = Labels("lab", "suite", 2026)
    directory = Path("model")
    checkpoint = Checkpoint(
        "local/model", directory, None, placed.adapter, {}, (), "float32", labels
    )
    return model_row(checkpoint, placed).iloc[0]


@pytest.mark.parametrize("line", ROWS.splitlines()[1:], ids=lambda line: line.split()[0])
def test_the_row_of_table_model_is_right(line):
    name, *expected = line.split()
    row = row_of(loaded_family(name))
    n_context = "None" if row["n_context"] is None else str(row["n_context"])
    found = [
        *map(str, row[["n_kv_heads", "d_head", "d_ffn"]]),
        n_context,
        *row[["norm_kind", "norm_position", "positional_scheme"]],
        "parallel" if row["is_parallel"] else "sequential",
        "tied" if row["is_tied"] else "untied",
    ]
    assert found == expected
    assert (row["d_model"], row["n_heads"], row["n_vocabulary"]) == (64, 8, 97)
    assert conforming("model", row.to_frame().T.convert_dtypes()).num_rows == 1


def test_the_table_names_every_family():
    assert [line.split()[0] for line in ROWS.splitlines()[1:]] == list(FAMILIES)


@of_each_family
@torch.no_grad()
def test_the_norm_is_of_the_kind_the_row_says(name):
    """A constant added to every feature changes nothing for a LayerNorm, and an RMSNorm."""
    placed = loaded_family(name)
    adapter = placed.adapter
    path = adapter.attention_norm or (*adapter.norms_after, adapter.attention_update)[0]
    norm = placed.blocks[0].get_submodule(path)
    states = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
    moved = (norm(states + 1) - norm(states)).abs().max()
    assert (moved < 1e-4) == (adapter.norm_kind == "LayerNorm")


@of_each_family
@torch.no_grad()
def test_feed_forward_reads_what_attention_added_unless_they_are_parallel(name):
    placed = loaded_family(name)
    sites, seen = placed.sites(1), []
    sites.ffn_input.register_forward_pre_hook(lambda _module, args: seen.append(args[0].clone()))
    arguments = inputs(placed, (LONG,))
    placed.body(**arguments, use_cache=False)
    projection = sites.block.get_submodule(placed.adapter.output)
    projection.register_forward_hook(lambda _module, _args, output: torch.zeros_like(output))
    placed.body(**arguments, use_cache=False)
    before, after = seen
    assert torch.equal(before, after) == placed.adapter.is_parallel


def circuits(placed: Decoder) -> Tensor:
    """Return the folded circuit W_O W_V diag(gain) of every head of block 0."""
    weights, heads = placed.head_weights(0), placed.heads
    values = weights.value * (1 if weights.gain is None else weights.gain)
    return weights.output @ values.repeat_interleave(heads.n_heads // heads.n_kv_heads, dim=0)


def scale_values(placed: Decoder) -> None:
    """Multiply values by 8 and divide the output projection by 8, which changes no logit."""
    block, adapter = placed.blocks[0], placed.adapter
    ((path, rows),) = rows_by_head(placed).items()
    values = block.get_submodule(path)
    (values.weight.T if adapter.is_conv1d else values.weight)[rows] *= 8
    if values.bias is not None:
        values.bias[rows] *= 8
    block.get_submodule(adapter.output).weight /= 8


def scale_gain(placed: Decoder) -> None:
    """Multiply the norm by 4 and divide what reads it by 4, which changes no logit."""
    block, adapter = placed.blocks[0], placed.adapter
    norm = block.get_submodule(adapter.attention_norm)
    norm.weight.copy_((norm.weight + adapter.gain_offset) * 4 - adapter.gain_offset)
    if getattr(norm, "bias", None) is not None:
        norm.bias *= 4
    for path in adapter.projections:
        block.get_submodule(path).weight /= 4


#: Where a change of scale is not undone: values are clipped, there is no gain in front of
#: attention, or that norm is read by others too.
CLIPPED = {"olmo"}
NO_GAIN = {"olmo", "olmo2", "olmo3", "exaone4", "flex_olmo", "opt_post_norm"}
SHARED_NORM = {line.split()[0] for line in ROWS.splitlines() if "parallel" in line}
CHANGES = [(scale_values, name) for name in FAMILIES if name not in CLIPPED] + [
    (scale_gain, name)
    for name in FAMILIES
    if name not in NO_GAIN | SHARED_NORM | {"bloom_adds_to_norm"}
]


@pytest.mark.parametrize(("change", "name"), CHANGES)
@torch.no_grad()
def test_the_folded_circuit_is_the_same_where_the_model_is(change, name):
    placed = loaded_family(name)
    ids = torch.tensor([LONG.token_ids])
    folded, value, logits = circuits(placed), placed.head_weights(0).value.norm(), placed.model(ids)
    change(placed)
    assert torch.allclose(placed.model(ids).logits, logits.logits, atol=1e-4)
    assert not torch.isclose(placed.head_weights(0).value.norm(), value, rtol=0.5)
    assert torch.allclose(circuits(placed), folded, rtol=1e-4, atol=1e-6)
