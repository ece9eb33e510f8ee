"""Every refusal is shown on small random models: the quantity that it names is not there."""

import pytest
import torch
import transformers

from collect.adapters import answers, refused
from tests.collect.families import randomise

REFUSED = [entry.model_type for entry in answers.answers() if entry.answer == answers.NOT]

SMALL = {
    **{"default_language": "en_XX", "emb_dim": 48, "embedding_size": 48, "hc_count": 4},
    **{"hc_lowrank": 16, "head_dim": 12, "heads_per_ngram": 2, "hidden_size": 48},
    **{"hidden_size_per_layer_input": 8, "intermediate_size": 64, "is_decoder": False},
    **{"max_position_embeddings": 64, "moe_intermediate_size": 16, "n_head": 4, "n_heads": 4},
    **{"n_layer": 2, "n_layers": 2, "n_routed_experts": 4, "num_attention_heads": 4},
    **{"num_experts": 4, "num_experts_per_tok": 2, "num_hidden_layers": 2},
    **{"num_key_value_heads": 2, "num_kv_shared_layers": 0, "num_layers_per_stack": 2},
    **{"pad_token_id": 0, "vocab_size": 97, "vocab_size_per_layer_input": 97},
}


#: The parts of models that are made of several.
PART = {
    **{"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2},
    **{"num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 97},
}
SIGHT = {**PART, "image_size": 28, "num_hidden_layers": 1, "patch_size": 14}
DRAFT = {**PART, "global_head_dim": 8, "head_dim": 8, "hidden_size_per_layer_input": 0}

#: What a type needs besides, by type.
MORE = {
    "blt": {
        "patcher_config": PART,
        "encoder_config": {**PART, "hidden_size_global": 16, "num_hidden_layers": 1},
        "decoder_config": {**PART, "hidden_size_global": 16},
        "global_config": PART,
        "encoder_hash_byte_group_vocab": 50,
        "patching_threshold": 1000.0,
    },
    "cpmant": {"dim_head": 12, "dim_ff": 64, "prompt_length": 4},
    "gemma4_assistant": {
        "backbone_hidden_size": 16,
        "text_config": {**DRAFT, "num_kv_shared_layers": 2, "vocab_size_per_layer_input": 0},
    },
    "gemma4_unified_assistant": {
        "backbone_hidden_size": 16,
        "text_config": {**DRAFT, "num_kv_shared_layers": 0},
    },
    "git": {"vision_config": SIGHT},
    "hrm_text": {"num_layers_per_stack": 2, "num_hidden_layers": 16},
    "mllama": {
        "text_config": {**PART, "cross_attention_layers": [1], "pad_token_id": 0},
        "vision_config": {
            **SIGHT,
            **{"num_global_layers": 1, "attention_heads": 2, "vision_output_dim": 32},
            **{"intermediate_layers_indices": [0], "supported_aspect_ratios": [[1, 1]]},
            "max_num_tiles": 1,
        },
    },
    "reformer": {
        **{"is_decoder": True, "axial_pos_shape": (8, 8), "axial_pos_embds_dim": (16, 32)},
        **{"attn_layers": ["local", "local"], "attention_head_size": 12, "feed_forward_size": 64},
        "local_attn_chunk_length": 4,
    },
    "xlnet": {"d_model": 48, "n_layer": 2, "n_head": 4, "d_inner": 64},
}

IDS = torch.arange(3, 15).view(1, 12)


def reason_of(model_type):
    """Return why a type is refused."""
    return refused.REFUSED[model_type].reason


def small(model_type):
    """Return a small random model of a type, whatever its entries are called."""
    more = MORE.get(model_type, {})
    named = transformers.AutoConfig.for_model(model_type, **more).to_dict()
    entries = {name: value for name, value in SMALL.items() if name in named}
    config = transformers.AutoConfig.for_model(model_type, **{**entries, **more})
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    randomise(model.eval(), seed=0)
    return model


def entering(model, blocks):
    """Return the first argument of every call of some blocks in one pass."""
    seen = []
    for block in blocks:
        block.register_forward_pre_hook(
            lambda _module, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]),
            with_kwargs=True,
        )
    model(IDS, use_cache=False)
    return seen


def sees_later(model):
    """Return whether what follows the first token changes with the last."""
    changed = IDS.clone()
    changed[0, -1] = 40
    return not torch.allclose(model(IDS).logits[0, 0], model(changed).logits[0, 0], atol=1e-4)


def an_encoder(model_type):
    """In an encoder a token sees those after it."""
    assert sees_later(small(model_type))


def reading_an_encoder(model_type):
    """Blocks of a decoder with an encoder have a part that reads it."""
    config = transformers.AutoConfig.for_model(model_type)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    assert names & {"encoder_attn", "cross_attn"}


def several_streams(model_type):
    """A token has several vectors between blocks."""
    named = transformers.AutoConfig.for_model(model_type)
    if hasattr(named, "text_config"):  # which holds another type of the list as its text
        assert named.text_config.model_type in refused.REFUSED["gemma3n"].model_types
        return
    model = small(model_type)
    seen = entering(model, model.model.layers)
    assert min(states.numel() / IDS.numel() for states in seen) > model.config.hidden_size


