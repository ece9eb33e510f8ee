"""Checkpoints that read images or sound too: the text within is measured as the text alone."""

import pandas as pd
import pytest
import torch
import transformers

from collect.adapters import ADAPTERS, adapter_for
from collect.adapters.nested import ALIKE, PLACES
from collect.job.run import run
from tests.collect import partial_families
from tests.collect.adapters.on_disk import are_equal, loaded_and_streamed
from tests.collect.conftest import tiny_tokenizer
from tests.collect.families import randomise
from tests.collect.record.written import frame
from tests.collect.shown import examined

TEXT = {
    **{"vocab_size": 300, "pad_token_id": 0, "hidden_size": 48, "intermediate_size": 80},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3},
    **{"max_position_embeddings": 64, "head_dim": 12},
}
SIGHT = {
    **{"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1},
    **{"num_attention_heads": 2, "depth": 1, "num_heads": 2, "embed_dim": 16},
    "out_hidden_size": 48,
}
WINDOWED = {**TEXT, "sliding_window": 5}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
TURNS = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2]}
SEEING = {**TEXT, "rope_parameters": TURNS}
TOKENS = {"vocab_size": 300, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
LAYERED = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
HEARD = {**LAYERED, "hidden_size": 16, "num_key_value_heads": 2, "head_dim": 8}
SEEN = {**LAYERED, "hidden_size": 16, "image_size": 28, "patch_size": 14}


def in_part(model_type, **more):
    """Return the configuration of a text of which only a part is defined."""
    return {**partial_families.CONFIGURATIONS[model_type], **TOKENS, **more}


CONFIGURATIONS = {
    "gemma3": WINDOWED,
    "llama4": {**TEXT, "num_local_experts": 4, "intermediate_size_mlp": 80},
    "mistral3": {**WINDOWED, "model_type": "mistral"},
    "qwen2_vl": SEEING,
    "qwen2_5_vl": SEEING,
    "qwen3_vl": SEEING,
    "qwen3_vl_moe": {**SEEING, **EXPERTS},
    "dots3_note": in_part("dots3_note_text"),
    "emu3": TEXT,
    "fuyu": {**TEXT, "model_type": "persimmon", "num_key_value_heads": 4},
    "gemma4": in_part("gemma4_text", vocab_size_per_layer_input=300),
    "gemma4_unified": in_part("gemma4_unified_text"),
    "got_ocr2": {**TEXT, "model_type": "qwen2"},
    "llava": {**TEXT, "model_type": "llama"},
    "moss_transcribe_diarize": {**TEXT, "model_type": "qwen3"},
    "phi4_multimodal": TEXT,
    "qwen3_5": in_part("qwen3_5_text"),
    "qwen3_5_moe": in_part("qwen3_5_moe_text"),
}

#: What surrounds the text, where it is not `SIGHT` alone.
AROUND = {
    "dots3_note": {
        "vision_config": {
            **SIGHT,
            **{"moe_intermediate_size": 8, "num_local_experts": 2, "num_experts_per_tok": 1},
            **{"mlp_layer_types": ["dense"], "adapter_in_dim": 16, "adapter_out_dim": 48},
        },
        "audio_config": {
            **HEARD,
            "downsample_hidden_size": 4,
            "adapter_input_size": 16,
            "adapter_out_dim": 48,
            "feature_size": 8,
        },
    },
    "emu3": {
        "vq_config": {
            **{"codebook_size": 8, "base_channels": 32, "channel_multiplier": [1]},
            **{"num_res_blocks": 1, "hidden_size": 32, "embed_dim": 2, "latent_channels": 2},
            "attn_resolutions": [],
        },
        "vocabulary_map": {"<image>": 19, "<|extra_200|>": 18}
        | {f"<|visual token {place:06d}|>": 20 + place for place in range(8)},
    },
    "fuyu": {"image_size": 32, "patch_size": 8, "image_token_id": 9},
    "gemma4": {
        "vision_config": {**SIGHT, "num_key_value_heads": 2, "head_dim": 8},
        "audio_config": None,
    },
    "gemma4_unified": {"vision_config": None, "audio_config": None},
    "got_ocr2": {
        "vision_config": {
            **SEEN,
            **{"patch_size": 16, "image_size": 32, "output_channels": 8, "mlp_dim": 16},
            **{"window_size": 2, "global_attn_indexes": [0]},
        }
    },
    "llava": {
        "vision_config": {**SEEN, "model_type": "clip_vision_model", "projection_dim": 16},
        "image_token_index": 9,
        "vision_feature_layer": -1,
    },
    "moss_transcribe_diarize": {
        "audio_config": {
            **LAYERED,
            "hidden_size": 16,
            "num_mel_bins": 8,
            "max_source_positions": 16,
        },
        "audio_token_id": 9,
    },
    "phi4_multimodal": {
        "vision_config": {**SEEN, "num_hidden_layers": 2, "crop_size": 28, "image_token_id": 9},
        "audio_config": {
            **{"hidden_size": 16, "intermediate_size": 16, "num_blocks": 2},
            **{"num_attention_heads": 2, "ext_pw_out_channel": 16},
            **{"depthwise_separable_out_channel": 16, "nemo_conv_channels": 16, "input_size": 8},
            **{"audio_token_id": 8, "nemo_final_size": 1},
        },
    },
    "qwen3_5": {"vision_config": {**SIGHT, "num_position_embeddings": 16}},
    "qwen3_5_moe": {"vision_config": {**SIGHT, "num_position_embeddings": 16}},
}


def small(model_type):
    """Return a small random model that reads images or sound beside text, as it is published."""
    around = AROUND.get(model_type, {"vision_config": SIGHT})
    text = CONFIGURATIONS[model_type]
    text = text if model_type == "phi4_multimodal" else {"text_config": text}
    config = transformers.AutoConfig.for_model(model_type, **text, **around)
    whole_first = (transformers.AutoModelForImageTextToText, transformers.AutoModelForCausalLM)
    factory = next(made for made in whole_first if type(config) in made._model_mapping)
    model = factory.from_config(config, attn_implementation="eager", dtype=torch.float32)
    randomise(model.eval(), seed=3)
    return model


def test_every_type_with_a_text_within_is_shown_here():
    assert set(CONFIGURATIONS) == set(PLACES)


@pytest.mark.parametrize("model_type", CONFIGURATIONS)
def test_the_text_within_conforms_loaded_and_block_by_block(model_type, tmp_path):
    small(model_type).save_pretrained(tmp_path)
    placed, loaded, streamed = loaded_and_streamed(tmp_path)
    assert are_equal(loaded, streamed)
    findings = examined(placed).values()
    assert not [result for result in findings if result.is_met is False]
    left_open = [result for result in findings if result.is_met is None]
    assert all(result.reason.startswith("not defined: ") for result in left_open)
    assert bool(left_open) == bool(placed.adapter.lacks)


def test_the_numbers_are_those_of_the_text_alone(tmp_path, prompt_file):
    model = small("gemma3")
    config = model.config.text_config
    alone = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    alone.model.load_state_dict(model.model.language_model.state_dict())
    alone.tie_weights()
    for name, each in {"within": model, "alone": alone}.items():
        each.save_pretrained(tmp_path / name)
        tiny_tokenizer().save_pretrained(tmp_path / name)
        run([str(tmp_path / name)], [prompt_file], tmp_path / "out" / name, quiet=True)
    within, only = tmp_path / "out" / "within", tmp_path / "out" / "alone"
    for table in ("residual_norm", "residual_update", "attention", "weight_norm", "next_token"):
        rows = (frame(out, table).drop(columns=["run_id", "model_id"]) for out in (within, only))
        pd.testing.assert_frame_equal(*rows, obj=table)
    ours, theirs = frame(within, "model").iloc[0], frame(only, "model").iloc[0]
    assert (ours["family"], theirs["family"]) == ("gemma3", "gemma3_text")
    assert ours["n_parameters"] == theirs["n_parameters"]


def test_every_place_leads_to_an_adapter():
    for model_type, (_, text_type) in PLACES.items():
        assert text_type in ADAPTERS
        assert adapter_for(model_type).name == ADAPTERS[text_type].name
    assert set(ALIKE.values()) <= set(ADAPTERS)
    assert not set(ALIKE) & set(ADAPTERS)
    assert not set(PLACES) & set(ADAPTERS)
