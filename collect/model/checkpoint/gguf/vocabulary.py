"""The tokenizer that a GGUF file holds: the one thing that transformers still reads of such files.

`PreTrainedTokenizerFast.from_pretrained(..., gguf_file=...)` makes it of vocabulary and merges. How
text is split is set here by the header's name for it, for transformers takes a name that it does
not know for GPT-2's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.gguf.header import (
    TOKENS,
    Header,
    Length,
    is_whole_number,
    shown,
    wrong,
)

_MODEL, _SPLIT = "tokenizer.ggml.model", "tokenizer.ggml.pre"

#: Kinds of vocabularies that are read: merges of bytes, and SentencePiece.
_BYTES, _PIECES = "gpt2", "llama"

#: Entries that hold the number of a token, and those that say yes or no.
_NUMBERS = re.compile(r"tokenizer\.ggml\.(?:bos|eos|unknown|padding)_token_id")
_SWITCHES = re.compile(r"tokenizer\.ggml\.(?:add_\w+|remove_extra_whitespaces)")

#: What else a kind of vocabulary must list, and lists with an entry a token.
_LISTS = {_BYTES: "tokenizer.ggml.merges", _PIECES: "tokenizer.ggml.scores"}
_BY_TOKEN = ("tokenizer.ggml.token_type", "tokenizer.ggml.scores")


def has_tokenizer(header: Header) -> bool:
    """Return whether a file holds a tokenizer."""
    return _MODEL in header.metadata


def load(header: Header, *, for_text: bool) -> Any:
    """Return the tokenizer of a file.

    Parameters
    ----------
    header
        The file's header.
    for_text
        Whether text is to be split; without, a name of a split that is not known is no fault.

    Raises
    ------
    UnsupportedModelError
        If text would be split otherwise than the model's own tokenizer does.
    InputError
        If an entry of the header is of a wrong type, no token, or absent.
    """
    import transformers

    n_tokens = header.metadata.get(TOKENS)
    if not isinstance(n_tokens, Length):
        raise _wrong(header, TOKENS, "a list of texts")
    # transformers would take -1 for the last token, and 0 for yes
    for key, value in header.metadata.items():
        if _NUMBERS.fullmatch(key) and not (is_whole_number(value) and 0 <= value < n_tokens):
            raise _wrong(header, key, f"the number of one of {int(n_tokens)} tokens")
        if _SWITCHES.fullmatch(key) and not isinstance(value, bool):
            raise _wrong(header, key, "true or false")
    lists = _LISTS.get(str(header.metadata.get(_MODEL)))
    if lists is not None and _length(header, lists) is None:
        raise _wrong(header, lists, "a list")
    for key in _BY_TOKEN:
        if key in header.metadata and _length(header, key) != n_tokens:
            raise _wrong(header, key, f"a list of {int(n_tokens)} numbers, one a token")
    if for_text and not can_split(header):
        raise _unknown(header)
    factory: Any = transformers.PreTrainedTokenizerFast
    path = header.path
    tokenizer = factory.from_pretrained(path.parent, gguf_file=path.name, local_files_only=True)
    if header.metadata.get(_MODEL) == _BYTES and can_split(header):
        _split_bytes(tokenizer, header)
    if header.metadata.get(_MODEL) == _PIECES:
        _leave_start(tokenizer, header)
    return tokenizer


def can_split(header: Header) -> bool:
    """Return whether a file says in words that are known how text is split."""
    kind, name = header.metadata.get(_MODEL), header.metadata.get(_SPLIT)
    return kind == _PIECES or (kind == _BYTES and isinstance(name, str) and name in SPLITS)


def _length(header: Header, key: str) -> int | None:
    """Return how long a list is; None where an entry is none."""
    value = header.metadata.get(key)
    if isinstance(value, Length):
        return int(value)
    return len(value) if isinstance(value, tuple) else None


def _wrong(header: Header, key: str, expected: str) -> InputError:
    return wrong(header, key, expected, header.metadata.get(key))


def _unknown(header: Header) -> UnsupportedModelError:
    kind, name = header.metadata.get(_MODEL), header.metadata.get(_SPLIT)
    what, value = (_SPLIT, name) if kind == _BYTES else (_MODEL, kind)
    says = "is absent" if value is None else f"is {shown(value)}"
    return UnsupportedModelError(
        f"How text is split into tokens must be known; {what} in the header of {header.path} "
        f"{says}.",
        "Give prompts as token ids (token_ids in a JSONL file, made with the model's own "
        "tokenizer), or take the safetensors files of the model.",
    )


def _split_bytes(tokenizer: Any, header: Header) -> None:
    """Let a tokenizer of bytes split text as the header's name for it says."""
    from tokenizers import Regex, pre_tokenizers

    name = header.metadata[_SPLIT]
    splits = [pre_tokenizers.Split(Regex(it), behavior="isolated") for it in SPLITS[name]]
    spelt = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence([*splits, spelt])
    if name not in WHOLE_WORDS:
        return
    backend.model.ignore_merges = True
    is_denied = header.metadata.get("tokenizer.ggml.add_bos_token") is False
    if tokenizer.bos_token is not None and not is_denied:
        tokenizer.add_bos_token = True
        tokenizer.update_post_processor()


def _leave_start(tokenizer: Any, header: Header) -> None:
    """Let no space stand before the text where the header says so; Gemmas have none anyhow."""
    from tokenizers import normalizers, pre_tokenizers

    if header.metadata.get("tokenizer.ggml.add_space_prefix", True):
        return
    backend = tokenizer.backend_tokenizer
    if isinstance(backend.pre_tokenizer, pre_tokenizers.Metaspace):
        backend.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="never", split=False)
    elif header.architecture == "phi3":
        backend.normalizer = normalizers.Replace(" ", "▁")


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
