"""Tokenizers of trained models: bytes, or pairs of them learnt from a text.

Token number b is byte b. A byte-pair encoding adds tokens behind these, and no special one.
"""

from __future__ import annotations

import json
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

N_BYTES = 256


def byte_tokenizer(context: int) -> Any:
    """Return a fast tokenizer that turns text into its UTF-8 bytes and back, adding nothing.

    Parameters
    ----------
    context
        Longest input of the model it goes with [bytes].
    """
    return _fast(models.BPE(vocab=_bytes(), merges=[]), context, splits_words=False)


def pair_tokenizer(text: bytes, n_vocabulary: int, context: int) -> Any:
    """Return a fast tokenizer whose merges of bytes are learnt from a text; words are split.

    Parameters
    ----------
    text
        What the merges are counted on; bytes that are no UTF-8 are passed over.
    n_vocabulary
        Tokens it shall have, more than 256.
    context
        Longest input of the model it goes with [tokens].

    Raises
    ------
    ValueError
        If the text has too few pairs for that many tokens.
    """
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = list(bytes_to_unicode().values())
    trainer = trainers.BpeTrainer(
        vocab_size=n_vocabulary, initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator(text.decode("utf-8", "ignore").splitlines(keepends=True), trainer)
    learnt = json.loads(learner.to_str())["model"]
    merges = [tuple(pair) for pair in learnt["merges"]]
    if N_BYTES + len(merges) < n_vocabulary:
        raise ValueError(f"the text gives {N_BYTES + len(merges)} tokens, not {n_vocabulary}")
    vocabulary = _bytes()
    for first, second in merges:
        vocabulary.setdefault(first + second, len(vocabulary))
    return _fast(models.BPE(vocab=vocabulary, merges=merges), context, splits_words=True)


def _bytes() -> dict[str, int]:
    return {character: byte for byte, character in bytes_to_unicode().items()}


def _fast(model: Any, context: int, *, splits_words: bool) -> Any:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=splits_words
    )
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        clean_up_tokenization_spaces=False,
        model_max_length=context,
    )
