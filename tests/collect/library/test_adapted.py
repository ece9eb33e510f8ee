"""A model is measured as it computes through wrappers, and handed back with all of them."""

import copy

import pandas as pd
import pytest
import torch
from torch import nn

import collect
from collect.errors import InputError
from tests.collect.conftest import tiny_model, tiny_tokenizer

TEXTS = ["The sky is", "Two and two", "A b"]
ASKED = ["stream", "attention", "weights"]


class Tuned(nn.Module):
    """What peft's layers have in common."""

    def __init__(self, base_layer):
        super().__init__()
        self.base_layer = base_layer
        self.merged_adapters = []
        self.disable_adapters = False

    @property
    def merged(self):
        return bool(self.merged_adapters)


class Scaled(Tuned):
    """Adds to a parameter of the innermost layer, as adapters of experts do, one in another."""

    def __init__(self, base_layer, amount):
        super().__init__(base_layer)
        self.amount = nn.Parameter(torch.tensor(amount))

    def innermost(self):
        layer = self.base_layer
        while isinstance(layer, Tuned):
            layer = layer.base_layer
        return layer

    def merge(self):
        self.innermost().weight.data += self.amount
        self.merged_adapters.append("default")

    def forward(self, states):
        return self.base_layer(states) + (states * self.amount).sum(-1, keepdim=True)


class Swapped(Tuned):
    """Merges by an exchange of modules, as peft's layers for norms do."""

    def __init__(self, base_layer):
        super().__init__(base_layer)
        own = copy.deepcopy(base_layer)
        nn.init.uniform_(own.weight, 0.5, 2.0)
        self.layers = nn.ModuleDict({"default": own})

    def merge(self):
        trained, base = self.layers["default"], self.base_layer
        self.base_layer, self.layers["default"] = trained, base
        self.merged_adapters.append("default")

    def forward(self, states):
        return self.layers["default"](states)


class TrainedWhole(nn.Module):
    """A copy that is trained beside the original."""

    def __init__(self, original):
        super().__init__()
        own = copy.deepcopy(original)
        own.weight.data *= 1.5
        self.original_module = original
        self.modules_to_save = nn.ModuleDict({"default": own})
        self.active_adapters, self.disable_adapters = ["default"], False

    @property
    def weight(self):
        return self.modules_to_save["default"].weight

    def forward(self, states):
        module = self.original_module if self.disable_adapters else self.modules_to_save["default"]
        return module(states)


class ByRows(nn.Module):
    """An embedding of which some rows are trained."""

    def __init__(self, token_adapter):
        super().__init__()
        self.token_adapter = token_adapter

    def forward(self, ids):
        return self.token_adapter(ids)


class Rows(Tuned):
    def __init__(self, base_layer):
        super().__init__(base_layer)
        self.delta = nn.Parameter(torch.ones(base_layer.embedding_dim))

    def merge(self):
        self.base_layer.weight.data[104] = self.delta
        self.merged_adapters.append("default")

    def forward(self, ids):
        return torch.where((ids == 104)[..., None], self.delta, self.base_layer(ids))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return tiny_model("llama_shared_values").train()


def nested(model):
    for layer in model.model.layers:
        layer.mlp.down_proj = Scaled(Scaled(layer.mlp.down_proj, 0.1), 0.2)


def swapped(model):
    for layer in model.model.layers:
        layer.input_layernorm = Swapped(layer.input_layernorm)


def trained_whole(model):
    model.lm_head = TrainedWhole(model.lm_head)
    model.model.norm = TrainedWhole(model.model.norm)


def by_rows(model):
    model.model.embed_tokens = ByRows(Rows(model.model.embed_tokens))


def norms_seen(model):
    """Return the norms of what the blocks hand on, through all wrappers, by plain hooks."""
    seen, model = [], copy.deepcopy(model).eval()
    for block in model.model.layers:
        block.register_forward_hook(lambda _m, _a, out: seen.append(out[0].double().norm(dim=-1)))
    with torch.no_grad():
        logits = model(torch.tensor([tiny_tokenizer()(TEXTS[0])["input_ids"]])).logits
    return torch.cat([*seen, logits[0, -1].double().softmax(0)])


def norms_kept(frames):
    rows = frames["residual_norm"]
    is_kept = (rows["site"] == "block_output") & (rows["prompt_id"] == "prompts:00")
    return torch.tensor(rows[is_kept].sort_values(["layer", "position"])["norm"].to_numpy())


