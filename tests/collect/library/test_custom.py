"""Models in memory: their weights and revision identify them; what is custom is warned of."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

import collect
from analysis.store import open_store
from collect.errors import ConformanceError, InputError
from collect.library import in_memory
from tests.collect.conftest import tiny_model, tiny_tokenizer

TEXTS = ["The sky is", "A b"]


@pytest.fixture
def model():
    return tiny_model("llama")


def _states(out, model, step, **how):
    how = {"model_id": "own/x", "allow_nonconforming": True, **how}
    done = collect.measure_step(model, tiny_tokenizer(), TEXTS, out, step=step, **how)
    return [unit.state for unit in done]


class Louder(nn.Module):
    def __init__(self, inner, factor):
        super().__init__()
        self.inner, self.factor = inner, factor

    def forward(self, states):
        return self.inner(states) * self.factor


def hooked(model, amount):
    mlp = model.model.layers[1].mlp
    mlp._forward_hooks.clear()
    mlp.register_forward_hook(lambda _module, _args, output: output + amount)


def hooked_before(model, amount):
    mlp = model.model.layers[1].mlp
    mlp._forward_pre_hooks.clear()
    mlp.register_forward_pre_hook(lambda _module, args: (args[0] * amount,))


def replaced(model, amount):
    mlp = model.model.layers[1].mlp
    model.model.layers[1].mlp = Louder(getattr(mlp, "inner", mlp), amount)


def passed_otherwise(model, amount):
    mlp = model.model.layers[1].mlp
    mlp.forward = lambda states: type(mlp).forward(mlp, states) * amount


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (hooked, "a hook on model.layers.1.mlp"),
        (hooked_before, "a pre-hook on model.layers.1.mlp"),
        (replaced, "Louder at model.layers.1.mlp"),
        (passed_otherwise, "the forward pass of model.layers.1.mlp"),
    ],
)
def test_models_of_the_same_weights_are_told_apart_by_revision(model, change, name, tmp_path):
    change(model, 2.0)
    with pytest.warns(UserWarning, match=f"identity: {name};.* revision=") as warned:
        assert _states(tmp_path, model, 0) == ["measured"]
    assert len(warned) == 1
    assert warned[0].filename == __file__
    change(model, 3.0)
    told = pytest.warns(UserWarning, match="step1 has the weights of another step")
    with pytest.warns(UserWarning, match="identity"), told:
        assert _states(tmp_path, model, 1) == ["complete"]  # the weights are the same
    with pytest.warns(UserWarning, match="identity"):
        assert _states(tmp_path, model, 1, revision="three") == ["measured"]
    norms = open_store(tmp_path).query(
        "SELECT revision_name, avg(norm) AS norm FROM residual_norm JOIN run USING (run_id) "
        "WHERE site = 'block_output' AND layer = 2 GROUP BY 1 ORDER BY 1"
    )
    assert norms["revision_name"].tolist() == ["step0", "step1-three"]
    assert norms["norm"].nunique() == 2


def test_weights_buffers_and_revision_make_other_runs(model):
    def run_ids(**how):
        frames = collect.measure(model, tiny_tokenizer(), TEXTS, quantities="stream", **how)
        return frames["run"]["run_id"].tolist()

    runs = [run_ids(), run_ids(revision="a"), run_ids(revision="b")]
    model.model.layers[1].mlp.register_buffer("scale", torch.tensor(2.0))
    runs.append(run_ids())
    model.model.layers[1].mlp.scale.fill_(3.0)
    runs.append(run_ids())
    model.lm_head.weight.data[0, 0] += 1
    runs += [run_ids()]
    assert len({*map(tuple, runs)}) == 6
    assert run_ids() == runs[-1]


class Times(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, weight):
        return weight * self.factor


def test_a_parametrization_counts_by_the_weights_that_it_computes(model, tmp_path):
    layer = model.model.layers[1].mlp.up_proj
    for step, factor in enumerate((2.0, 3.0)):
        parametrize.register_parametrization(layer, "weight", Times(factor))
        assert _states(tmp_path, model, step) == ["measured"]
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


@pytest.mark.parametrize("revision", ["", 3, "a\nb"])
def test_a_revision_that_is_no_name_is_refused(model, revision):
    with pytest.raises(InputError, match="revision"):
        collect.measure(model, tiny_tokenizer(), TEXTS, revision=revision)


def test_a_step_that_an_earlier_version_measured_opens_and_is_not_measured_again(
    model, tmp_path, monkeypatch
):
    """Earlier hashes covered attributes of modules too."""
    weights_sha256 = in_memory.weights_sha256
    monkeypatch.setattr(in_memory, "weights_sha256", lambda *given: weights_sha256(*given)[::-1])
    assert _states(tmp_path, model, 0) == ["measured"]
    monkeypatch.undo()
    with pytest.raises(InputError, match="weights_sha256 is") as refusal:
        _states(tmp_path, model, 0)
    assert "overwrite=True" in refusal.value.hint
    model.lm_head.weight.data[0, 0] += 1
    assert _states(tmp_path, model, 1) == ["measured"]
    steps = "SELECT training_step FROM gain_trajectory WHERE metric = 'gain_body' ORDER BY 1"
    assert open_store(tmp_path).query(steps)["training_step"].tolist() == [0, 1]
    assert _states(tmp_path, tiny_model("llama"), 0, overwrite=True) == ["measured"]
    assert _states(tmp_path, tiny_model("llama"), 0) == ["complete"]


def test_hooks_of_the_libraries_and_of_what_watches_a_training_are_not_warned_of(model, tmp_path):
    def watch(_module, _args, _output):
        return None

    watch.__module__ = "wandb.integration.torch.wandb_torch"
    assert _states(tmp_path, model, 0) == ["measured"]
    model.model.layers[0].register_forward_hook(watch)
    model.enable_input_require_grads()
    model(torch.tensor([[1, 2]]), output_hidden_states=True, output_attentions=True)
    with warnings.catch_warnings(record=True) as warned:
        assert _states(tmp_path, model, 0) == ["complete"]
    assert not warned


def with_two_formats(model):
    for layer in model.bfloat16().model.layers:
        layer.input_layernorm.float()
    return model


def with_a_buffer_of_nan(model):
    model.model.layers[1].mlp.register_buffer("scale", torch.tensor([1.0, torch.nan]))
    return model


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
    ("spoilt", "error", "sentence"),
    [
        (without_head, ConformanceError, "must be one layer with a matrix, weight; .* is Identity"),
        (without_blocks, ConformanceError, "must have at least one block"),
        (with_another_block, ConformanceError, "a module 'self_attn'; Identity has none"),
        (with_two_formats, InputError, "are in bfloat16 and float32"),
        (with_a_buffer_of_nan, InputError, "layers.1.mlp.scale holds 1 that are NaN"),
    ],
)
def test_a_model_that_cannot_be_measured_is_refused_in_a_sentence(model, spoilt, error, sentence):
    with pytest.raises(error, match=sentence) as refusal:
        collect.measure(spoilt(model), tiny_tokenizer(), TEXTS, quantities=["stream"])
    assert refusal.value.hint or error is ConformanceError
