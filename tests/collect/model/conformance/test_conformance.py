"""Each property fails for a model that breaks it, and no other; right models and numbers pass."""

import math
import re
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
import torch

import collect
from collect import schema
from collect.adapters import ADAPTERS
from collect.adapters.configuration import always
from collect.adapters.layouts import contiguous
from collect.adapters.logits import unchanged
from collect.errors import ConformanceError
from collect.library import in_memory
from collect.model.checkpoint.blueprint import model_blueprint
from collect.model.checkpoint.decoder import decoder
from collect.model.checkpoint.load import load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.shards import Shards
from collect.model.conformance.refusal import (
    TOLERANCES,
    check_attention,
    check_finite,
    examine,
    refuse,
)
from collect.model.forward.stream import streamed
from tests.collect.conftest import edit_weights, tiny_model
from tests.collect.families import OF_EACH_ADAPTER, OF_EACH_CUT, save_family, tiny_family
from tests.collect.shown import examined, loaded_family


def placed(name, **changes):
    """Return the tiny model of a name, with entries of its adapter changed."""
    of = loaded_family(name)
    return decoder(of.model, replace(of.adapter, forms=(), **changes))


def failing(findings):
    return {finding.property for finding in findings.values() if finding.is_met is False}


def on_output(module, change):
    """Let a module return something else."""
    module.register_forward_hook(lambda _module, args, output: change(args, output))


def test_the_findings_of_a_right_model_are_rows_of_the_contract():
    findings = examined(placed("llama"))
    assert list(findings) == list(TOLERANCES)
    columns = {column.name for column in schema.tables()["conformance"].columns}
    assert set(findings["finite"].__slots__) == columns - {"run_id", "model_id"}
    assert failing(findings) == set()
    assert all(finding.is_met and finding.reason is None for finding in findings.values())
    refuse(list(findings.values()))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, torch.bfloat16) for name in OF_EACH_ADAPTER),
        *((name, torch.float16) for name in OF_EACH_CUT),
    ],
)
def test_right_models_conform_in_half_precision_too(name, dtype):
    of = placed(name)
    of.model.to(dtype)
    findings = examined(of)
    assert failing(findings) == set()
    assert findings["heads_rebuild_attention"].deviation > 0
    assert all(f.tolerance == TOLERANCES[f.property][str(dtype)[6:]] for f in findings.values())


def test_a_model_read_block_by_block_is_examined_as_a_loaded_one(tmp_path):
    checkpoint = locate(str(save_family("falcon_rw", tmp_path / "falcon")))
    bare = load_skeleton(checkpoint)
    pass_of = partial(streamed, bare, shards=Shards(checkpoint, model_blueprint(bare.model)))
    result = {finding.property: finding for finding in examine(bare, pass_of)}
    assert result == examined(placed("falcon_rw"))


def test_sinks_that_the_adapter_does_not_know_break_the_rows_alone():
    findings = examined(placed("gpt_oss", has_sinks=False))
    assert failing(findings) == {"attention_rows"}
    assert findings["attention_rows"].deviation > 0.01


def test_attention_without_a_mask_is_seen_in_the_maps_and_in_the_numbers():
    of = placed("llama")
    for attention in of.attentions:
        attention.register_forward_pre_hook(
            lambda _module, args, kwargs: (args, {**kwargs, "attention_mask": None}),
            with_kwargs=True,
        )
    findings = examined(of)
    # A prompt that also attends to its padding is another prompt.
    assert failing(findings) == {
        "attention_rows",
        "attention_causal",
        "batch_equals_single",
        "future_unseen",
    }


def test_falcon_with_the_default_attention_is_not_causal():
    model = tiny_family("falcon_7b")
    model.config._attn_implementation = "sdpa"
    with pytest.raises(ConformanceError, match="must be computed by the eager code"):
        decoder(model, ADAPTERS["falcon"])
    adapter = ADAPTERS["falcon"].of(model.config)
    of = decoder(model, replace(adapter, forms=(), attention_implementation=always("sdpa")))
    with pytest.raises(ConformanceError, match="with the sdpa code it returned none"):
        examined(of)
    of.body.forward = partial(of.body.forward, output_attentions=True)
    assert {"attention_causal", "future_unseen"} <= failing(examined(of))


def test_heads_read_in_another_layout_do_not_rebuild_attention_alone():
    findings = examined(placed("gpt_neox", layout=contiguous))
    assert failing(findings) == {"heads_rebuild_attention"}
    assert findings["heads_rebuild_attention"].deviation > 0.1
    with pytest.raises(ConformanceError, match="the heads do not make up what attention returns"):
        refuse(list(findings.values()))


def test_values_that_are_clipped_unseen_do_not_rebuild_attention():
    assert failing(examined(placed("olmo", clip=always(None)))) == {"heads_rebuild_attention"}


