"""The command ``gauge``: an ordinary checkpoint and a certificate, or one clear sentence."""

import json

import pytest
import torch
import transformers

from collect.commands import model_options
from collect.commands.cli import main
from collect.errors import InputError
from collect.gauge import command, logits
from collect.gauge.group import OF_SCALARS, TRANSFORMATIONS
from collect.model.checkpoint.load import load_model
from collect.model.checkpoint.location import locate


def certificate(directory):
    """Return the certificate of a changed checkpoint."""
    return json.loads((directory / "gauge.json").read_text())


@pytest.fixture
def changed(save_tiny, prompt_file, tmp_path):
    """Return a tiny checkpoint, a free place for another, and the option that names prompts."""

    def places(family):
        return save_tiny(family), tmp_path / "changed", ["--prompts", str(prompt_file)]

    return places


def test_a_changed_checkpoint_loads_and_predicts_the_same(changed):
    before, after, prompts = changed("gpt2")
    arguments = ["gauge", str(before), "--out", str(after), *prompts]
    assert main([*arguments, "--seed", "3"]) == 0
    result = certificate(after)
    assert result["is_head_parted"]
    assert result["logits_float64"]["relative"] < 1e-12
    assert result["logits_float32"]["relative"] < 1e-4
    quantities = {entry["quantity"]: entry for entry in result["quantities"]}
    assert quantities["output_entropy"]["largest_change"] < 1e-10
    assert quantities["gain_block_centred"]["largest_change"] < 1e-10
    assert quantities["gain_last_block"]["largest_change"] > 1e-3
    model = load_model(locate(str(after))).model
    assert model.config.tie_word_embeddings is False
    ids = torch.tensor([list(b"The sky is")])
    of_library = transformers.AutoModelForCausalLM.from_pretrained(after)
    original = transformers.AutoModelForCausalLM.from_pretrained(before)
    with torch.no_grad():
        true, same = original(ids).logits, of_library(ids).logits
    assert torch.allclose(true, same, atol=1e-3 * float(true.abs().max()))
    assert main([*arguments, "--seed", "3"]) == 2
    assert main([*arguments, "--overwrite", "--transformations", "value_basis"]) == 0
    assert certificate(after)["transformations"] == ["value_basis"]


def test_the_last_gain_goes_as_far_as_float32_allows_both_ways(save_tiny, prompt_file, tmp_path):
    before = save_tiny("gpt_neox")
    reached = {}
    for way in ([], ["--lower"]):
        after = tmp_path / f"extreme{len(way)}"
        arguments = ["gauge", str(before), "--out", str(after), "--prompts", str(prompt_file)]
        assert main([*arguments, "--extreme", "gain_last_block", *way]) == 0
        result = certificate(after)
        assert result["logits_float32"]["relative"] < result["tolerance"]
        reached[result["direction"]] = result["reached"]["value"]
    assert reached["raise"] > 20
    assert reached["lower"] < 1 / 20


@pytest.mark.parametrize(("network", "number_format"), [("wide", "float64"), ("short", "float32")])
def test_logits_that_moved_are_refused_and_nothing_is_written(
    network, number_format, changed, monkeypatch, capsys
):
    before, after, prompts = changed("gpt2")

    def moved(_decoder, read):
        moved.calls += 1
        first = 2 if network == "wide" else 3
        for prompt in read:
            yield prompt, torch.tensor([1.0, 1.25 if moved.calls > first else 1.0])

    moved.calls = 0
    monkeypatch.setattr(logits, "streamed", moved)
    assert main(["gauge", str(before), "--out", str(after), *prompts]) == 6
    assert f"0.25 of the largest logit in {number_format}" in capsys.readouterr().err
    assert not after.exists()


