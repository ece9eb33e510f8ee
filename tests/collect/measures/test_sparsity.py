"""Sparsity of the stream: by hand, and in a run against the model's own states."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from collect.job.run import run
from collect.measures.sparsity import sparsity
from collect.record.integrity import faults
from tests.collect.record.written import frame


def test_it_is_0_of_equal_features_and_1_of_one_alone():
    assert sparsity(torch.ones(3, 16).double())["sparsity"].item() == pytest.approx(0)
    assert sparsity(torch.eye(4).double())["sparsity"].item() == pytest.approx(1)
    # |x|_1 = 7, |x|_2 = 5, d = 4: (2 - 7 / 5) / (2 - 1)
    by_hand = sparsity(torch.tensor([[3.0, 4, 0, 0]]).double())["sparsity"]
    assert by_hand.item() == pytest.approx(0.6)


def test_a_run_measures_it_at_every_site_of_every_prompt(save_tiny, prompt_file, out):
    directory = str(save_tiny("gpt2"))
    run([directory], [prompt_file], out, quantities=["sparsity"], batch_size=3, quiet=True)
    assert list(faults(out)) == []
    rows = frame(out, "stream_sparsity").set_index(["prompt_id", "layer", "site"])["sparsity"]
    model = AutoModelForCausalLM.from_pretrained(directory)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    prompts = frame(out, "prompt").set_index("prompt_id")["text"]
    n_layers = model.config.num_hidden_layers
    assert len(rows) == len(prompts) * (n_layers + 2)
    for prompt_id, text in prompts.items():
        with torch.no_grad():
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            states = model(ids, output_hidden_states=True).hidden_states
        places = [(0, "block_input"), *((n, "block_output") for n in range(n_layers - 1))]
        for place, of in zip([*places, (n_layers - 1, "final_norm")], states, strict=True):
            x = of[0].double().numpy()
            root = np.sqrt(x.shape[-1])
            ratio = np.abs(x).sum(-1) / np.sqrt((x * x).sum(-1))
            expected = ((root - ratio) / (root - 1)).mean()
            assert rows[(prompt_id, *place)] == pytest.approx(expected, abs=1e-6)
