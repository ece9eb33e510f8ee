"""What recipes, responses and sources of variance are called wherever the study is shown."""

from __future__ import annotations

from collections.abc import Mapping

#: What a recipe of the study is called on the page; both ends of a range share a name.
RECIPES: Mapping[str, str] = {
    "gpt_neo": "GPT-Neo",
    "gptj": "GPT-J",
    "pythia": "Pythia",
    "pythia_default_init": "Pythia (default)",
    "opt": "OPT",
    "opt_post": "OPT, norms after",
    "bloom": "BLOOM",
    "olmo2": "OLMo 2",
    "gpt2_like_low_decay": "like GPT-2",
    "gpt2_like_high_decay": "like GPT-2",
    "llama_like_small_init": "like LLaMA",
    "llama_like_large_init": "like LLaMA",
    "gemma_like_small_init": "like Gemma",
    "gemma_like_large_init": "like Gemma",
    "falcon_like_small_init": "like Falcon",
    "falcon_like_large_init": "like Falcon",
}

#: Lab of a recipe that imitates no documented one.
UNPUBLISHED = "not published"

#: Names of the responses.
RESPONSES: Mapping[str, str] = {
    "excess": "growth beyond equal writes",
    "first_log_gain": "jump of block 0",
    "last_log_gain": "gain of the last block",
    "share_negative": "share of shrinking blocks",
}

#: Names of the sources of variance, in the order of the bars.
SOURCES: Mapping[str, str] = {
    "recipe": "recipe",
    "geometry": "shape",
    "recipe:geometry": "recipe by shape",
    "seed": "chance",
}

#: What the high level of each ingredient of a recipe does that the low one does not.
INGREDIENTS: Mapping[str, str] = {
    "norm_position": "norms after each part, too",
    "embedding_scale": "embedding times 8",
    "embedding_norm": "norm of the embedding",
    "learning_rate": "learning rate times 4",
    "decay_turns": "more weight decay",
    "inner": "larger first weights",
    "embedding": "larger first embedding",
    "residual": "smaller first outputs",
    "tied": "embedding tied",
    "beta2": "β₂ .999 for .95",
    "warm_up": "longer warm-up",
    "z_loss": "z-loss",
    "embedding_decay": "embedding not decayed",
    "clip": "tighter clipping",
    "depth": "6 blocks for 3",
    "text": "another text",
}
