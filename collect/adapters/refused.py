"""Model types that are known and refused: what is not defined for them, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why some model types are refused.

    Attributes
    ----------
    undefined
        The quantity that is not defined, which those that remain rest on.
    reason
        Why, as the end of a sentence.
    hint
        What to do instead, where there is something.
    model_types
        The types.
    """

    undefined: str
    reason: str
    model_types: tuple[str, ...]
    hint: str = ""


SEES_LATER = Refusal(
    undefined="next_token",
    reason="it is an encoder: its attention reaches later tokens, and it predicts no next token",
    hint="Name a causal decoder instead, such as gpt2 or a model of its kind.",
    model_types=(
        "albert",
        "bert",
        "bert-generation",
        "big_bird",
        "camembert",
        "convbert",
        "data2vec-text",
        "deberta",
        "deberta-v2",
        "distilbert",
        "electra",
        "ernie",
        "esm",
        "longformer",
        "megatron-bert",
        "modernbert",
        "mpnet",
        "rembert",
        "roberta",
        "roberta-prelayernorm",
        "roc_bert",
        "roformer",
        "xlm",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    ),
)

READS_ENCODER = Refusal(
    undefined="residual_update",
    reason="its decoder also reads an encoder, so a block adds more than attention and "
    "feed-forward, and without the encoder it is another model",
    model_types=(
        "bart",
        "bigbird_pegasus",
        "blenderbot",
        "blenderbot-small",
        "longt5",
        "m2m_100",
        "marian",
        "mbart",
        "mt5",
        "mvp",
        "pegasus",
        "plbart",
        "prophetnet",
        "switch_transformers",
        "t5",
        "t5gemma",
        "trocr",
        "umt5",
        "whisper",
    ),
)

SEVERAL_STREAMS = Refusal(
    undefined="residual_norm",
    reason="its blocks hand on several vectors for a token, which parts read and write as "
    "mixtures, so there is no one residual stream",
    model_types=("deepseek_v4", "gemma3n", "gemma3n_text", "hy_v4", "qwen4_exp", "qwen4_exp_text"),
)

MIXED_BLOCKS = Refusal(
    undefined="residual_norm",
    reason="its blocks read a mixture of what several earlier blocks returned and start the sum "
    "anew in between, so there is no one residual stream",
    model_types=("inkling2_text",),
)

REVERSIBLE = Refusal(
    undefined="residual_norm",
    reason="its blocks pass two streams on, each made from the other",
    model_types=("reformer",),
)

OF_PERMUTATIONS = Refusal(
    undefined="next_token",
    reason="on text alone its attention reaches later tokens; a next token is predicted by a "
    "second stream, and only where it is asked for",
    model_types=("xlnet",),
)

LOOPED = Refusal(
    undefined="layer",
    reason="the same blocks run several times in a pass, so a block has no one input and output",
    model_types=("hrm_text",),
)

OF_BYTES = Refusal(
    undefined="position",
    reason="its blocks run on patches of bytes of changing length, not on tokens",
    model_types=("blt",),
)

PREFIXED = Refusal(
    undefined="position",
    reason="it puts tokens of its own in front of a prompt, and attention reaches later tokens",
    model_types=("cpmant",),
)

OF_SOUND = Refusal(
    undefined="next_token",
    reason="a position holds codes of several codebooks of sound at once, so there is no one next "
    "token",
    model_types=("musicgen", "musicgen_melody"),
)

NEEDS_IMAGE = Refusal(
    undefined="residual_norm",
    reason="some of its blocks read an image and are left out without one, so its stream on text "
    "alone is not the model's",
    model_types=("mllama",),
)

IMAGE_FIRST = Refusal(
    undefined="position",
    reason="the tokens of an image stand in front of a prompt, and without one it is another model",
    model_types=("git",),
)

DRAFTS = Refusal(
    undefined="residual_norm",
    reason="it drafts tokens from the states of another model and has no stream of its own",
    model_types=("gemma4_assistant", "gemma4_unified_assistant"),
)

OWN_CODE = Refusal(
    undefined="all",
    reason="it is code in the checkpoint's own repository, which is never run",
    hint="Use a checkpoint that transformers reads itself, of type gpt_neox or stablelm; "
    "newer revisions of a repository may have been converted to one.",
    model_types=("stablelm_alpha", "stablelm_epoch"),
)

REFUSALS = (
    SEES_LATER,
    READS_ENCODER,
    SEVERAL_STREAMS,
    MIXED_BLOCKS,
    REVERSIBLE,
    OF_PERMUTATIONS,
    LOOPED,
    OF_BYTES,
    PREFIXED,
    OF_SOUND,
    NEEDS_IMAGE,
    IMAGE_FIRST,
    DRAFTS,
    OWN_CODE,
)

#: Why a ``model_type`` is refused.
REFUSED = {model_type: refusal for refusal in REFUSALS for model_type in refusal.model_types}
