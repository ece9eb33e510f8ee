"""Models of the same weights that compute otherwise are never taken for one measurement."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import nn

import collect
from collect.errors import ConformanceError, InputError
from collect.instruments.own import holding
from collect.library.edits import edits
from tests.collect.conftest import tiny_model, tiny_tokenizer

TEXTS = ["The sky is", "A b"]


@pytest.fixture
def model():
    return tiny_model("llama")


def _states(out, model, step):
    done = collect.measure_step(model, tiny_tokenizer(), TEXTS, out, step=step, model_id="own/x")
    return [unit.state for unit in done]


def adds(amount):
    return lambda _module, _args, output: output + amount


class Vector:
    def __init__(self, amount):
        self.vector = torch.full((32,), amount)

    def add(self, _module, _args, output):
        return output + self.vector


class Louder(nn.Module):
    def __init__(self, inner, factor):
        super().__init__()
        self.inner, self.factor = inner, factor

    def forward(self, states):
        return self.inner(states) * self.factor


def hooked(model, amount):
    model.model.layers[1].mlp.register_forward_hook(adds(amount))


def hooked_by_a_method(model, amount):
    model.model.layers[1].mlp.register_forward_hook(Vector(amount).add)


def hooked_by_a_partial(model, amount):
    hook = functools.partial(lambda vector, _module, _args, output: output + vector, amount)
    model.model.layers[1].mlp.register_forward_hook(hook)


def replaced(model, amount):
    mlp = model.model.layers[1].mlp
    mlp = mlp.inner if isinstance(mlp, Louder) else mlp
    model.model.layers[1].mlp = Louder(mlp, amount)


def passed_otherwise(model, amount):
    mlp = model.model.layers[1].mlp
    mlp.forward = lambda states: type(mlp).forward(mlp, states) * amount


def buffered(model, amount):
    mlp = model.model.layers[1].mlp
    mlp.register_buffer("scale", torch.tensor(amount))
    mlp.register_forward_hook(_times_the_buffer)


def _times_the_buffer(module, _args, output):
    return output * module.scale


def scaled(model, amount):
    model.model.layers[1].self_attn.scaling = amount


def _hook_alone(model, hook):
    model.model.layers[1].mlp._forward_hooks.clear()
    model.model.layers[1].mlp.register_forward_hook(hook)


class Steering:
    def __init__(self, vector):
        self.vector = vector

    def hook(self):
        return lambda _module, _args, output: output + self.vector


def hooked_by_a_closure_over_an_object(model, amount):
    _hook_alone(model, Steering(torch.full((32,), amount)).hook())


def hooked_by_a_closure_over_a_module(model, amount):
    inner = nn.Linear(32, 32, bias=False)
    nn.init.constant_(inner.weight, amount)
    _hook_alone(model, lambda _m, _a, output: inner(output))


def hooked_by_a_closure_over_a_closure(model, amount):
    def louder(output):
        return output * amount

    _hook_alone(model, lambda _m, _a, output: louder(output))


def hooked_by_names_that_are_no_text(model, amount):
    vectors = {(1, "mlp"): torch.zeros(2000), 1: 0.0}
    vectors[1, "mlp"][1000] = amount
    _hook_alone(model, lambda _m, _a, output: output + vectors[1, "mlp"][1000])


_GLOBAL = {"amount": 1.0}


def hooked_by_a_name_of_the_module(model, amount):
    _GLOBAL["amount"] = amount
    _hook_alone(model, lambda _m, _a, output: output * _GLOBAL["amount"])


class Told(nn.Module):
    def __init__(self, inner, told):
        super().__init__()
        self.inner, self.told = inner, told

    def forward(self, states):
        return self.inner(states) * self.told["by"]


def replaced_by_one_that_holds_a_mapping(model, amount):
    mlp = model.model.layers[1].mlp
    model.model.layers[1].mlp = Told(getattr(mlp, "inner", mlp), {"by": amount})


def turned_otherwise(model, amount):
    model.model.rotary_emb.inv_freq.mul_(amount)


def activated_otherwise(model, amount):
    model.model.layers[1].mlp.act_fn = nn.ReLU() if amount > 2 else nn.Tanh()


EDITS = [
    hooked_by_a_closure_over_an_object,
    hooked_by_a_closure_over_a_module,
    hooked_by_a_closure_over_a_closure,
    hooked_by_names_that_are_no_text,
    hooked_by_a_name_of_the_module,
    replaced_by_one_that_holds_a_mapping,
    turned_otherwise,
    activated_otherwise,
    scaled,
    hooked,
    hooked_by_a_method,
    hooked_by_a_partial,
    replaced,
    passed_otherwise,
    buffered,
]


@pytest.mark.parametrize("edit", EDITS)
def test_a_step_of_the_same_weights_that_computes_otherwise_is_measured(model, edit, tmp_path):
    assert _states(tmp_path, model, 0) == ["measured"]
    assert _states(tmp_path, model, 1) == ["complete"]  # the very same
    edit(model, 2.0)
    assert _states(tmp_path, model, 2) == ["measured"]
    edit(model, 3.0)
    assert _states(tmp_path, model, 3) == ["measured"]
    assert _states(tmp_path, model, 3) == ["complete"]


class Keeping:
    """A hook that adds a vector, and keeps of what it sees the last, all, their sum and number."""

    def __init__(self):
        self.vector, self.last, self.all = torch.zeros(32), None, []
        self.sum, self.number, self.by_name = torch.zeros(32), 0, {"vector": torch.zeros(32)}

    def __call__(self, _module, _args, output):
        self.last = self.by_name["last"] = output.detach()
        self.all.append(self.last)
        self.sum += self.last.sum((0, 1))
        self.number += 1
        return output + self.vector + self.by_name["vector"]


def test_what_a_hook_keeps_of_what_it_sees_makes_no_other_model(model, tmp_path):
    keeping = Keeping()
    model.model.layers[1].mlp.register_forward_hook(keeping)
    assert _states(tmp_path, model, 0) == ["measured"]
    assert keeping.all
    assert _states(tmp_path, model, 1) == ["complete"]
    assert _states(tmp_path, model, 2) == ["complete"]  # after a step at which nothing was run
    model(torch.tensor([[1, 2]]))
    assert _states(tmp_path, model, 3) == ["complete"]
    keeping.vector += 1
    assert _states(tmp_path, model, 4) == ["measured"]
    keeping.by_name["vector"] += 1
    assert _states(tmp_path, model, 5) == ["measured"]
    assert _states(tmp_path, model, 6) == ["complete"]


class Linear(nn.Linear):
    """A module of somebody's own."""


