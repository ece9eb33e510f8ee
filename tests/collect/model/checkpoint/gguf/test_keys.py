"""Each key of a GGUF header at an unusual value: the model has it, by hooks of its own, or refusal.

The truth is a model of transformers made with that value; the header is written from it as
llama.cpp's converter does, in `tests.collect.gguf_files`.
"""

import numpy as np
import pytest
import torch
from gguf.constants import MODEL_ARCH_NAMES, MODEL_TENSORS, TENSOR_NAMES

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.gguf.architectures import ARCHITECTURES
from collect.model.checkpoint.load import load_model
from collect.model.checkpoint.location import locate
from tests.collect import gguf_files
from tests.collect.gguf_files import TINY, tiny, write

#: Largest relative deviation of a norm that rounding of the configuration's numbers explains.
TOLERANCE = 2e-6

OWN_WIDTH = (
    "llama", "granite", "qwen2", "qwen3", "qwen2moe", "qwen3moe", "gemma", "gemma2", "gemma3",
    "nemotron",
)  # fmt: skip
ROTATED = tuple(sorted({*TINY} - {"gpt2", "bloom", "gemma3"}))
SCALED = tuple(name for name in ROTATED if name != "phi3")
PARTLY = ("phi3", "stablelm", "nemotron")
MOE = ("qwen2moe", "qwen3moe")
BASE = {"rope_theta": 100.0}


def _rope(name, **stated):
    share = {"partial_rotary_factor": 0.5} if name in PARTLY else {}
    return {"rope_parameters": {**BASE, **share, **stated}}


def _by_kind(**of_full):
    sliding = {"rope_type": "default", "rope_theta": 50.0}
    return {
        "sliding_window": 5,
        "rope_parameters": {"sliding_attention": sliding, "full_attention": {**BASE, **of_full}},
    }


def _scaled(name, width):
    return {"query_pre_attn_scalar": width} if name in ("gemma2", "gemma3") else {}


