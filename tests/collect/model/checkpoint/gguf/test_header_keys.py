"""Every key of a header that changes the computation is carried, or refused by its name.

A tiny model of transformers with an unusual value is written as llama.cpp's converter would; its
states after each block, by hooks of this file, are the truth. The same weights without the value
show that it matters.
"""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from gguf import get_tensor_name_map
from gguf.constants import MODEL_ARCH_NAMES

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.gguf.architectures import ARCHITECTURES, NEUTRAL
from collect.model.checkpoint.gguf.tensors import parameter
from collect.model.checkpoint.load import load_model
from collect.model.checkpoint.location import locate
from tests.collect.gguf_files import KINDS, tiny, write

IDS = torch.arange(3, 43)[None]

LLAMA3 = {
    **{"rope_type": "llama3", "rope_theta": 10_000.0, "factor": 8.0, "low_freq_factor": 1.0},
    **{"high_freq_factor": 4.0, "original_max_position_embeddings": 32},
}
LINEAR = {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0}
YARN = {
    **{"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 4.0},
    "original_max_position_embeddings": 32,
}
YARN_KEYS = {
    **{"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0},
    "rope.scaling.original_context_length": 32,
}


def llama3_factors():
    """Return what llama.cpp's converter makes of Llama 3.1's scaling: divisors of angles."""
    angles = 1.0 / 10_000.0 ** (np.arange(0, 16, 2) / 16)
    lengths = 2 * np.pi / angles
    low, high = 32 / 1.0, 32 / 4.0
    smooth = (32 / lengths - 1.0) / (4.0 - 1.0)
    between = 1 / ((1 - smooth) / 8.0 + smooth)
    return np.where(lengths < high, 1.0, np.where(lengths > low, 8.0, between)).astype(np.float32)


def longrope(n=8):
    short, long = np.linspace(1, 1.5, n), np.linspace(1, 6, n)
    return {
        **{"rope_type": "longrope", "rope_theta": 10_000.0, "attention_factor": 1.2},
        **{"short_factor": short.tolist(), "long_factor": long.tolist()},
    }


def tables(rope):
    return {
        f"rope_factors_{length}.weight": np.array(rope[f"{length}_factor"], np.float32)
        for length in ("short", "long")
    }


def gemma3_rope(**whole):
    return {
        "full_attention": {"rope_type": "default", "rope_theta": 10_000.0, **whole},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
    }


@dataclass(frozen=True)
class Case:
    """A value that is unusual: entries of the configuration, and how the file holds them."""

    name: str
    id: str
    entries: dict
    keys: dict = field(default_factory=dict)
    more: dict = field(default_factory=dict)
    usual: dict = field(default_factory=dict)  # what the model without the value has


ROTARY = ("llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "starcoder2", "gemma2")
#: Those of transformers' classes that take a width of heads other than width over heads.
WIDE_HEADS = ("llama", "qwen3", "qwen3moe", "gemma2", "gemma3")


def usual_rope(name, theta):
    rope = {"rope_type": "default", "rope_theta": theta}
    return {"full_attention": rope, "sliding_attention": rope} if name == "gemma3" else rope


def cases():
    for name in KINDS:
        epsilon = {"gpt2": "layer_norm_epsilon", "starcoder2": "norm_epsilon"}
        yield Case(name, "epsilon", {epsilon.get(name, "rms_norm_eps"): 0.05})
        yield Case(name, "untied", {"tie_word_embeddings": False})
        if name != "gpt2":
            yield Case(name, "one head of keys", {"num_key_value_heads": 1})
            base = {"rope.freq_base": 500.0}
            if name == "gemma3":
                base["rope.freq_base_swa"] = 500.0
            yield Case(name, "base", {"rope_parameters": usual_rope(name, 500.0)}, base)
    for name in WIDE_HEADS:
        scalar = {"query_pre_attn_scalar": 32} if name.startswith("gemma") else {}
        yield Case(name, "wide heads", {"head_dim": 32, **scalar})
    for name in ROTARY:
        keys = {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
        yield Case(name, "linear", {"rope_parameters": LINEAR}, keys)
        yield Case(name, "old linear", {"rope_parameters": LINEAR}, {"rope.scale_linear": 4.0})
        yield Case(name, "untyped", {"rope_parameters": LINEAR}, {"rope.scaling.factor": 4.0})
        yield Case(name, "yarn", {"rope_parameters": YARN}, YARN_KEYS)
        entries = {**YARN, "beta_fast": 8.0, "beta_slow": 2.0}
        entries["attention_factor"] = 0.9 * (1 + 0.1 * np.log(4.0))
        keys = {
            **YARN_KEYS,
            **{"rope.scaling.yarn_beta_fast": 8.0, "rope.scaling.yarn_beta_slow": 2.0},
            "rope.scaling.attn_factor": 0.9,
        }
        yield Case(name, "yarn's constants", {"rope_parameters": entries}, keys)
    factors = {"rope_freqs.weight": llama3_factors()}
    yield Case("llama", "table", {"rope_parameters": LLAMA3}, {"rope.scaling.type": None}, factors)
    yield Case("llama", "biases", {"attention_bias": True, "mlp_bias": True})
    for name in ("gemma2", "qwen3", "qwen3moe"):
        yield Case(name, "biases", {"attention_bias": True})
    yield from gemmas()
    yield from phis()
    yield from experts()
    yield Case("gpt2", "feed-forward", {"n_inner": 160})


def gemmas():
    for name in ("gemma2", "gemma3"):
        yield Case(name, "window", {"sliding_window": 8})
        deep = {"num_hidden_layers": 46 if name == "gemma2" else 62, "head_dim": 32}
        usual = {**deep, "query_pre_attn_scalar": 32}
        yield Case(name, "deepest", {**deep, "query_pre_attn_scalar": 16}, usual=usual)
    caps = {"attn_logit_softcapping": 0.01, "final_logit_softcapping": 0.5}
    yield Case("gemma2", "caps", caps)
    yield Case("gemma2", "no caps", dict.fromkeys(caps), dict.fromkeys(caps, 0.0), usual=caps)
    pattern = ["sliding_attention", "full_attention", "sliding_attention"]
    window = {"sliding_window": 8}
    entries = {**window, "layer_types": pattern}
    yield Case("gemma3", "pattern", entries, {"attention.sliding_window_pattern": 2}, usual=window)
    whole = ["full_attention"] * 3
    linear = gemma3_rope(rope_type="linear", factor=8.0)
    every = {"attention.sliding_window_pattern": 1}
    keys = {**every, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0}
    entries = {"layer_types": whole, "rope_parameters": linear}
    yield Case("gemma3", "linear", entries, keys, usual={"layer_types": whole})
    mixed = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
    two = {"attention.sliding_window_pattern": 2}
    keys = {**two, "rope.freq_base": 900.0, "rope.freq_base_swa": 300.0}
    rope = {
        "full_attention": {"rope_type": "default", "rope_theta": 900.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
    }
    yield Case("gemma3", "two bases", {**mixed, "rope_parameters": rope}, keys, usual=mixed)


def phis():
    yield Case("phi3", "window", {"sliding_window": 8}, {"attention.sliding_window": 8})
    part = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
    yield Case("phi3", "part of a head", {"rope_parameters": part}, {"rope.dimension_count": 8})
    for length, kind in ((16, "long"), (64, "short")):
        rope = longrope()
        keys = {"rope.scaling.original_context_length": length, "rope.scaling.attn_factor": 1.2}
        entries = {"original_max_position_embeddings": length, "rope_parameters": rope}
        yield Case("phi3", f"table for {kind} texts", entries, keys, tables(rope))
    rope = {**longrope(6), "partial_rotary_factor": 0.75}
    keys = {"rope.scaling.original_context_length": 64, "rope.scaling.attn_factor": 1.2}
    keys["rope.dimension_count"] = 12
    entries = {"original_max_position_embeddings": 64, "rope_parameters": rope}
    yield Case("phi3", "table and part", entries, keys, tables(rope))


def experts():
    yield Case("qwen2moe", "experts", {"num_experts": 6, "num_experts_per_tok": 3})
    yield Case("qwen3moe", "experts", {"num_experts": 6, "num_experts_per_tok": 3})
    yield Case("qwen2moe", "experts' width", {"moe_intermediate_size": 64})
    yield Case("qwen3moe", "experts' width", {"moe_intermediate_size": 64})
    yield Case("qwen2moe", "shared expert", {"shared_expert_intermediate_size": 32})


CASES = [*cases()]


def norms(model):
    """Return the norm of the state of every token after each block, and its logits."""
    base = model.transformer if hasattr(model, "transformer") else model.model
    blocks = base.h if hasattr(base, "h") else base.layers
    seen = []

    def keep(_module, _arguments, output):
        state = output[0] if isinstance(output, tuple) else output
        seen.append(state.double().norm(dim=-1))

    handles = [block.register_forward_hook(keep) for block in blocks]
    with torch.inference_mode():
        logits = model(IDS, use_cache=False).logits.double()
    for handle in handles:
        handle.remove()
    return torch.stack(seen), logits


def deviation(one, other):
    """Return the largest relative difference of a norm, and of a logit over the largest logit."""
    of_norms = ((one[0] - other[0]).abs() / other[0].abs()).max()
    return max(of_norms, (one[1] - other[1]).abs().max() / other[1].abs().max()).item()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}, {case.id}")
def test_a_value_of_the_header_is_carried(case, tmp_path):
    model = tiny(case.name, **{**case.usual, **case.entries})
    path = tmp_path / "tiny.gguf"
    write(case.name, model, path, number_format="F32", keys=case.keys, more=case.more)
    theirs = norms(model)
    ours = norms(load_model(locate(str(path))).model)
    assert deviation(ours, theirs) < 2e-6
    without = tiny(case.name, **case.usual)
    shapes = {key: tensor.shape for key, tensor in model.state_dict().items()}
    if {key: tensor.shape for key, tensor in without.state_dict().items()} == shapes:
        without.load_state_dict(model.state_dict())
        if case.id != "untied":
            assert deviation(norms(without), theirs) > 1e-4


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
@pytest.mark.parametrize("key", [*sorted(NEUTRAL), "future.key", "rope.scaling.type"])
def test_a_value_that_nothing_reads_is_refused_by_name(name, key, tmp_path):
    if key in ARCHITECTURES[name].keys and key != "rope.scaling.type":
        return  # read: one of the cases above
    usual = {*NEUTRAL.get(key, ())}
    value = "dynamic" if key == "rope.scaling.type" else 7.5 if usual & {0.0, 1.0} else 3
    value = {"attention.causal": False, "rope.scaling.finetuned": "maybe"}.get(key, value)
    model = tiny(name)
    with pytest.raises(UnsupportedModelError, match=key):
        locate(str(write(name, model, tmp_path / "tiny.gguf", keys={key: value})))
    for neutral in NEUTRAL.get(key, ()):
        locate(str(write(name, model, tmp_path / "same.gguf", keys={key: neutral})))


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
@pytest.mark.parametrize(
    "tensor", ["rope_freqs.weight", "blk.0.attn_sinks.weight", "blk.7.attn_norm.weight", "cls.bias"]
)
def test_a_tensor_that_nothing_reads_is_refused_by_name(name, tensor, tmp_path):
    if tensor in ARCHITECTURES[name].factors:
        return  # read: a case above
    more = {tensor: np.ones(8, np.float32)}
    with pytest.raises(UnsupportedModelError, match=tensor):
        locate(str(write(name, tiny(name), tmp_path / "tiny.gguf", more=more)))


@pytest.mark.parametrize("name", sorted({*ARCHITECTURES} - {"gpt2"}))
@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("attention.value_length", 8, UnsupportedModelError),
        ("attention.head_count", 0, InputError),
        ("attention.head_count", [4, 4, 2], InputError),
        ("feed_forward_length", [96, 96, 32], InputError),
        ("block_count", "3", InputError),
        ("embedding_length", None, InputError),
        ("rope.freq_base", float("nan"), InputError),
        ("vocab_size", 300, InputError),
    ],
)
def test_a_contradiction_is_refused_by_name(name, key, value, error, tmp_path):
    with pytest.raises(error, match=key):
        locate(str(write(name, tiny(name), tmp_path / "tiny.gguf", keys={key: value})))


@pytest.mark.parametrize(
    ("numbers", "error"),
    [(np.ones(4, np.float32), InputError), (np.zeros(8, np.float32), InputError)],
)
def test_a_table_of_frequencies_that_is_none_is_refused(numbers, error, tmp_path):
    more = {"rope_freqs.weight": numbers}
    with pytest.raises(error, match="rope_freqs"):
        locate(str(write("llama", tiny("llama"), tmp_path / "tiny.gguf", more=more)))


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_names_of_tensors_are_those_of_the_package_gguf(name):
    """The package's table is from transformers' names to the file's."""
    (architecture,) = (key for key, value in MODEL_ARCH_NAMES.items() if value == name)
    table = get_tensor_name_map(architecture, 1)
    known = ARCHITECTURES[name]
    for kind in known.modules:
        if kind in ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"):
            continue  # the package names experts one by one
        module = parameter(known, f"blk.0.{kind}.weight").removesuffix(".weight")
        assert table.get_name(module) == f"blk.0.{kind}"
    for kind in known.ends:
        module = parameter(known, f"{kind}.weight").removesuffix(".weight")
        assert table.get_name(module) == kind


def test_every_case_changes_a_key_that_the_table_names():
    """No key that is read is left without a case."""
    rules = {"attention.value_length", "rope.dimension_count", "vocab_size"}
    told = {name: set() for name in ARCHITECTURES}
    for case in CASES:
        told[case.name] |= {*case.keys}
    for name, known in ARCHITECTURES.items():
        by_rule = {key for key, entry in known.keys.items() if entry is None} - rules
        by_rule -= {"attention.head_count_kv"} if name == "gpt2" else set()
        if name in ("gemma3", "phi3"):  # scaled by a rule of their own
            by_rule = {key for key in by_rule if "scal" not in key}
        caps = {"attn_logit_softcapping", "final_logit_softcapping"}
        assert by_rule - caps <= told[name], json.dumps(sorted(by_rule - told[name]))