def test_modules_of_ones_own_are_read_without_their_weights(model, monkeypatch):
    for layer in model.model.layers:
        layer.mlp.up_proj.__class__ = layer.mlp.down_proj.__class__ = Linear
    parsed, hashed = [], []
    source_of, digest_of = holding.source_of, holding.Holding._digest
    monkeypatch.setattr(holding, "source_of", lambda one: parsed.append(one) or source_of(one))
    monkeypatch.setattr(
        holding.Holding, "_digest", lambda self, one: hashed.append(one) or digest_of(self, one)
    )
    assert len([*edits(model, lambda number: model(torch.tensor([[number]])))]) > 1
    assert parsed.count(Linear) == 3  # before, and after each reading
    assert not any(isinstance(one, torch.Tensor) for one in hashed)


def test_hooks_of_the_libraries_are_no_edits(model, tmp_path):
    assert _states(tmp_path, model, 0) == ["measured"]
    model.enable_input_require_grads()
    model(torch.tensor([[1, 2]]), output_hidden_states=True, output_attentions=True)
    assert _states(tmp_path, model, 0) == ["complete"]


def test_what_watches_a_training_is_no_edit(model, tmp_path):
    def watch(started):
        def hook(_module, _args, _output):
            assert started

        hook.__module__ = "wandb.integration.torch.wandb_torch"
        return hook

    for started in ([1.0], [2.0]):
        handle = model.model.layers[0].register_forward_hook(watch(started))
        states = _states(tmp_path, model, 0)
        handle.remove()
    assert states == ["complete"]


def test_formats_that_only_autocast_lets_work_together_are_refused_in_a_sentence(model):
    for layer in model.bfloat16().model.layers:
        layer.input_layernorm.float()
    with pytest.raises(InputError, match="are in bfloat16 and float32") as refusal:
        collect.measure(model, tiny_tokenizer(), TEXTS, quantities=["stream"])
    assert refusal.value.hint


def test_a_saved_buffer_that_is_not_finite_is_refused(model):
    model.model.layers[1].mlp.register_buffer("scale", torch.tensor([1.0, torch.nan]))
    with pytest.raises(InputError, match=r"layers.1.mlp.scale holds 1 that are NaN"):
        collect.measure(model, tiny_tokenizer(), TEXTS, quantities=["stream"])


def without_head(model):
    model.lm_head = nn.Identity()
    return model


def without_blocks(model):
    model.model.layers = nn.ModuleList()
    return model


def with_another_block(model):
    model.model.layers[1] = nn.Identity()
    return model


@pytest.mark.parametrize(
    ("spoilt", "sentence"),
    [
        (without_head, "must be one layer with a matrix, weight; .* is Identity"),
        (without_blocks, "must have at least one block"),
        (with_another_block, "a module 'self_attn'; Identity has none"),
    ],
)
def test_a_model_that_lacks_a_part_is_refused_in_a_sentence(model, spoilt, sentence):
    with pytest.raises(ConformanceError, match=sentence):
        collect.measure(spoilt(model), tiny_tokenizer(), TEXTS, quantities=["stream"])
