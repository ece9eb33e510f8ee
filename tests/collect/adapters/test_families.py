"""Every model type with an adapter: heads, sums, batches and logits are the model's own."""

from dataclasses import replace

import pytest
import torch

from collect.adapters import ADAPTERS
from collect.adapters.layouts import codegen, contiguous, interleaved
from collect.adapters.register import LAYOUTS
from collect.model.checkpoint.decoder import decoder
from collect.model.conformance.deviations import rebuilt_attention
from collect.model.forward.passes import inputs
from tests.collect.families import CONFIGURATIONS, FAMILIES, tiny_family
from tests.collect.shown import LONG, SHORT, examined, hooked, loaded_family, rows_by_head, shown

of_each_family = pytest.mark.parametrize("name", FAMILIES)


@torch.no_grad()
def rebuilt_error(of, layer, *, adapter=None, maps=None, value_of_head=None):
    """Return how far the heads are from the output of W_O, read as they are or in another way."""
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
    result = rebuilt_attention(weights, heads, of.states[layer], maps, clip)
    true = of.projected[layer].view_as(result)
    return float((result - true).abs().max() / true.abs().max())


@of_each_family
def test_heads_rebuild_the_attention_output_in_every_layer(name):
    seen = shown(name)
    assert len(seen.maps) == len(seen.decoder.blocks) >= 3
    assert max(rebuilt_error(seen, layer) for layer in seen.maps) < 1e-5


def keys_as_values(adapter):
    """Return the adapter that takes W_K for W_V."""
    if adapter.layout is None:
        query, key, value = adapter.projections
        return replace(adapter, projections=(query, value, key))

    def swapped(rows, heads):
        query, key, value = adapter.layout(rows, heads)
        return query, value, key

    return replace(adapter, layout=swapped)


def other_layouts(adapter, heads):
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
        assert min(errors) > 0.05


@torch.no_grad()
def output_without(placed, rows):
    """Return W_O's output in block 0 when rows of a projection are zero, and its bias."""
    block = placed.blocks[0]
    ((path, taken),) = rows.items()
    projection = block.get_submodule(path)
    (projection.weight.T if placed.adapter.is_conv1d else projection.weight)[taken] = 0
    if projection.bias is not None:
        projection.bias[taken] = 0
    bias = getattr(block.get_submodule(placed.adapter.output), "bias", None)
    return written_in_block_0(placed), torch.zeros(()) if bias is None else bias


@of_each_family
def test_without_the_value_rows_the_output_bias_alone_is_left(name):
    placed = loaded_family(name)
    output, bias = output_without(placed, rows_by_head(placed))
    assert torch.equal(output, bias.expand_as(output))


def written_in_block_0(placed):
    """Return W_O's output in block 0 for the long prompt, (n_tokens, d_model)."""
    seen = {}

    def see(layer, kind, _args, _kwargs, output):
        seen.setdefault((layer, kind), output.clone() if kind == "projection" else None)

    with torch.no_grad(), hooked(placed, see):
        placed.body(**inputs(placed, (LONG,)), use_cache=False)
    return seen[0, "projection"].view(len(LONG), -1)


def without_token(placed, part, position):
    """Return the same when what is read as Q (part 0) or K (1) is zero at one position."""
    adapter, heads = placed.adapter, placed.heads
    path = adapter.projections[0 if adapter.layout else part]
    n_rows = (heads.n_heads, heads.n_kv_heads)[part] * heads.d_head
    columns = torch.arange(n_rows)
    if adapter.layout is not None:
        of_all = torch.arange((heads.n_heads + 2 * heads.n_kv_heads) * heads.d_head)
        columns = adapter.layout(of_all, heads)[part].flatten()

    def erase(_module, _args, output):
        changed = output.clone()
        changed.view(len(LONG), -1)[position, columns] = 0
        return changed

    handle = placed.blocks[0].get_submodule(path).register_forward_hook(erase)
    written = written_in_block_0(placed)
    handle.remove()
    return written


@of_each_family
def test_a_query_matters_to_its_own_token_alone_and_a_key_to_later_ones_too(name):
    placed, position = loaded_family(name), 7
    right = written_in_block_0(placed)
    changed = [
        (without_token(placed, part, position) - right).abs().amax(-1) > 1e-5 for part in (0, 1)
    ]
    assert changed[0].nonzero().flatten().tolist() == [position]
    assert not changed[1][:position].any()
    assert changed[1][position + 1 :].any()


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
    result = placed.next_token_logits(states[0])
    assert result.dtype == torch.float32
    assert (result - own).abs().max() / own.abs().max() < 1e-5


@torch.no_grad()
def test_maps_that_a_module_keeps_are_computed_as_it_does():
    seen = shown("openai_gpt")
    together = inputs(seen.decoder, (LONG, SHORT))
    own = seen.decoder.body(**together, output_attentions=True).attentions
    for layer, maps in seen.maps.items():
        assert torch.allclose(maps, own[layer], atol=1e-6)


@of_each_family
def test_it_conforms_to_its_adapter(name):
    findings = examined(loaded_family(name))
    assert all(finding.is_met for finding in findings.values())
    assert findings["heads_rebuild_attention"].deviation < 1e-5
    assert findings["batch_equals_single"].deviation < 1e-4


@of_each_family
def test_it_is_placed_without_weights_as_with_them(name):
    bare = tiny_family(name).to("meta")
    placed = decoder(bare, ADAPTERS[bare.config.model_type])
    assert placed.heads == shown(name).decoder.heads
    assert placed.head_weights(0).query.is_meta


WHOLE_TYPES = {
    model_type for layout in LAYOUTS if not layout.lacks for model_type in layout.model_types
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_its_model_type_has_an_adapter_that_lacks_nothing(name):
    assert CONFIGURATIONS[name][0] in WHOLE_TYPES, "collect/adapters/README.md says how to add one"


def test_every_model_type_that_is_measured_whole_is_shown_here():
    without = WHOLE_TYPES - {model_type for model_type, _ in CONFIGURATIONS.values()}
    assert without == set(), "give each a tiny configuration in tests/collect/families.py"


@of_each_family
@torch.no_grad()
def test_the_norm_is_of_the_kind_the_row_says(name):
    """A constant added to every feature changes nothing for a LayerNorm, and an RMSNorm."""
    placed = loaded_family(name)
    adapter = placed.adapter
    path = adapter.attention_norm or (*adapter.norms_after, adapter.attention_update)[0]
    norm = placed.blocks[-1].get_submodule(path)  # ModernBERT has none in block 0
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
