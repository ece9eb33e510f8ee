"""Numbers of a prompt do not depend on the prompts beside it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

import collect
from collect.adapters.configuration import rotation_limits
from tests.collect.conftest import tiny_tokenizer


@pytest.mark.parametrize("kind", ["longrope", "dynamic"])
def test_a_short_prompt_has_its_numbers_whatever_long_one_is_beside_it(kind):
    is_long = kind == "longrope"
    rotation = {"rope_type": kind, "rope_theta": 1e4, "factor": 4.0}
    rotation |= {"original_max_position_embeddings": 32}
    rotation |= {"short_factor": [1.0] * 4, "long_factor": [3.0] * 4} if is_long else {}
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.LlamaConfig(
        vocab_size=257, intermediate_size=48, rope_parameters=rotation, **shape
    )
    config.max_position_embeddings = 64 if is_long else 32
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config)
    texts = ["a b c d", "e f g h i", "j" * (40 if is_long else 32)]

    def norms(texts):
        return collect.measure(model, tiny_tokenizer(), texts, quantities="stream")["residual_norm"]

    together = norms(texts)
    for place, text in enumerate(texts):
        beside = together[together["prompt_id"] == f"prompts:{place:02d}"]["norm"]
        np.testing.assert_allclose(beside, norms([text])["norm"], rtol=1e-5)


def test_lengths_at_which_angles_change_are_read_off_any_form_of_configuration():
    long = {"rope_type": "longrope", "original_max_position_embeddings": 32}
    scaled = {"rope_type": "yarn", "long_mscale": 2.0, "original_max_position_embeddings": 16}
    plain = {"rope_type": "default", "rope_theta": 1e4}
    yarn = {"rope_type": "yarn", "original_max_position_embeddings": 8}
    for rotation, limits in [
        (long, (32,)),
        (scaled, (16,)),
        (plain, ()),
        (yarn, ()),
        ({"sliding_attention": plain, "full_attention": long}, (32,)),
        ({"rope_type": "dynamic"}, (64,)),
        (None, ()),
    ]:
        config = SimpleNamespace(rope_parameters=rotation, max_position_embeddings=64)
        assert rotation_limits(config) == limits
    assert rotation_limits(SimpleNamespace()) == ()