#: What Llama 3.1 to 3.3 state, at sizes that 40 tokens show.
LLAMA3 = {
    **{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "original_max_position_embeddings": 32,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}


def _longrope(name, n):
    numbers = np.linspace(1.0, 9.0, n).round(3).tolist()
    both = {"short_factor": numbers[::-1], "long_factor": numbers}
    return _rope(name, rope_type="longrope", original_max_position_embeddings=16, **both) | {
        "original_max_position_embeddings": 16
    }


CARRIED = [
    *((name, "plain", {}) for name in TINY),
    *((name, "attention.key_length", {"head_dim": 24, **_scaled(name, 24)}) for name in OWN_WIDTH),
    *((name, "rope.freq_base", _rope(name, rope_type="default")) for name in ROTATED),
    *(
        (name, "rope.scaling linear", _rope(name, rope_type="linear", factor=4.0))
        for name in SCALED
    ),
    *((name, "rope.scaling yarn", _rope(name, **YARN)) for name in SCALED),
    *(
        (name, "rope.scaling.yarn_beta", _rope(name, **YARN, beta_fast=3.0, beta_slow=0.3))
        for name in ("llama", "qwen2", "qwen3moe", "stablelm")
    ),
    *((name, "rope_freqs.weight", _rope(name, **LLAMA3)) for name in ("llama", "granite", "qwen3")),
    ("phi3", "rope_factors", _longrope("phi3", 4)),
    ("phi3", "rope_factors of whole heads", {
        "rope_parameters": {
            **_longrope("", 8)["rope_parameters"], "partial_rotary_factor": 1.0,
        },
        "original_max_position_embeddings": 16,
    }),
    ("phi3", "rope_factors, short text", {**_longrope("phi3", 4), "max_position_embeddings": 4096,
        "original_max_position_embeddings": 64, "rope_parameters": {
            **_longrope("phi3", 4)["rope_parameters"], "original_max_position_embeddings": 64}}),
    ("phi3", "rope.scaling.attn_factor", {
        **_longrope("phi3", 4),
        "rope_parameters": {**_longrope("phi3", 4)["rope_parameters"], "attention_factor": 1.7},
    }),
    *((name, "rope.dimension_count", {"rope_parameters": {
        **BASE, "rope_type": "default", "partial_rotary_factor": 0.75}}) for name in PARTLY),
    *((name, "attention.sliding_window", {"sliding_window": 5})
      for name in ("phi3", "starcoder2", "gemma2")),
    ("gemma3", "attention.sliding_window, rope.freq_base_swa", _by_kind(rope_type="default")),
    ("gemma3", "rope.scaling linear", _by_kind(rope_type="linear", factor=8.0)),
    ("gemma3", "62 blocks", {
        **_by_kind(rope_type="linear", factor=8.0), "num_hidden_layers": 62, "head_dim": 32,
    }),
    ("gemma2", "46 blocks", {"num_hidden_layers": 46, "head_dim": 32}),
    ("gemma2", "softcapping", {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    ("granite", "multipliers", {
        **{"attention_multiplier": 0.7, "embedding_multiplier": 3.0},
        **{"residual_multiplier": 0.4, "logits_scaling": 5.0},
    }),
    *((name, "attention.layer_norm_rms_epsilon", {"rms_norm_eps": 0.3})
      for name in sorted({*OWN_WIDTH, "phi3"} - {"nemotron"})),
    ("stablelm", "attention.layer_norm_epsilon", {"layer_norm_eps": 0.3}),
    ("lfm2", "attention.layer_norm_rms_epsilon", {"norm_eps": 0.3}),
    ("lfm2", "shortconv.l_cache", {"conv_L_cache": 5}),
    ("lfm2", "biases", {"conv_bias": True}),
    ("lfm2", "attention.head_count_kv of each block", {
        "layer_types": ["full_attention", "conv", "full_attention"],
    }),
    ("nemotron", "attention.layer_norm_epsilon", {"norm_eps": 0.3}),
    ("starcoder2", "attention.layer_norm_epsilon", {"norm_epsilon": 0.3}),
    *((name, "attention.layer_norm_epsilon", {"layer_norm_epsilon": 0.3})
      for name in ("gpt2", "falcon", "bloom")),
    *((name, "expert_used_count", {"num_experts_per_tok": 3}) for name in MOE),
    *((name, "expert_count", {"num_experts": 6}) for name in MOE),
    *((name, "expert_feed_forward_length", {"moe_intermediate_size": 64}) for name in MOE),
    ("qwen2moe", "expert_shared_feed_forward_length", {"shared_expert_intermediate_size": 64}),
    *((name, "attention.head_count_kv", {"num_key_value_heads": 4})
      for name in sorted({*TINY} - {"gpt2", "bloom", "falcon"})),
    *((name, "attention.head_count", {"num_attention_heads": 8})
      for name in sorted({*TINY} - {"gpt2", "bloom"})),
    ("gpt2", "attention.head_count", {"n_head": 8}),
    ("bloom", "attention.head_count", {"n_head": 8}),
    *((name, "feed_forward_length", {"intermediate_size": 160})
      for name in sorted({*TINY} - {"gpt2", "bloom", "falcon", *MOE})),
    ("gpt2", "feed_forward_length", {"n_inner": 160}),
    ("falcon", "feed_forward_length", {"ffn_hidden_size": 160}),
    ("gpt2", "context_length", {"n_positions": 96}),
    ("falcon", "of the 40B", {"new_decoder_architecture": True, "num_kv_heads": 2}),
    ("falcon", "of the 11B", {
        "new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1,
    }),
    ("stablelm", "use_parallel_residual", {"use_parallel_residual": True}),
    ("stablelm", "biases", {"use_qkv_bias": True}),
    ("llama", "biases", {"attention_bias": True, "mlp_bias": True}),
    ("qwen3", "biases", {"attention_bias": True}),
    ("starcoder2", "no biases", {"use_bias": False}),
    ("nemotron", "biases", {"attention_bias": True, "mlp_bias": True}),
    *((name, "no output.weight", {"tie_word_embeddings": True})
      for name in ("qwen2", "phi3", "stablelm", "qwen2moe", "nemotron")),
    *((name, "output.weight", {"tie_word_embeddings": False})
      for name in ("llama", "gpt2", "falcon", "bloom", "starcoder2")),
]  # fmt: skip


def norms(model):
    """Return the norm of the stream after each block, and of the logits, for some tokens."""
    ids = torch.randint(259, (1, 40), generator=torch.Generator().manual_seed(1))
    body = model.model if hasattr(model, "model") else model.transformer
    blocks = body.layers if hasattr(body, "layers") else body.h
    seen = []

    def keep(_module, _args, output):
        states = output[0] if isinstance(output, tuple) else output
        seen.append(states.double().norm(dim=-1))

    hooks = [block.register_forward_hook(keep) for block in blocks]
    with torch.inference_mode():
        logits = model(ids).logits.double()
    for hook in hooks:
        hook.remove()
    return torch.cat([*seen, logits.norm(dim=-1)]).flatten()


def deviation(path, truth):
    """Return the largest relative deviation of a norm that is measured from the file."""
    expected = norms(truth)
    return float(((norms(load_model(locate(str(path))).model) - expected) / expected).abs().max())


@pytest.mark.parametrize(("name", "what", "changes"), CARRIED, ids=lambda it: str(it)[:40])
def test_a_key_at_an_unusual_value_is_carried_into_the_model(name, what, changes, tmp_path):
    truth = tiny(name, **changes)
    path = write(name, truth, tmp_path / "tiny.gguf", number_format="F32")
    assert deviation(path, truth) <= TOLERANCE


SHOWN = [case for case in CARRIED if case[1].startswith(("rope", "attention.s", "soft", "multi"))]


@pytest.mark.parametrize(("name", "what", "changes"), SHOWN, ids=lambda it: str(it)[:40])
def test_the_value_changes_the_norms_so_that_the_test_above_can_fail(name, what, changes):
    plain = norms(tiny(name))
    assert float(((norms(tiny(name, **changes)) - plain) / plain).abs().max()) > 5e-4


def test_every_architecture_that_is_read_is_in_the_matrix():
    assert {*TINY} == {*ARCHITECTURES}
    assert {name for name, _, _ in CARRIED} == {*ARCHITECTURES}


ODD = {
    **{"rope.scaling.type": "longrope", "rope.scaling.attn_factor": 1.5},
    **{"rope.scaling.yarn_log_multiplier": 0.1, "attention.scale": 0.77},
    **{"attention.value_length": 8, "attention.causal": False, "logit_scale": 3.0},
    **{"attention.max_alibi_bias": 4.0, "attention.clamp_kqv": 2.0},
    **{"attention.temperature_scale": 0.5, "rope.dimension_sections": [2, 2, 4, 0]},
    **{"leading_dense_block_count": 1, "expert_weights_scale": 2.5, "nextn_predict_layers": 1},
    **{"expert_gating_func": 2, "attention.key_length": 15, "a.key.nobody.knows": 1},
    **{"attention.head_count_kv": [2, 1, 2], "attention.layer_norm_epsilon": 0.2},
    **{"attention.layer_norm_rms_epsilon": 0.2, "embedding_length_out": 32},
    **{"rope.scaling.yarn_attn_factor": 1.4, "rope.scaling.yarn_ext_factor": 0.5},
    "residual_scale": 0.3,
}
#: What an architecture has, which is in the matrix above.
HAS = {
    "granite": {"logit_scale", "attention.scale", "residual_scale"},
    "lfm2": {"attention.layer_norm_rms_epsilon"},
}


@pytest.mark.parametrize("name", sorted(TINY))
def test_what_cannot_be_carried_is_refused_by_name(name, tmp_path):
    model = tiny(name)
    path = tmp_path / "tiny.gguf"
    of_epsilon = "rms_epsilon" if hasattr(model.config, "rms_norm_eps") else "norm_epsilon"
    odd = {
        key: value
        for key, value in ODD.items()
        if key not in HAS.get(name, ())
        and not key.endswith(f"layer_norm_{of_epsilon}")
        and not (key.endswith("layer_norm_epsilon") and of_epsilon == "norm_epsilon")
    }
    for key, value in odd.items():
        write(name, model, path, number_format="F32", keys={key: value})
        with pytest.raises((UnsupportedModelError, InputError)) as caught:
            locate(str(path))
        assert f"{name}.{key.partition('.')[0]}" in caught.value.problem, key
        assert caught.value.hint


def _numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


YARN_KEYS = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}

#: What a file may say that no model is: keys, and what the refusal names.
IMPOSSIBLE = [
    *(("llama", {key: value}, key) for key, value in (
        *(("rope.freq_base", value) for value in (0.0, -5.0, float("nan"), float("inf"), "1")),
        *(("rope.scaling.factor", value) for value in (-4.0, float("nan"))),
        ("rope.scaling.type", "dynamic"), ("rope.scaling.type", 3),
        ("rope.scaling.yarn_ext_factor", 1.0), ("rope.scaling.original_context_length", 0),
        *(("attention.head_count_kv", value) for value in (0, 3, 8)),
        *(("context_length", value) for value in (0, 1)),
        ("attention.layer_norm_rms_epsilon", -1.0), ("attention.layer_norm_rms_epsilon", None),
        *(("rope.dimension_count", value) for value in (7, 8, 100)),
        ("vocab_size", 300), ("attention.head_count", [4, 4, 2]), ("block_count", 2),
        ("feed_forward_length", [96, 96, 32]), ("embedding_length", None), ("expert_count", 4),
        ("attention.sliding_window", 5), ("block_count", 4), ("head_count", 4),
    )),
    ("qwen2", {**YARN_KEYS, "rope.scaling.factor": -4.0}, "rope.scaling.factor"),
    ("qwen2", {**YARN_KEYS, "rope.scaling.factor": 0.5}, "rope.scaling.factor"),
    ("qwen2", {**YARN_KEYS, "rope.scaling.yarn_beta_slow": 0.0}, "yarn_beta_slow"),
    ("qwen2", {**YARN_KEYS, "rope.scaling.original_context_length": 0}, "original_context"),
    ("phi3", YARN_KEYS, "rope.scaling.type"),
    *(("phi3", {"rope.dimension_count": value}, "dimension_count") for value in (0, 7, 100)),
    *((name, {"attention.sliding_window": 0}, "sliding_window") for name in ("gemma2", "gemma3")),
    ("gemma3", {"attention.sliding_window": None}, "sliding_window"),
    *(("gemma3", {"attention.sliding_window_pattern": value}, "pattern")
      for value in (0, True, "2", [True, False], [1, 2, 3])),
    ("gemma3", {"final_logit_softcapping": 30.0}, "final_logit_softcapping"),
    ("gemma3", {"rope.freq_base_swa": 0.0}, "freq_base_swa"),
    ("gemma2", {"rope.freq_base_swa": 99.0}, "freq_base_swa"),
    ("gemma2", {"attn_logit_softcapping": -5.0}, "attn_logit_softcapping"),
    *(("qwen3moe", {"expert_used_count": value}, "expert_used_count") for value in (0, 9)),
    ("qwen3moe", {"expert_weights_norm": False}, "expert_weights_norm"),
    ("qwen2moe", {"expert_weights_norm": True}, "expert_weights_norm"),
    ("falcon", {"use_parallel_residual": False}, "use_parallel_residual"),
    *(("falcon", {"attention.head_count_kv": value}, "head_count_kv") for value in (0, 3, 8)),
    *(("lfm2", {"attention.head_count_kv": value}, "head_count_kv")
      for value in ([0, 0, 0], [0, 2], [0, -2, 0], [0, 2, 1], "2", None, 0)),
    ("stablelm", {"use_parallel_residual": True}, "use_parallel_residual"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "keys", "named"), IMPOSSIBLE, ids=lambda it: str(it)[:60])
def test_what_no_model_is_is_refused_by_name(name, keys, named, tmp_path):
    path = write(name, tiny(name), tmp_path / "tiny.gguf", number_format="F32", keys=keys)
    with pytest.raises(InputError) as caught:
        load_model(locate(str(path)))
    if named != "block_count":  # of which tensors tell
        assert named in caught.value.problem


#: Tensors of which nothing in the model is made, or factors that are none.
UNUSED = [
    *(("llama", name, shape) for name, shape in (
        ("blk.0.attn_norm.bias", (64,)), ("output.bias", (259,)), ("token_embd.bias", (64,)),
        ("blk.1.attn_q.bias", (64,)), ("blk.00.attn_norm.weight", (64,)), ("cls.weight", (2, 64)),
        ("blk.\u0660.attn_norm.weight", (64,)), ("blk.-1.attn_norm.weight", (64,)),
        ("blk.7.attn_norm.weight", (64,)), ("rope_freqs.bias", (8,)), ("attn_norm.weight", (64,)),
        ("blk.0.attn_q.weight.scale", (1,)), ("blk.0.attn_sinks.weight", (4,)),
        ("rope_factors_long.weight", (8,)), ("rope_freqs.weight", (4,)),
        ("rope_freqs.weight", (2, 4)), ("rope_freqs.weight", (8,)), ("blk.0.attn_q.lora_a", (8,)),
    )),
    ("qwen2", "blk.0.attn_output.bias", (64,)), ("qwen3", "blk.0.ffn_up.bias", (96,)),
    ("qwen2moe", "blk.0.ffn_gate_exps.bias", (4, 32)), ("phi3", "blk.0.attn_qkv.bias", (128,)),
    ("gpt2", "rope_freqs.weight", (8,)), ("gemma3", "rope_freqs.weight", (8,)),
    ("phi3", "rope_factors_short.weight", (8,)), ("stablelm", "blk.0.attn_q_norm.weight", (64,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tensor", "shape"), UNUSED)
def test_a_tensor_that_nothing_is_made_of_is_refused_by_name(name, tensor, shape, tmp_path):
    more = {tensor: _numbers(*shape)}  # half of them below 0, which no factor is
    path = write(name, tiny(name), tmp_path / "tiny.gguf", number_format="F32", more=more)
    with pytest.raises(InputError) as caught:
        load_model(locate(str(path)))
    expected = "rope_factors" if tensor.startswith("rope_factors") else tensor
    assert expected in caught.value.problem


#: What stands in the place of the tensors of gate and up: shapes, None for none.
UNFIT = [
    ((4, 32, 64), (8, 32, 64)),
    ((4, 32, 64), (4, 16, 64)),
    (None, (4, 64, 64)),
    ((4, 64, 64), None),
]


@pytest.mark.parametrize("name", MOE)
@pytest.mark.parametrize("shapes", UNFIT)
def test_matrices_of_experts_that_do_not_fit_each_other_are_refused(
    name, shapes, tmp_path, monkeypatch
):
    names = [f"blk.1.ffn_{kind}_exps.weight" for kind in ("gate", "up")]
    truth = tiny(name, moe_intermediate_size=32)
    other = {**gguf_files.tensors(name, truth)}
    for tensor, shape in zip(names, shapes, strict=True):
        del other[tensor]
        other |= {} if shape is None else {tensor: _numbers(*shape)}
    monkeypatch.setattr(gguf_files, "tensors", lambda *_: other)
    path = write(name, truth, tmp_path / "tiny.gguf", number_format="F32")
    with pytest.raises(InputError) as caught:
        load_model(locate(str(path)))
    assert all(tensor in caught.value.problem for tensor in names)


FOREIGN = ["adapter.type", "xielu.alpha_p", "diffusion.shift_logits", "llama4.rope.scaling.factor"]
#: Under names that no architecture has.
FOREIGN += ["lama.rope.scaling.factor", "mistral.attention.sliding_window", "Llama.rope.freq_base"]


@pytest.mark.parametrize("key", FOREIGN)
def test_entries_of_another_kind_of_model_are_refused(key, tmp_path):
    path = tmp_path / "tiny.gguf"
    write("llama", tiny("llama"), path, edit=lambda writer: writer.add_float32(key, 1.0))
    with pytest.raises(UnsupportedModelError, match=key):
        locate(str(path))


def test_notes_of_whoever_made_a_file_change_nothing(tmp_path):
    def edit(writer):
        writer.add_string("mradermacher.quantize_version", "2")
        writer.add_uint32("quantize.imatrix.entries_count", 3)

    truth = tiny("llama")
    path = write("llama", truth, tmp_path / "tiny.gguf", number_format="F32", edit=edit)
    assert deviation(path, truth) <= TOLERANCE


SAME = [
    ("llama", {"rope.scaling.type": None, "rope.scale_linear": 4.0}, "rope.scaling linear"),
    ("llama", {"rope.scaling.type": None}, "rope.scaling linear"),
    ("llama", {"rope.scaling.original_context_length": 99}, "rope.scaling linear"),
    ("llama", {"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, "plain"),
    ("llama", {"attention.head_count_kv": [2, 2, 2], "feed_forward_length": [96] * 3}, "plain"),
    ("llama", {"attention.key_length": None, "attention.value_length": None}, "plain"),
    ("llama", {"rope.dimension_count": None, "vocab_size": None}, "plain"),
    ("llama", {"attention.scale": 0.25, "rope.scaling.finetuned": True}, "plain"),
    ("llama", {"pooling_type": 3, "attention.sliding_window": 0}, "plain"),
    ("llama", {"expert_count": 0, "logit_scale": 0.0, "attention.causal": True}, "plain"),
    ("gemma2", {"attention.sliding_window_pattern": 2, "rope.freq_base_swa": 1e4}, "plain"),
    ("gpt2", {"attention.head_count_kv": 4}, "plain"),
    ("falcon", {"tensor_data_layout": "jploski", "use_parallel_residual": True}, "plain"),
    ("bloom", {"attention.max_alibi_bias": 8.0}, "plain"),
    ("qwen3moe", {"expert_weights_norm": True, "expert_gating_func": 1}, "plain"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "keys", "what"), SAME, ids=lambda it: str(it)[:60])
def test_the_same_said_otherwise_is_the_same_model(name, keys, what, tmp_path):
    (changes,) = (it for of, case, it in CARRIED if (of, case) == (name, what))
    truth = tiny(name, **changes)
    path = write(name, truth, tmp_path / "tiny.gguf", number_format="F32", keys=keys)
    assert deviation(path, truth) <= TOLERANCE


def test_more_tokens_than_rows_of_the_embedding_are_refused(tmp_path):
    def edit(writer):
        writer.kv_data[0].pop("tokenizer.ggml.tokens")
        writer.add_token_list([f"t{place}" for place in range(260)])

    path = write("llama", tiny("llama"), tmp_path / "tiny.gguf", edit=edit)
    with pytest.raises(InputError, match="vocab_size"):
        locate(str(path))


def test_caps_of_0_are_none(tmp_path):
    none = {"attn_logit_softcapping": None, "final_logit_softcapping": None}
    truth = tiny("gemma2", **none)
    path = tmp_path / "tiny.gguf"
    write("gemma2", truth, path, number_format="F32", keys=dict.fromkeys(none, 0.0))
    assert deviation(path, truth) <= TOLERANCE


def test_attention_is_multiplied_beside_what_yarn_multiplies_by(tmp_path):
    size = 0.9 * (1 + 0.1 * np.log(4.0))  # ggml's rope: attn_factor times the size of YaRN
    truth = tiny("qwen2", **_rope("qwen2", **YARN, attention_factor=size))
    keys = {"rope.scaling.attn_factor": 0.9}
    path = write("qwen2", truth, tmp_path / "tiny.gguf", number_format="F32", keys=keys)
    assert deviation(path, truth) <= TOLERANCE


@pytest.mark.parametrize("name", ["gemma2", "gemma3"])
def test_layers_that_slide_are_those_of_the_pattern(name, tmp_path):
    kinds = ["full_attention", "sliding_attention", "full_attention"]
    truth = tiny(name, sliding_window=5, layer_types=kinds)
    keys = {"attention.sliding_window_pattern": [False, True, False]}
    path = write(name, truth, tmp_path / "tiny.gguf", number_format="F32", keys=keys)
    assert deviation(path, truth) <= TOLERANCE


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_names_of_tensors_are_those_of_the_package_gguf(name):
    (number,) = (key for key, value in MODEL_ARCH_NAMES.items() if value == name)
    known = {TENSOR_NAMES[tensor].removeprefix("blk.{bid}.") for tensor in MODEL_TENSORS[number]}
    # What every model may have: the Gemmas that llama.cpp knows have none of their own.
    assert {*ARCHITECTURES[name].tensors} <= known | {"output"}
