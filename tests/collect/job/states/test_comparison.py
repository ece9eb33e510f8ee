"""States compared with those of our own hooks: agreement, another place, refusals."""

import pytest
import torch
import transformers

from collect.commands.cli import main
from tests.collect.job.states.dumps import (
    N_LAYERS,
    PROMPTS,
    arguments,
    as_vllm,
    entered_and_left,
    stored,
)


def test_an_off_by_one_is_named(model, tmp_path, out, capsys):
    states = entered_and_left(model, PROMPTS[0])[:N_LAYERS].contiguous()
    path = stored("npz", states, PROMPTS[0], tmp_path)
    asked = ["--site", "block_output", "--against", str(model), "--out", str(out)]
    assert main(arguments(path, model, *asked)) == 1
    assert "layer 0 of the file equals layer -1" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.parametrize("shift", [0, 1])
def test_several_files_of_vllm_agree_unless_their_ids_are_one_too_high(
    shift, model, tmp_path, capsys
):
    paths = as_vllm(model, tmp_path, shift=shift)
    arguments = ["states", *map(str, paths), "--model", str(model), "--engine", "vllm"]
    assert main([*arguments, "--against", str(model)]) == shift
    verdict = ("layer by layer", "layer -1 of the file equals layer 0 of the model")[shift]
    assert verdict in capsys.readouterr().out


def _at(site, model, tokens):
    """Return what reads the stream between the parts of each block, or what is left at last."""
    network = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    seen = []
    if site == "block_mid":
        for layer in network.model.layers:
            layer.post_attention_layernorm.register_forward_pre_hook(
                lambda _m, args: seen.append(args[0][0])
            )
    elif site == "final_norm":
        network.model.norm.register_forward_hook(lambda _m, _a, out: seen.append(out[0]))
    else:
        network.model.embed_tokens.register_forward_hook(lambda _m, _a, out: seen.append(out[0]))
    with torch.inference_mode():
        network(torch.tensor([tokens]))
    return torch.stack(seen)


@pytest.mark.parametrize("site", ["embedding", "block_mid", "final_norm"])
def test_every_site_is_compared(site, model, tmp_path, capsys):
    states = _at(site, model, PROMPTS[0])
    asked = ["--site", site, "--against", str(model)]
    path = stored("npz", states, PROMPTS[0], tmp_path)
    assert main(arguments(path, model, *asked)) == 0
    assert capsys.readouterr().out.count(f"{site} of layer") == 2 * len(states)
    path = stored("npz", states.flip(1), PROMPTS[0], tmp_path)
    assert main(arguments(path, model, *asked)) == 1


def test_a_last_state_after_the_final_norm_is_named(model, tmp_path, capsys):
    network = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    with torch.inference_mode():
        output = network(torch.tensor([PROMPTS[0]]), output_hidden_states=True)
    states = torch.cat(output.hidden_states)
    path = stored("npz", states, PROMPTS[0], tmp_path)
    asked = ["--site", "block_input", "--against", str(model)]
    assert main(arguments(path, model, *asked)) == 1
    assert "after the final norm" in capsys.readouterr().out
