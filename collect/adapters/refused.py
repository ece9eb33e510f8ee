"""Model types that are known and refused, with the reason: what is measured is not in them."""

from __future__ import annotations

_ENCODER = "it is an encoder: its attention reaches later tokens, and it predicts no next token"
_REMOTE_CODE = "it is code in the checkpoint's own repository, which is never run"

_REASONS = {
    _ENCODER: (
        "albert",
        "bert",
        "big_bird",
        "camembert",
        "convbert",
        "deberta",
        "deberta-v2",
        "distilbert",
        "electra",
        "ernie",
        "esm",
        "longformer",
        "modernbert",
        "mpnet",
        "rembert",
        "roberta",
        "roberta-prelayernorm",
        "roformer",
        "xlm-roberta",
        "xlm-roberta-xl",
    ),
    "its decoder also reads an encoder, so a block adds more than attention and feed-forward": (
        "bart",
        "bigbird_pegasus",
        "blenderbot",
        "longt5",
        "m2m_100",
        "marian",
        "mbart",
        "mt5",
        "pegasus",
        "prophetnet",
        "switch_transformers",
        "t5",
        "t5gemma",
        "umt5",
        "whisper",
    ),
    "its blocks have a state instead of attention over tokens": (
        "falcon_mamba",
        "mamba",
        "mamba2",
        "rwkv",
        "xlstm",
    ),
    "some of its blocks have a state or a convolution in place of attention over tokens": (
        "bamba",
        "falcon_h1",
        "granitemoehybrid",
        "jamba",
        "kimi_linear",
        "lfm2",
        "lfm2_moe",
        "minimax",
        "nemotron_h",
        "olmo_hybrid",
        "qwen3_5",
        "qwen3_next",
        "recurrent_gemma",
        "zamba",
        "zamba2",
    ),
    "its keys and values come out of one compressed vector (multi-head latent attention), so a "
    "head's value matrix is a product that no adapter describes yet": (
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "glm4_moe_lite",
        "longcat_flash",
        "minicpm3",
        "youtu",
    ),
    _REMOTE_CODE: ("stablelm_alpha", "stablelm_epoch"),
    "its heads subtract one attention map from another": ("diffllama",),
    "it reads images or sound beside text; save its text part as a model of its own type": (
        "gemma3",
        "gemma3n",
        "gemma4",
        "llama4",
        "mllama",
        "phi4_multimodal",
    ),
}

#: Why a ``model_type`` is refused.
REFUSED = {model_type: reason for reason, types in _REASONS.items() for model_type in types}

_HINTS = {
    _ENCODER: "Name a causal decoder instead, such as gpt2 or a model of its kind.",
    _REMOTE_CODE: "Use a checkpoint that transformers reads itself, of type gpt_neox or stablelm; "
    "newer revisions of a repository may have been converted to one.",
}

#: What to do about a refused ``model_type``, where there is something to do.
HINTS = {model_type: _HINTS.get(reason, "") for model_type, reason in REFUSED.items()}
