"""Parts that run more than once in a pass: the last of final norms counts, others are refused."""

import pytest
import torch

import collect
from collect.commands.cli import main
from collect.errors import ConformanceError
from collect.instruments.hooks import Recorder
from collect.instruments.own.examples import raw_vectors
from collect.model.forward.passes import whole
from tests.collect.families import save_family, tiny_family
from tests.collect.record.written import frame
from tests.collect.shown import LONG, SHORT, loaded_family

IDS = [list(LONG.token_ids), list(SHORT.token_ids)]


def final_states(model):
    """Return what the model itself says of its last states, prompt after prompt: (n, d)."""
    with torch.no_grad():
        each = [model.model(torch.tensor([ids])).last_hidden_state[0] for ids in IDS]
    return torch.cat(each)


@pytest.mark.parametrize("how", [[], ["--stream"]])
def test_a_final_norm_that_also_stands_before_block_0_is_taken_after_the_last(tmp_path, how):
    directory, out = save_family("nanochat", tmp_path / "nanochat"), tmp_path / "out"
    ids = tmp_path / "ids.jsonl"
    ids.write_text("".join(f"{prompt}\n" for prompt in IDS))
    arguments = ["run", str(directory), "--prompts", str(ids), "--out", str(out)]
    assert main([*arguments, *how]) == 0
    result = frame(out, "residual_norm").query("site == 'final_norm'")
    expected = final_states(tiny_family("nanochat")).double().norm(dim=-1)
    ordered = result.sort_values(["prompt_id", "position"])["norm"].tolist()
    assert torch.allclose(torch.tensor(ordered, dtype=torch.float64), expected, rtol=1e-5)


def test_the_vectors_of_a_final_norm_that_runs_twice_are_one_a_token():
    model = tiny_family("nanochat")
    frames = collect.measure(model, None, IDS, quantities=raw_vectors(sites=("final_norm",)))
    result = frames["own_vector"].sort_values(["prompt_id", "position"])
    assert len(result) == len(LONG) + len(SHORT)
    vectors = torch.tensor([list(vector) for vector in result["vector"]])
    assert torch.allclose(vectors, final_states(model), atol=1e-4)


@pytest.mark.parametrize("part", ["self_attn", "post_attention_layernorm", "mlp"])
def test_a_part_of_a_block_that_runs_twice_is_refused(part):
    placed = loaded_family("llama")
    block = placed.blocks[1]
    module = block.get_submodule(part)

    def again(_module, args, kwargs):
        handle.remove()
        module(*args, **kwargs)

    handle = module.register_forward_pre_hook(again, with_kwargs=True)
    recorder = Recorder([(LONG, SHORT)], ("stream",))
    with pytest.raises(ConformanceError, match="of block 1"):
        [*whole(placed, [(LONG, SHORT)], recorder)]
