"""How text is split before pairs of bytes are merged, by the name that a GGUF header gives it.

A header names the way (``tokenizer.ggml.pre``) and does not say it. The patterns are those of the
models' own tokenizer.json, as llama.cpp's source cites them; names whose pattern it only
approximates, or that are not here, are refused for text.
"""

from __future__ import annotations

from collections.abc import Mapping

_GPT2 = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
)  # fmt: skip
_DIGITS = (r"\p{N}", *_GPT2)
_ENGLISH = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = (_ENGLISH + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _REST,)
_QWEN2 = (_ENGLISH + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _REST,)
_QWEN35 = (
    _ENGLISH + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
)  # fmt: skip
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s"
_SLASHED = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TEKKEN = (_CASED % ("", "") + r"|\p{N}" + _SLASHED,)
_GPT4O = (_CASED % (f"{_ENGLISH}?", f"{_ENGLISH}?") + r"|\p{N}{1,3}" + _SLASHED,)
_BLOOM = (" ?[^(\\s|.,!?…。，、।۔،)]+",)

#: By name: the patterns, of which each splits what the ones before left whole.
SPLITS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("gpt-2", "phi-2", "olmo", "mpt", "jais", "exaone4", "trillion"), _GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell"), _DIGITS),
    **dict.fromkeys(("exaone", "minerva-7b"), _DIGITS),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1"), _LLAMA3),
    **dict.fromkeys(("pixtral", "midm-2.0", "lfm2", "jina-v5-nano", "dbrx", "smaug-bpe"), _LLAMA3),
    **dict.fromkeys(("qwen2", "stablelm2", "hunyuan", "megrez", "deepseek-r1-qwen"), _QWEN2),
    **dict.fromkeys(("kormo", "f2llmv2"), _QWEN2),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"), _GPT4O),
    **{"qwen35": _QWEN35, "tekken": _TEKKEN},
    "bloom": _BLOOM,
}

#: Names whose vocabularies hold whole words that no merges make, and that begin with a first token
#: unless the header denies it.
WHOLE_WORDS = frozenset(
    ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2")
) | {"jina-v5-nano", "tekken"}
