"""A trained model of every family is an ordinary checkpoint that conforms to its adapter."""

import math

import pytest
import torch
from transformers import AutoTokenizer

from collect.model.checkpoint.load import load_model
from collect.model.checkpoint.location import locate
from collect.model.description import model_row
from collect.training.architecture import initialised_network
from collect.training.descent import fit, held_out_loss, next_token_loss, tokenizer_of, windows_of
from collect.training.families import FAMILIES
from collect.training.input_table import fold_table
from collect.training.train import train
from tests.collect.shown import examined
from tests.collect.training.trained import TEXT, micro, table, toml


def trained(directory, family, **more):
    (directory / "text.txt").write_bytes(TEXT)
    recipe = directory / "micro.toml"
    recipe.write_text(toml(table(family, **more)), encoding="utf-8")
    keep = "checkpoints" in more.get("schedule", {})
    return train(recipe, directory / "out", keep=keep, quiet=True)


#: What each family is trained with here, so that every switch is met by one of them.
SWITCHES = {
    "gpt2": {"architecture": {"embedding_scale": 3.0, "dropout": 0.1}},
    "gpt_neox": {"architecture": {"parallel": False, "tied": True}},
    "gptj": {"initial": {"inner": 0.6, "residual": "wang"}},
    "opt": {"architecture": {"norm_position": "post"}},
    "falcon": {"architecture": {"parallel": False}, "optimiser": {"name": "sgd"}},
    "gpt_neo": {"initial": {"residual": "depth_ffn"}},
    "llama": {"geometry": {"n_kv_heads": 1}, "optimiser": {"name": "muon"}},
    "gemma": {"architecture": {"tied": False}},
    "glm": {"architecture": {"norm_position": "sandwich", "embedding_norm": True, "tied": True}},
    "granite": {"architecture": {"embedding_scale": 12.0}},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_of_every_family_conforms_before_and_after_training(tmp_path, family):
    switches = SWITCHES.get(family, {})
    directory = trained(tmp_path, family, **switches, schedule={"steps": 8, "checkpoints": [0]})
    for place in (directory / "step0", directory):
        checkpoint = locate(str(place))
        placed = load_model(checkpoint)
        assert all(finding.is_met for finding in examined(placed).values())
    row = model_row(checkpoint, placed).iloc[0]
    asked = switches.get("architecture", {})
    recipe = micro(family, **switches)
    assert row["norm_position"] == asked.get("norm_position", FAMILIES[family].norm_position)
    assert row["is_parallel"] == asked.get("parallel", FAMILIES[family].is_parallel[0])
    is_folded = recipe.norms_embedding_itself or recipe.scales_embedding_itself
    assert row["is_tied"] == (asked.get("tied", FAMILIES[family].is_tied) and not is_folded)


@pytest.mark.parametrize(
    "switches",
    [
        {"embedding_scale": 5.0},
        {"embedding_norm": True},
        {"embedding_norm": True, "embedding_scale": 5.0},
    ],
)
@pytest.mark.parametrize("tied", [True, False])
def test_the_folded_table_gives_the_same_network(switches, tied):
    recipe = micro("gpt_neox", architecture={**switches, "tied": tied})
    network = initialised_network(recipe).eval()
    embedding, head = network.get_input_embeddings(), network.get_output_embeddings()
    shared = embedding.parametrizations.weight.original
    assert (head.weight is shared) == tied
    factor = switches.get("embedding_scale", 1.0)
    if "embedding_norm" not in switches:
        assert torch.equal(embedding.weight, factor * shared)
    else:
        spread = embedding.weight.std(dim=1, correction=0)
        assert spread.allclose(torch.full((256,), factor), rtol=0.05)
    tokens = torch.arange(60, 90)[None]
    before = network(tokens).logits
    fold_table(network)
    assert torch.equal(network(tokens).logits, before)
    assert not network.config.tie_word_embeddings


def test_a_scale_on_the_table_is_that_of_granites_configuration():
    scaled = micro("granite", architecture={"embedding_scale": 6.0})
    bare = micro("granite")
    torch.manual_seed(0)
    expected = initialised_network(scaled).eval()
    torch.manual_seed(0)
    network = initialised_network(bare).eval()
    with torch.no_grad():
        network.get_input_embeddings().weight.mul_(6.0)
    tokens = torch.arange(60, 90)[None]
    assert torch.allclose(network(tokens).logits, expected(tokens).logits, atol=1e-6)


def test_z_loss_is_the_mean_squared_normaliser():
    network = initialised_network(micro("llama")).eval()
    windows = torch.arange(33)[None] + 60
    with torch.no_grad():
        logits = network(windows[:, :-1]).logits
        plain = next_token_loss(network, windows).item()
        result = next_token_loss(network, windows, 0.25).item()
    normaliser = logits.double().exp().sum(-1).log().square().mean().item()
    assert result - plain == pytest.approx(0.25 * normaliser, rel=1e-4)


def test_checkpoints_are_seen_and_change_nothing():
    seen = []
    recipe = micro(schedule={"checkpoints": [0, 7, 20]})
    watched = fit(recipe, TEXT, watch=lambda step, network, loss: seen.append((step, loss)))
    assert [step for step, _ in seen] == [0, 7, 20]
    assert tuple(seen) == watched.trajectory
    assert (seen[0][1], seen[-1][1]) == (watched.loss_before, watched.loss_after)
    plain = fit(micro(), TEXT)
    pairs = zip(watched.network.parameters(), plain.network.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_training_stops_at_the_first_checkpoint_that_reaches_the_loss():
    every = list(range(0, 21, 2))
    whole_run = fit(micro(schedule={"checkpoints": every}), TEXT).trajectory
    goal = whole_run[6][1]
    first = next(step for step, loss in whole_run if loss <= goal)
    stopped = fit(micro(schedule={"checkpoints": every, "stop_loss": goal}), TEXT)
    assert stopped.n_steps == first < 20
    assert stopped.trajectory == whole_run[: every.index(first) + 1]


def test_training_goes_on_from_another_network():
    parent = fit(micro(), TEXT)
    child = fit(micro(seed=3), TEXT, start=parent.network.state_dict())
    assert child.loss_before == parent.loss_after
    assert child.loss_after < parent.loss_after


def test_a_byte_pair_encoding_is_learnt_and_its_loss_is_told_per_byte(tmp_path):
    recipe = micro(n_vocabulary=300, geometry={"context": 16})
    windows = windows_of(recipe, TEXT)
    assert 1.2 < windows.bytes_per_token < 3
    training = fit(recipe, TEXT)
    assert training.loss_before * windows.bytes_per_token == pytest.approx(math.log(300), abs=0.1)
    per_token = held_out_loss(training.network, windows.held_out, 4)
    assert training.loss_after == pytest.approx(per_token / windows.bytes_per_token, rel=1e-6)
    checkpoint = trained(tmp_path, "gpt_neox", n_vocabulary=300, geometry={"context": 16})
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    ids = tokenizer("In the beginning – naïvely")["input_ids"]
    assert tokenizer.decode(ids) == "In the beginning – naïvely"
    assert max(ids) >= 256
    assert len(tokenizer_of(recipe, TEXT)) == len(tokenizer) == 300