def mixed_blocks(model_type):
    """A block reads the outputs of earlier ones beside what the one before returned."""
    model = small(model_type)
    last = model.model.layers[-1]
    calls = []
    hook = last.register_forward_pre_hook(
        lambda _module, args, kwargs: calls.append((args, kwargs)), with_kwargs=True
    )
    model(IDS, use_cache=False)
    hook.remove()
    ((states, earlier), kwargs) = calls[0]
    assert earlier.shape[-2] > 0
    assert not torch.allclose(last(states, earlier, **kwargs), last(states, 2 * earlier, **kwargs))


def reversible(model_type):
    """A block returns two different streams of a vector a token."""
    model, seen = small(model_type), []
    for block in model.reformer.encoder.layers:
        block.register_forward_hook(lambda _module, _args, output: seen.append(output))
    model(IDS)
    for output in seen:
        assert output.attn_output.shape == output.hidden_states.shape
        assert not torch.allclose(output.attn_output, output.hidden_states)


def of_permutations(model_type):
    """On text alone a token sees later ones; asked for a prediction, a second stream makes it."""
    model = small(model_type)
    assert sees_later(model)
    asked = torch.eye(IDS.shape[1])[None]
    assert not torch.allclose(model(IDS, target_mapping=asked).logits, model(IDS).logits, atol=1e-4)


def looped(model_type):
    """The same blocks run several times in a pass."""
    model = small(model_type)
    blocks = model.model.L_module.layers
    assert len(entering(model, blocks)) > len(blocks)


def of_bytes(model_type):
    """Blocks read another number of vectors than there are tokens."""
    model = small(model_type)
    seen = entering(model, model.model.global_transformer.layers)
    assert {states.shape[1] for states in seen}.isdisjoint({IDS.shape[1]})


def prefixed(model_type):
    """Blocks read more tokens than were given, and a token sees later ones."""
    model = small(model_type)
    seen = entering(model, model.cpmant.encoder.layers)
    assert {states.shape[1] for states in seen} == {IDS.shape[1] + model.config.prompt_length}
    assert sees_later(model)


def of_sound(model_type):
    """One position has the logits of several codebooks."""
    of_decoder = transformers.AutoConfig.for_model(model_type).decoder.to_dict()
    config = transformers.AutoConfig.for_model(
        **{**of_decoder, **PART, "ffn_dim": 16, "num_codebooks": 3}
    )
    mapping = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    model = getattr(transformers, mapping[model_type])(config).eval()
    assert model(IDS.repeat(3, 1)).logits.shape == (3, IDS.shape[1], 97)
    with pytest.raises((ValueError, RuntimeError)):
        model(IDS)


def without_image(model_type):
    """Without an image some blocks are left out."""
    model = small(model_type)
    ran = len(entering(model, model.model.layers))
    assert ran < len(model.model.layers)


def image_first(model_type):
    """An image stands in front of a prompt, and changes what is predicted after every token."""
    model = small(model_type)
    image = torch.randn(1, 3, 28, 28, generator=torch.Generator().manual_seed(0))
    alone, seen = model(IDS).logits, model(IDS, pixel_values=image).logits
    assert seen.shape[1] > IDS.shape[1]
    assert not torch.allclose(seen[:, -IDS.shape[1] :], alone, atol=1e-3)


#: What shows the reason of a refusal on a model of one of its types.
SHOWN = {
    reason_of(model_type): shows
    for model_type, shows in (
        ("bert", an_encoder),
        ("t5", reading_an_encoder),
        ("gemma3n", several_streams),
        ("inkling2_text", mixed_blocks),
        ("reformer", reversible),
        ("xlnet", of_permutations),
        ("hrm_text", looped),
        ("blt", of_bytes),
        ("cpmant", prefixed),
        ("musicgen", of_sound),
        ("mllama", without_image),
        ("git", image_first),
    )
}

#: One type of each refusal whose types the installed transformers cannot build, and why.
NOT_BUILT = {
    "gemma4_assistant": "its code asks for keys that its configuration does not have",
    "stablelm_alpha": "its code is in the checkpoint's own repository, and is never run",
}


@pytest.mark.parametrize("model_type", [name for name in REFUSED if reason_of(name) in SHOWN])
@torch.no_grad()
def test_what_a_refusal_says_is_not_there_is_not_there(model_type):
    SHOWN[reason_of(model_type)](model_type)


def test_every_refusal_is_shown_or_its_types_cannot_be_built():
    for name, reason in NOT_BUILT.items():
        for model_type in refused.REFUSED[name].model_types:
            print(f"{model_type} is not shown: {reason}")
            with pytest.raises(
                ValueError, match=r"producing a cache|Unrecognized model identifier"
            ):
                small(model_type)
    shown = {*SHOWN, *map(reason_of, NOT_BUILT)}
    assert shown == {refusal.reason for refusal in refused.REFUSALS}