@pytest.mark.parametrize("wrap", [nested, swapped, trained_whole, by_rows])
def test_modules_that_are_adapted_are_measured_as_they_compute(model, wrap):
    plain = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    wrap(model)
    modules = dict(model.named_modules())
    before = {name: value.clone() for name, value in model.named_parameters()}
    frames = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    assert all(module is modules[name] for name, module in model.named_modules())
    assert dict(model.named_modules()).keys() == modules.keys()
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())
    expected, result = norms_seen(model), norms_kept(frames)
    torch.testing.assert_close(result, expected[: len(result)], rtol=1e-6, atol=0)
    likeliest = frames["next_token"].set_index("prompt_id").loc["prompts:00", "top_probability"]
    assert likeliest == pytest.approx(float(expected[len(result) :].max()), rel=1e-5)
    assert frames["model"]["n_parameters"].tolist() == plain["model"]["n_parameters"].tolist()
    assert frames["run"]["run_id"].tolist() != plain["run"]["run_id"].tolist()


def test_an_adapter_that_is_switched_off_leaves_the_plain_model(model):
    plain = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    trained_whole(model)
    model.lm_head.disable_adapters = model.model.norm.disable_adapters = True
    frames = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    assert frames["run"]["run_id"].tolist() == plain["run"]["run_id"].tolist()


def test_matrices_that_are_one_stay_one_where_the_same_is_merged_into_both(model):
    model.lm_head.weight = model.model.embed_tokens.weight
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    model.model.embed_tokens = ByRows(Rows(model.model.embed_tokens))
    model.lm_head = HeadRows(model.lm_head)
    frames = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    assert frames["model"][["is_tied", "n_parameters"]].to_numpy().tolist() == [
        [True, n_parameters]
    ]


class HeadRows(Tuned):
    def merge(self):
        self.base_layer.weight.data[104] = 1.0
        self.merged_adapters.append("default")


def test_an_adapter_that_cannot_be_merged_is_refused_and_left(model):
    layer = Swapped(model.model.layers[0].input_layernorm)
    layer.merge = lambda: {}["two at a time"]
    model.model.layers[0].input_layernorm = layer
    with pytest.raises(InputError, match="merging raised KeyError: 'two at a time'"):
        collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    assert model.model.layers[0].input_layernorm is layer
    assert not layer.merged


@pytest.mark.filterwarnings("ignore:Not part of the model")
def test_compiled_blocks_are_measured_as_written_with_the_hooks_on_them(model):
    vector = torch.linspace(0.0, 1.0, 32)
    plain = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    hook = model.model.layers[1].mlp.register_forward_hook(lambda _m, _a, out: out + vector)
    steered = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    hook.remove()
    calls = []

    def compiling(graph, _examples):
        calls.append(graph)
        return graph.forward

    mlp = torch.compile(model.model.layers[1].mlp, backend=compiling)
    model.model.layers[0] = torch.compile(model.model.layers[0], backend=compiling)
    model.model.layers[1].mlp = mlp
    model.model.layers[2].compile(backend=compiling)
    result = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    assert not calls
    columns = ["layer", "site", "position", "norm"]
    pd.testing.assert_frame_equal(result["residual_norm"][columns], plain["residual_norm"][columns])
    assert result["run"]["run_id"].tolist() == plain["run"]["run_id"].tolist()
    mlp.register_forward_hook(lambda _m, _a, out: out + vector)
    result = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    pd.testing.assert_frame_equal(
        result["residual_norm"][columns], steered["residual_norm"][columns]
    )
    assert model.model.layers[1].mlp is mlp
    assert not mlp._orig_mod._forward_hooks


def test_a_block_that_was_copied_runs_the_attention_code_that_is_asked_for(model):
    model.set_attn_implementation("sdpa")
    block = copy.deepcopy(model.model.layers[1])
    model.model.layers.append(block)
    block.self_attn.layer_idx, model.config.num_hidden_layers = 3, 4
    frames = collect.measure(model, tiny_tokenizer(), TEXTS, quantities=ASKED)
    assert frames["model"]["n_layers"].tolist() == [4]
    codes = [layer.self_attn.config._attn_implementation for layer in model.model.layers]
    assert codes == ["sdpa"] * 4