def test_token_ids_need_no_tokenizer_texts_do_and_turns_are_refused(changed, tmp_path, capsys):
    before, after, texts = changed("gpt2")
    ids, turns = tmp_path / "ids.jsonl", tmp_path / "turns.jsonl"
    ids.write_text("[5, 6, 7]\n")
    turns.write_text('[{"role": "user", "content": "a"}]\n')
    arguments = ["gauge", str(before), "--out", str(after)]
    assert main([*arguments, "--prompts", str(turns)]) == 2
    printed = capsys.readouterr().err
    assert "turns has turns" in printed
    assert "--chat-template" not in printed  # there is no such option
    for file in before.glob("*token*"):
        file.unlink()
    assert main([*arguments, "--prompts", str(ids), str(texts[-1])]) == 2
    assert "must bring its tokenizer" in capsys.readouterr().err
    assert main([*arguments, "--prompts", str(ids)]) == 0
    assert certificate(after)["n_prompts"] == 1


@pytest.mark.parametrize(
    ("family", "policy", "n_prompts"),
    [("gpt2", "skip", 15), ("llama", "extend", 25), ("gpt2", "extend", None)],
)
def test_prompts_beyond_the_context_are_left_out_or_read_whole(
    changed, capsys, family, policy, n_prompts
):
    before, after, _ = changed(family)
    arguments = ["gauge", str(before), "--out", str(after), "--transformations", "value_basis"]
    code = main([*arguments, "--prompts", "A_grand_unified", "--too-long", policy])
    assert code == (2 if n_prompts is None else 0)
    if n_prompts is None:  # positions are a table
        assert "wpe" in capsys.readouterr().err
    else:
        assert certificate(after)["n_prompts"] == n_prompts


@pytest.mark.parametrize(
    ("family", "options", "word"),
    [
        ("llama", ["--extreme", "gain_last_block"], "RMSNorm"),
        ("llama", ["--transformations", "mean_shift"], "RMSNorm"),
        ("gpt2", ["--extreme", "entropy"], "gain_last_block"),
        ("gpt2", ["--lower"], "must come with the quantity that --extreme moves"),
        (
            "gpt2",
            ["--extreme", "gain_body", "--transformations", "value_basis"],
            "--extreme beside",
        ),
        ("gpt2", ["--seed", "-1"], "The seed must be a whole number of 0 or more"),
        ("gpt2", ["--prompts", *["L2_opt_anomaly"] * 2], "prompt set must be named once; L2_opt"),
        ("gpt2", ["--prompts", "A_grand_unified"], "hint: Add --too-long skip"),
    ],
)
def test_what_is_not_free_is_one_sentence(family, options, word, changed, capsys):
    before, after, prompts = changed(family)
    assert main(["gauge", str(before), "--out", str(after), *prompts, *options]) == 2
    assert word in capsys.readouterr().err
    assert not after.exists()


def test_a_directory_of_something_else_is_left_alone(save_tiny, tmp_path, capsys):
    before = save_tiny("gpt2")
    (tmp_path / "mine").mkdir()
    assert main(["gauge", str(before), "--out", str(tmp_path / "mine"), "--overwrite"]) == 2
    assert "must be free" in capsys.readouterr().err


def test_the_help_lists_the_transformations_that_there_are():
    assert (*TRANSFORMATIONS, *OF_SCALARS) == model_options.TRANSFORMATIONS


def test_a_model_that_memory_cannot_hold_is_refused(save_tiny, tmp_path, monkeypatch):
    directory = save_tiny("llama")
    needed = command.plan(str(directory), too_long="skip").peak_bytes
    monkeypatch.setattr(command.memory, "available", lambda _device: needed - 1)
    with pytest.raises(InputError, match="float64"):
        command.gauge(str(directory), tmp_path / "out", too_long="skip")
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(command.memory, "available", lambda _device: needed)
    assert command.gauge(str(directory), tmp_path / "out", too_long="skip").is_dir()


def test_a_plan_counts_weights_in_float64_logits_and_the_head_that_is_parted(
    changed, load_tiny, capsys
):
    before, after, prompts = changed("gpt2")
    assert main(["gauge", str(before), "--out", str(after), *prompts, "--plan"]) == 0
    model = load_tiny("gpt2").model
    n = sum(parameter.numel() for parameter in model.parameters())
    n += model.get_input_embeddings().weight.numel()
    assert f"{4 * n / 1000:.3g} kB on disk" in capsys.readouterr().out
    assert not after.exists()
