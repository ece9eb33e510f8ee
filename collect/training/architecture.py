"""The network of a recipe, as an ordinary transformers model of its family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging

from collect.adapters import adapter_for
from collect.prompts.tokenizer import N_BYTES
from collect.training.initial import draw
from collect.training.input_table import shape_table
from collect.training.recipe import Recipe


def initialised_network(recipe: Recipe) -> Any:
    """Return the untrained network of a recipe, its weights drawn from torch's generator."""
    config = configuration(recipe)
    network = AutoModelForCausalLM.from_config(config, attn_implementation=_code(recipe, config))
    draw(network, recipe)
    shape_table(network, recipe)
    return network


def _code(recipe: Recipe, config: Any) -> str:
    """Return the attention code to train with: the fast one, where it is exact and exchangeable."""
    if recipe.family in _ONE_CODE:
        return adapter_for(config.model_type).attention_implementation(config)
    return "sdpa"


#: Families whose layout has one attention code only, or one that alone is right.
_ONE_CODE = frozenset({"bloom", "falcon", "gemma2", "gpt_neo", "gptj"})


def configuration(recipe: Recipe) -> Any:
    """Return the transformers configuration of a recipe; no token is special."""
    family, switches = recipe.layout, recipe.architecture
    geometry = recipe.geometry
    sizes = (geometry.n_layers, geometry.d_model, geometry.n_heads, geometry.context)
    shape = dict(zip(_NAMES.get(recipe.family, _USUAL_NAMES), sizes, strict=True))
    settings = {**shape, **_SETTINGS.get(recipe.family, _llama)(recipe)}
    if recipe.initializer_range is not None:
        settings[family.sigma] = recipe.initializer_range
    if family.dropout is not None:
        settings[family.dropout] = switches.dropout
    if switches.tied is not None:
        settings["tie_word_embeddings"] = switches.tied
    return AutoConfig.for_model(
        family.model_types[switches.norm_position or family.norm_position],
        vocab_size=recipe.n_vocabulary or N_BYTES,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        **settings,
    )


#: How configurations name the number of blocks, the width, the number of heads, and the context.
_USUAL_NAMES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "max_position_embeddings",
)
_NAMES = {
    "gpt2": ("n_layer", "n_embd", "n_head", "n_positions"),
    "gptj": ("n_layer", "n_embd", "n_head", "n_positions"),
    "gpt_neo": ("num_layers", "hidden_size", "num_heads", "max_position_embeddings"),
    "bloom": ("n_layer", "hidden_size", "n_head", "seq_length"),
}


def _gpt2(recipe: Recipe) -> dict[str, Any]:
    return {"n_inner": 4 * recipe.geometry.d_model, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


def _gpt_neo(recipe: Recipe) -> dict[str, Any]:
    pairs, odd = divmod(recipe.geometry.n_layers, 2)
    kinds = [[["global", "local"], pairs]] * (pairs > 0) + [[["global"], 1]] * odd
    return {"intermediate_size": 4 * recipe.geometry.d_model, "attention_types": kinds}


def _gpt_neox(recipe: Recipe) -> dict[str, Any]:
    settings: dict[str, Any] = {"intermediate_size": 4 * recipe.geometry.d_model}
    if recipe.architecture.parallel is not None:
        settings["use_parallel_residual"] = recipe.architecture.parallel
    return settings


def _opt(recipe: Recipe) -> dict[str, Any]:
    return {
        "ffn_dim": 4 * recipe.geometry.d_model,
        "word_embed_proj_dim": recipe.geometry.d_model,
        "do_layer_norm_before": recipe.architecture.norm_position != "post",
    }


def _falcon(recipe: Recipe) -> dict[str, Any]:
    """Return Falcon 7B's form when parallel, Falcon RW's (ALiBi, biases) when in sequence."""
    asked = recipe.architecture.parallel
    is_parallel = recipe.layout.is_parallel[0] if asked is None else asked
    return {
        "ffn_hidden_size": 4 * recipe.geometry.d_model,
        "parallel_attn": is_parallel,
        "multi_query": is_parallel,
        "alibi": not is_parallel,
        "bias": not is_parallel,
        "new_decoder_architecture": False,
    }


def _llama(recipe: Recipe) -> dict[str, Any]:
    geometry = recipe.geometry
    return {
        "num_key_value_heads": geometry.n_kv_heads or geometry.n_heads,
        # as wide as gives a gated layer the parameters of an ungated one of 4 d
        "intermediate_size": max(8, 8 * geometry.d_model // 3 // 8 * 8),
    }


def _wide_headed(recipe: Recipe) -> dict[str, Any]:
    """Return Llama's settings for a family whose heads do not follow from the width."""
    return {**_llama(recipe), "head_dim": recipe.geometry.d_model // recipe.geometry.n_heads}


def _gemma2(recipe: Recipe) -> dict[str, Any]:
    settings = _wide_headed(recipe)
    return {**settings, "query_pre_attn_scalar": settings["head_dim"]}


def _granite(recipe: Recipe) -> dict[str, Any]:
    d_head = recipe.geometry.d_model // recipe.geometry.n_heads
    return {
        **_llama(recipe),
        "attention_multiplier": d_head**-0.5,
        "embedding_multiplier": recipe.architecture.embedding_scale or 1.0,
    }


_SETTINGS: dict[str, Callable[[Recipe], dict[str, Any]]] = {
    "gpt2": _gpt2,
    "gpt_neo": _gpt_neo,
    "gpt_neox": _gpt_neox,
    "gptj": lambda recipe: {
        **_gpt2(recipe),
        "rotary_dim": recipe.geometry.d_model // recipe.geometry.n_heads // 4,
    },
    "opt": _opt,
    "bloom": lambda _recipe: {},
    "falcon": _falcon,
    "gemma": _wide_headed,
    "gemma2": _gemma2,
    "glm": _wide_headed,
    "granite": _granite,
}


def save_network(network: Any, directory: Path) -> None:
    """Write weights and configuration, without the progress bar transformers shows for it."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        network.save_pretrained(directory)
    finally:
        if shown:
            logging.enable_progress_bar()
