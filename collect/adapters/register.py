"""The adapter of every known ``model_type``; the others are refused with a reason."""

from __future__ import annotations

from collect.adapters import within
from collect.adapters.adapter import Adapter
from collect.adapters.families.bloom import BLOOM, MPT
from collect.adapters.families.ctrl import CTRL
from collect.adapters.families.falcon import FALCON
from collect.adapters.families.gated import (
    AFMOE,
    BITNET,
    DIFFERENTIAL,
    GATED,
    GRANITE_EXPERTS_SINKS,
    GRANITE_SHARED,
    GRANITE_SINKS,
    INKLING,
    JETMOE,
    MIMO,
    NEOX_JAPANESE,
)
from collect.adapters.families.gemma import GEMMA, GEMMA2, GLM4, KOLIBRI, OLMO2, VAULTGEMMA
from collect.adapters.families.gpt2 import GPT1, GPT2, GPT_BIGCODE, GPT_NEO
from collect.adapters.families.gpt_neox import GPT_NEOX, PERSIMMON
from collect.adapters.families.gptj import CODEGEN, GPTJ
from collect.adapters.families.hybrid import GRIFFIN, HYBRID, JAMBA, LFM, LFM3, QWEN_HYBRID
from collect.adapters.families.latent import (
    LATENT,
    LATENT_GATED,
    LATENT_SCALED,
    LATENT_TWICE,
    LATENT_UNEVEN,
)
from collect.adapters.families.llama import (
    APERTUS,
    COHERE,
    ERNIE_EXPERTS,
    EXPERTS,
    FLINT,
    GPT_OSS,
    GRANITE,
    GRANITE_EXPERTS,
    HYPERCLOVAX,
    LAYER_NORM,
    LLAMA,
    LLAMA4,
    MOSHI,
    NANOCHAT,
    NEMOTRON,
    PHI,
    PHI3,
    STABLELM,
    TOP_EXPERTS,
)
from collect.adapters.families.modernbert import MODERNBERT
from collect.adapters.families.opt import BIOGPT, OPT, XGLM
from collect.adapters.families.state import (
    DBRX,
    FALCON_H1,
    GRANITE_HYBRID,
    MAMBA,
    NEMOTRON_H,
    OLMO_HYBRID,
    RWKV,
    SCALED,
    XLSTM,
    ZAMBA,
)
from collect.adapters.refused import REFUSED
from collect.errors import UnsupportedModelError, nearest

#: Layouts of which everything is defined.
WHOLE = (
    APERTUS,
    BIOGPT,
    BLOOM,
    CODEGEN,
    COHERE,
    CTRL,
    ERNIE_EXPERTS,
    EXPERTS,
    FALCON,
    FLINT,
    GEMMA,
    GEMMA2,
    GLM4,
    GPT1,
    GPT2,
    GPTJ,
    GPT_BIGCODE,
    GPT_NEO,
    GPT_NEOX,
    GPT_OSS,
    GRANITE,
    GRANITE_EXPERTS,
    HYPERCLOVAX,
    KOLIBRI,
    LAYER_NORM,
    LLAMA,
    LLAMA4,
    MODERNBERT,
    MOSHI,
    MPT,
    NANOCHAT,
    NEMOTRON,
    OLMO2,
    OPT,
    PERSIMMON,
    PHI,
    PHI3,
    STABLELM,
    TOP_EXPERTS,
    VAULTGEMMA,
    XGLM,
)

#: Layouts that lack something, each of which says what and why.
IN_PART = (
    AFMOE,
    BITNET,
    DBRX,
    DIFFERENTIAL,
    FALCON_H1,
    GATED,
    GRANITE_EXPERTS_SINKS,
    GRANITE_HYBRID,
    GRANITE_SHARED,
    GRANITE_SINKS,
    GRIFFIN,
    HYBRID,
    INKLING,
    JAMBA,
    JETMOE,
    LATENT,
    LATENT_GATED,
    LATENT_SCALED,
    LATENT_TWICE,
    LATENT_UNEVEN,
    LFM,
    LFM3,
    MAMBA,
    MIMO,
    NEMOTRON_H,
    NEOX_JAPANESE,
    OLMO_HYBRID,
    QWEN_HYBRID,
    RWKV,
    SCALED,
    XLSTM,
    ZAMBA,
)

LAYOUTS = (*WHOLE, *IN_PART)

#: The adapter of every known ``model_type``.
ADAPTERS = {model_type: layout for layout in LAYOUTS for model_type in layout.model_types}


def adapter_for(model_type: str, text_type: str | None = None) -> Adapter:
    """Return the adapter of a ``model_type``.

    Parameters
    ----------
    model_type
        As in ``config.json``.
    text_type
        ``text_config.model_type``, where a checkpoint reads more than text.

    Raises
    ------
    UnsupportedModelError
        If the type is known to be of another kind, or no adapter describes it. Nothing is
        guessed.
    """
    if model_type in within.PLACES:
        of_text = adapter_for(within.text_type(model_type, text_type))
        return within.placed(of_text, model_type)
    if model_type in REFUSED:
        refusal = REFUSED[model_type]
        raise UnsupportedModelError(
            f"The model must be a decoder of its own text with one residual stream; "
            f"{model_type!r} is refused: {refusal.reason}.",
            refusal.hint,
        )
    if model_type not in ADAPTERS:
        raise UnsupportedModelError(
            f"The model must be of a type with an adapter; {model_type!r} has none. "
            f"Nearest in name: {', '.join(nearest_types(model_type))}.",
            "If it has the layout of one of these, add its type to that adapter; "
            "collect/adapters/README.md says how, and how to describe another layout.",
        )
    return ADAPTERS[model_type]


def nearest_types(model_type: str) -> list[str]:
    """Return the three supported types whose names are most like one."""
    return nearest(model_type, sorted({*ADAPTERS, *within.PLACES}), 3, cutoff=0.0)
