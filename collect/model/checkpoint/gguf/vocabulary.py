"""How a GGUF file's tokenizer cuts a text before it looks tokens up.

A file with a vocabulary of byte pairs says so by a name alone (``tokenizer.ggml.pre``). The reader
of transformers splits by the names it knows and as GPT-2 does by all others, without a word.
"""

from __future__ import annotations

from typing import Any

from collect.errors import InputError
from collect.model.checkpoint.gguf.header import Header

#: Names of the split of GPT-2 itself.
_AS_GPT2 = ("gpt-2", "phi-2", "mpt", "olmo", "jais")

#: Names of the split of GPT-2 after every digit stands alone.
_BY_DIGIT = ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b")


def has_tokenizer(header: Header) -> bool:
    """Return whether a file holds a tokenizer."""
    return "tokenizer.ggml.model" in header.metadata


def load(header: Header, *, for_text: bool) -> Any:
    """Return the tokenizer of a file, as transformers reads it, with the split that the file names.

    Parameters
    ----------
    header
        The file's header.
    for_text
        Whether texts are to be cut; False where only token ids are looked up.

    Raises
    ------
    InputError
        If a text is to be cut in a way that is not known.
    """
    import transformers

    names = _split_names()
    stated = header.metadata.get("tokenizer.ggml.pre")
    has_pairs = header.metadata.get("tokenizer.ggml.model") == "gpt2"
    if has_pairs and for_text and stated not in names:
        said = "does not say" if stated is None else f"calls {stated!r}"
        raise InputError(
            f"{header.path} {said} how its tokenizer splits a text (tokenizer.ggml.pre), which "
            "must be a name that is known.",
            f"Give prompts as token ids, or a file that names one of {', '.join(sorted(names))}.",
        )
    # The library's other classes read the same tokens, after a configuration that takes half a
    # minute.
    tokenizer: Any = transformers.PreTrainedTokenizerFast.from_pretrained(
        header.path.parent, gguf_file=header.path.name, local_files_only=True
    )
    if has_pairs and stated in _BY_DIGIT:
        from tokenizers import pre_tokenizers

        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    return tokenizer


def _split_names() -> set[str]:
    """Return the names of splits that are known: those of transformers' reader, and more."""
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    return {*GGUF_PRE_TOKENIZER_SPLITS, *_AS_GPT2, *_BY_DIGIT}
