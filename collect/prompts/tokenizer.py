"""The byte-level tokenizer: token number b is byte b, and there is no other token."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
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
    characters = bytes_to_unicode()
    vocabulary = {character: byte for byte, character in characters.items()}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        clean_up_tokenization_spaces=False,
        model_max_length=context,
    )