@pytest.mark.parametrize("layer", [0, 2])
def test_a_stream_counted_twice_does_not_add_up_alone(layer):
    of = placed("llama")
    on_output(of.blocks[layer], lambda args, output: output + args[0])
    findings = examined(of)
    assert failing(findings) == {"block_adds_up"}
    assert findings["block_adds_up"].layer == layer


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("granite", {"update_scale": always(1.0)}),
        ("gemma2", {"ffn_update": "mlp"}),
        ("olmo2", {"attention_update": "self_attn"}),
        ("bloom", {"ffn_update": "mlp"}),
        ("bloom_adds_to_norm", {"adds_to_norm": False}),
        ("opt_post_norm", {"norms_after": ()}),
        ("gpt_neox_sequential", {"mid": None, "attention_update": "mlp"}),
    ],
)
def test_an_adapter_wrong_about_what_is_added_does_not_add_up_alone(name, changes):
    assert failing(examined(placed(name, **changes))) == {"block_adds_up"}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("gemma", {"gain_offset": 0.0}),
        ("nemotron", {"gain_offset": 0.0}),
        ("llama", {"gain_offset": 1.0}),
        ("llama", {"norm_kind": "LayerNorm"}),
        ("gpt2", {"norm_kind": "RMSNorm"}),
        ("llama", {"attention_norm": "post_attention_layernorm"}),
        ("falcon_40b", {"attention_norm": "ln_mlp"}),
        ("llama", {"attention_norm": None}),
        ("olmo2", {"attention_norm": "post_attention_layernorm"}),
        ("llama", {"ffn_input": "mlp.down_proj"}),
        ("llama", {"ffn_input": "self_attn.o_proj", "ffn_update": "mlp"}),
    ],
)
def test_an_adapter_wrong_about_the_norms_of_a_block_fails_norm_gain_alone(name, changes):
    findings = examined(placed(name, **changes))
    assert failing(findings) == {"norm_gain"}
    assert findings["norm_gain"].deviation > 0.1


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("cohere", {"logits": unchanged}),
        ("granite", {"logits": unchanged}),
        ("gemma2", {"logits": unchanged}),
        ("llama", {"final_norm": None}),
        ("llama", {"final_norm": "model.layers.0.input_layernorm"}),
        ("gpt2", {"final_norm": "transformer.h.2.ln_2"}),
        ("modernbert", {"before_head": None}),
    ],
)
def test_an_adapter_wrong_about_what_follows_the_blocks_fails_logits_alone(name, changes, tmp_path):
    findings = examined(placed(name, **changes))
    assert failing(findings) == {"logits"}
    assert findings["logits"].deviation > 1e-3
    assert findings["logits"].layer is None
    checkpoint = locate(str(save_family(name, tmp_path / name)))
    bare = load_skeleton(checkpoint)
    wrong = replace(bare, adapter=replace(bare.adapter, forms=(), **changes))
    pass_of = partial(streamed, wrong, shards=Shards(checkpoint, model_blueprint(wrong.model)))
    assert failing({f.property: f for f in examine(wrong, pass_of)}) == {"logits"}


def test_a_final_norm_that_is_never_called_is_not_taken_for_right():
    findings = examined(placed("llama", final_norm="model.layers"))
    assert findings["logits"].reason == "the final norm is not called"


def test_positions_that_depend_on_padding_make_a_batch_differ_from_single_prompts():
    of = placed("gpt2")
    on_output(of.body.wpe, lambda args, output: output * (1 + 0.1 * args[0].shape[1]))
    assert failing(examined(of)) == {"batch_equals_single"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_last_token_that_reaches_the_first_is_seen_although_maps_are_causal(dtype):
    of = placed("gpt2")
    of.model.to(dtype)

    def leak(_args, output):
        if output.shape[1] == 12:
            output[0, 0] += output[0, 11]
        return output

    on_output(of.blocks[1].mlp, leak)
    findings = examined(of)
    assert failing(findings) == {"future_unseen"}
    assert findings["future_unseen"].layer == 1


def test_experts_chosen_by_rounding_do_not_make_a_batch_differ():
    """In a short format what the experts add may differ; before them nothing may."""
    of = placed("mixtral")
    for block in of.blocks:
        on_output(block.mlp, lambda args, output: output * (2 if len(args[0]) == 1 else 1))
    assert failing(examined(of)) == {"batch_equals_single"}
    of.model.to(torch.bfloat16)
    assert failing(examined(of)) == set()
    on_output(of.body.embed_tokens, lambda args, output: output * (2 if len(args[0]) == 1 else 1))
    assert "batch_equals_single" in failing(examined(of))


def test_what_leaves_the_body_is_looked_at_too():
    of = placed("llama")
    with torch.no_grad():
        of.final_norm.weight[3] = math.inf
    findings = examined(of)
    assert failing(findings) == {"finite"}
    assert findings["finite"].layer is None
    assert findings["block_adds_up"].is_met
    assert findings["logits"].is_met is None
    assert findings["logits"].reason == "numbers are not finite after the last block"


def test_a_weight_that_is_no_number_is_counted_and_the_rest_left_open():
    of = placed("llama")
    with torch.no_grad():
        of.blocks[1].mlp.down_proj.weight[5] = math.nan
    findings = examined(of)
    assert failing(findings) == {"finite"}
    assert findings["finite"].layer == 1
    assert findings["finite"].deviation >= 12 + 7 + 12 + 7 + 12
    for name in set(findings) - {"finite"}:
        assert findings[name].is_met is None
        assert findings[name].reason == "numbers are not finite from block 1 on"
    with pytest.raises(ConformanceError, match="numbers are not finite") as refusal:
        refuse(list(findings.values()))
    assert "finite is" in refusal.value.problem


def test_a_block_that_does_not_call_its_attention_is_not_taken_for_right():
    of = placed("llama")
    of.blocks[1].forward = lambda hidden_states, **_: hidden_states
    findings = examined(of)
    assert findings["block_adds_up"].reason == "a block did not call its parts"
    assert "block_adds_up" in failing(findings)
    with pytest.raises(ConformanceError, match="is not measured, the tolerance"):
        refuse(list(findings.values()))


def test_a_refusal_names_property_block_deviation_and_tolerance():
    of = placed("gpt_neox", layout=contiguous)
    on_output(of.blocks[2], lambda args, output: output + args[0])
    findings = examined(of)
    worst = findings["heads_rebuild_attention"]
    named = (
        f"deviation of heads_rebuild_attention is {worst.deviation:.3g}, largest in block "
        f"{worst.layer}, the tolerance 1e-05; besides: block_adds_up"
    )
    with pytest.raises(ConformanceError, match=re.escape(named)):
        refuse(list(findings.values()))


def test_examining_leaves_no_hook_behind():
    of = placed("llama")
    examined(of)
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in of.model.modules()
    )


