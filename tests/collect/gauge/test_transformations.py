"""Every transformation that a family is free under leaves its logits as they are."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from collect.adapters import ADAPTERS
from collect.errors import InputError, UnsupportedModelError
from collect.gauge import group
from collect.gauge.measured import measured
from collect.gauge.quantity import values
from collect.gauge.transformations import mean_shift, norm_fold, query_key_basis
from collect.gauge.transformations.transformation import invertible
from collect.gauge.transformations.wiring import UNWIRED, wiring
from collect.model.checkpoint.decoder import decoder
from tests.collect.families import CONFIGURATIONS, FAMILIES, OF_EACH_ADAPTER, tiny_form
from tests.collect.gauge.networks import difference, logits, shifted, widened
from tests.collect.shown import LONG, SHORT, loaded_family

PROMPTS = (LONG, SHORT)

WIRED = [name for name in FAMILIES if CONFIGURATIONS[name][0] not in UNWIRED]

of_each_family = pytest.mark.parametrize("name", [n for n in WIRED if n in OF_EACH_ADAPTER])


def wide_family(name):
    """Return the tiny model of a name in float64."""
    return widened(loaded_family(name))


def transformed(of, names, seed):
    """Return a transformed copy."""
    copy = replace(of, model=deepcopy(of.model))
    group.transform(copy, names, np.random.default_rng(seed))
    return copy


def free_one_by_one(of, true):
    """Return what a network is free under, each applied once: logits stay and weights move."""
    free = group.chosen(of, ())
    for place, member in enumerate(free):
        result = transformed(of, (member,), seed=place)
        assert difference(true, logits(result, PROMPTS)).relative < 1e-10, member
        differ = any(
            before.shape != after.shape or not torch.equal(before, after)
            for before, after in zip(
                of.model.state_dict().values(), result.model.state_dict().values(), strict=False
            )
        )
        assert differ or member == "norm_fold", f"{member} changed nothing"
    return free


@of_each_family
def test_logits_stay_under_every_transformation_that_is_free(name):
    of = wide_family(name)
    true = logits(of, PROMPTS)
    together = transformed(of, free_one_by_one(of, true), seed=99)
    assert difference(true, logits(together, PROMPTS)).relative < 1e-10


#: Forms that a switch of the configuration makes, with what is then refused.
SWITCHED = [
    ("gpt2", {"reorder_and_upcast_attn": True}, None),
    ("opt", {"_remove_final_layer_norm": True}, "mean_shift"),
    ("olmoe", {"clip_qkv": 0.3}, "query_key_basis"),
    ("olmo2", {"attention_bias": True}, None),
    ("flex_olmo", {"attention_bias": True}, None),
    ("mpt", {"attn_config": {"clip_qkv": 0.3}}, None),
]


@pytest.mark.parametrize(("name", "switch", "refused"), SWITCHED)
def test_logits_stay_whatever_a_switch_of_the_configuration_says(name, switch, refused):
    of = widened(decoder(tiny_form(name, **switch), ADAPTERS[CONFIGURATIONS[name][0]]))
    assert refused not in free_one_by_one(of, logits(of, PROMPTS))


def test_behind_sub_layers_a_shift_puts_an_inner_gain_on_either_side_of_one():
    of = wide_family("opt_post_norm")
    moved = {f"{seed}": transformed(of, ("mean_shift",), seed) for seed in range(6)}
    true = logits(of, PROMPTS)
    for result in moved.values():
        assert difference(true, logits(result, PROMPTS)).relative < 1e-10
    gains = [
        of_one["gain_penultimate_block"] for of_one in values(measured(moved, PROMPTS)).values()
    ]
    assert min(gain.max() for gain in gains) < 1 < max(gain.min() for gain in gains)


#: Layouts, what they refuse, and a word of the reason.
REFUSED = [
    ("llama", "mean_shift", "RMSNorm"),
    ("llama", "reader_shift", "RMSNorm"),
    ("llama", "key_bias", "no bias"),
    ("llama_shared", "key_bias", "rotary"),
    ("gpt2", "neuron_scale", "homogeneous"),
    ("gpt_oss", "neuron_scale", "clips"),
    ("gpt_oss", "value_bias", "sink"),
    ("bloom", "stream_rotation", "axes"),
    ("bloom_adds_to_norm", "norm_fold", "added to"),
    ("gemma2", "stream_rotation", "axes"),
    ("opt_post_norm", "norm_fold", "added to"),
    ("opt_post_norm", "stream_scale", "norm"),
    ("opt", "stream_scale", "epsilon"),
    ("olmo", "norm_fold", "no gain"),
    ("olmo", "value_bias", "clip"),
    ("xglm", "stream_order", "fixed table"),
    ("ctrl", "stream_scale", "fixed table"),
    ("persimmon", "key_bias", "norm"),
    ("gpt2", "mean_shfit", "mean_shfit"),
]


@pytest.mark.parametrize(("name", "member", "word"), REFUSED)
def test_what_is_not_free_is_refused_with_the_reason(name, member, word):
    of = wide_family(name)
    with pytest.raises(InputError, match=word):
        group.chosen(of, (member,))


def scale_outer(wires, _rng):
    """Scale the gain of a norm on what attention returns, as if a matrix could take it."""
    wires.blocks[0].outer_norms[0].gain.mul_(2)


def mix_turned(wires, rng):
    """Give queries and keys a basis that does not commute with their positions."""
    basis = invertible(rng, wires.tokens, wires.heads.d_head)
    query_key_basis.change_basis(wires, wires.blocks[0], 0, basis)


@pytest.mark.parametrize(
    ("name", "member", "break_it"),
    [
        ("llama", "mean_shift", mean_shift.apply),
        ("gemma2", "norm_fold", scale_outer),
        ("gpt_neox", "query_key_basis", mix_turned),
    ],
)
def test_what_is_refused_would_move_the_logits(name, member, break_it):
    of = wide_family(name)
    true = logits(of, PROMPTS)
    with torch.no_grad():
        break_it(wiring(of), np.random.default_rng(0))
    assert difference(true, logits(of, PROMPTS)).relative > 1e-3, member


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in WIRED])
def test_a_type_that_the_rules_do_not_cover_is_refused(name):
    of = wide_family(name)
    with pytest.raises(UnsupportedModelError, match=of.model.config.model_type):
        group.refusals(of)


def test_a_parameter_without_a_place_is_refused():
    of = wide_family("gpt2")
    of.model.transformer.h[1].mlp.extra = torch.nn.Linear(2, 2)
    with pytest.raises(UnsupportedModelError, match=r"mlp\.extra"):
        wiring(of)


def test_folding_leaves_gains_of_one_and_no_bias_that_a_reader_could_take():
    of = transformed(wide_family("gpt2"), ("norm_fold",), 0)
    for block in of.model.transformer.h:
        assert torch.all(block.ln_1.weight == 1)
        assert torch.all(block.ln_1.bias == 0)
    assert torch.all(of.model.transformer.ln_f.weight == 1)
    assert torch.any(of.model.transformer.ln_f.bias != 0)


def test_a_tied_head_is_parted_only_for_what_it_would_see():
    of = wide_family("gpt2")
    assert of.head.weight is of.embedding.weight
    for member, is_parted in (
        ("mean_shift", True),
        ("value_basis", False),
        ("stream_order", False),
    ):
        result = transformed(of, (member,), 0)
        assert (result.head.weight is not result.embedding.weight) == is_parted
        assert result.model.config.tie_word_embeddings != is_parted


def test_the_profile_of_shifts_is_what_was_asked_for():
    of = wide_family("gpt_neox")
    true = logits(of, PROMPTS)
    means = []
    result = shifted(of, [1.0, 5.0, 2.0, 7.0])
    hooks = [
        block.register_forward_hook(lambda _m, _a, out: means.append(out.mean(-1)))
        for block in result.blocks
    ]
    assert difference(true[:1], logits(result, PROMPTS[:1])).largest < 1e-9
    for hook in hooks:
        hook.remove()
    assert [float(mean.mean()) for mean in means] == pytest.approx([5.0, 2.0, 7.0])
    assert norm_fold.refusal(wiring(result)) is None
