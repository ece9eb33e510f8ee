"""The network of a recipe, as an ordinary transformers model of one of three families."""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig, AutoModelForCausalLM

from collect.prompts.tokenizer import N_BYTES
from collect.training.recipe import Recipe


def initialised_network(recipe: Recipe) -> Any:
    """Return the untrained network of a recipe, its weights drawn from torch's generator."""
    return AutoModelForCausalLM.from_config(configuration(recipe), attn_implementation="sdpa")


def configuration(recipe: Recipe) -> Any:
    """Return the transformers configuration of a recipe: 256 bytes, no special token."""
    settings = {"gpt2": _gpt2, "gpt_neox": _gpt_neox, "llama": _llama}[recipe.family](recipe)
    return AutoConfig.for_model(
        recipe.family,
        vocab_size=N_BYTES,
        initializer_range=recipe.initializer_range,
        bos_token_id=None,
        eos_token_id=None,
        **settings,
    )


def _gpt2(recipe: Recipe) -> dict[str, Any]:
    geometry = recipe.geometry
    return {
        "n_layer": geometry.n_layers,
        "n_embd": geometry.d_model,
        "n_head": geometry.n_heads,
        "n_positions": geometry.context,
        "n_inner": 4 * geometry.d_model,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
    }


def _gpt_neox(recipe: Recipe) -> dict[str, Any]:
    geometry = recipe.geometry
    return {
        "num_hidden_layers": geometry.n_layers,
        "hidden_size": geometry.d_model,
        "num_attention_heads": geometry.n_heads,
        "max_position_embeddings": geometry.context,
        "intermediate_size": 4 * geometry.d_model,
    }


def _llama(recipe: Recipe) -> dict[str, Any]:
    geometry = recipe.geometry
    return {
        "num_hidden_layers": geometry.n_layers,
        "hidden_size": geometry.d_model,
        "num_attention_heads": geometry.n_heads,
        "num_key_value_heads": geometry.n_kv_heads,
        "max_position_embeddings": geometry.context,
        "intermediate_size": _gated_width(geometry.d_model),
    }


def _gated_width(d_model: int) -> int:
    """Return the inner width that gives a gated layer the parameters of an ungated 4 d one."""
    return max(8, 8 * d_model // 3 // 8 * 8)