def test_a_context_shorter_than_the_synthetic_prompts_is_kept_to():
    of = placed("gpt2", n_context=always(5))
    assert failing(examined(of)) == set()


GOOD = pd.DataFrame({"prompt_id": "x:00", "layer": [0, 1], "head": 0, "n_tokens": 10})
GOOD = GOOD.assign(mass=[10.0, 10.0009], above_diagonal=0.0)


def test_causal_maps_whose_rows_sum_to_one_pass_and_with_a_sink_to_less():
    check_attention(GOOD, "float32")
    check_attention(GOOD.assign(mass=[10.0, 10.2]), "bfloat16")
    check_attention(GOOD.assign(mass=[3.0, 10.0]), "float32", has_sinks=True)


@pytest.mark.parametrize(
    ("changes", "has_sinks", "sentence"),
    [
        *(
            ({"mass": [10.0, mass]}, False, r"1 of 2 rows do not.*prompt_id x:00, layer 1")
            for mass in (10.002, 9.998, math.nan, math.inf)
        ),
        ({"above_diagonal": [1e-9, 0.0]}, False, "must be zero above the diagonal"),
        ({"mass": [3.0, 10.1]}, True, "or to less with a sink"),
        ({"mass": [3.0, -0.1]}, True, "or to less with a sink"),
    ],
)
def test_other_maps_are_refused(changes, has_sinks, sentence):
    with pytest.raises(ConformanceError, match=sentence):
        check_attention(GOOD.assign(**changes), "float32", has_sinks=has_sinks)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_with_its_place(number):
    rows = pd.DataFrame({"layer": [0, 1], "matrix": ["V", "O"], "sigma_max": [1.0, number]})
    with pytest.raises(ConformanceError, match="layer 1, matrix O: sigma_max = ") as refusal:
        check_finite("matrix_norm", rows)
    assert "try --dtype float32" in refusal.value.hint


def test_a_number_that_may_be_missing_may_be_no_number():
    check_finite("weight_norm", pd.DataFrame({"layer": [0], "sigma_max": [math.nan]}))
    check_finite("matrix_norm", pd.DataFrame({"layer": [0], "sigma_max": [1.0], "matrix": ["V"]}))


@pytest.mark.parametrize("constant", [100.0, 1000.0, -10000.0])
def test_a_large_constant_in_every_feature_is_no_fault_and_hides_none(constant):
    model = tiny_model("gpt2")
    with torch.no_grad():
        model.transformer.wte.weight.add_(constant)
    for is_wrong in (False, True):
        with in_memory.lent(model) as decoder:
            if is_wrong:
                norm = model.transformer.h[0].ln_1
                norm.register_forward_hook(lambda _m, _a, out: out * 1.5)
            result = {name: finding.is_met for name, finding in examined(decoder).items()}
        assert result["norm_gain"] is not is_wrong


def test_float16_that_overflows_is_told_from_a_wrong_adapter(save_tiny, tmp_path):
    directory = edit_weights(
        save_tiny("llama"),
        lambda it: {name: w * 3e4 if "down_proj" in name else w for name, w in it.items()},
    )
    (tmp_path / "p.jsonl").write_text('{"token_ids": [5, 6, 7]}')
    how = {"quantities": "stream", "quiet": True}
    with pytest.raises(ConformanceError, match="float16 overflows") as refused:
        collect.run(directory, tmp_path / "p.jsonl", tmp_path / "out", dtype="float16", **how)
    assert "adapter" not in str(refused.value)
    collect.run(directory, tmp_path / "p.jsonl", tmp_path / "out", **how)
