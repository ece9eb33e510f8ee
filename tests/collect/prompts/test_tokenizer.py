"""The byte-level tokenizer gives back any text, and adds nothing."""

import functools
import tempfile

from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from collect.prompts.tokenizer import N_BYTES, byte_tokenizer


@functools.cache
def reloaded():
    """Return the tokenizer as a user gets it: saved and loaded again."""
    with tempfile.TemporaryDirectory() as directory:
        byte_tokenizer(context=64).save_pretrained(directory)
        return AutoTokenizer.from_pretrained(directory)


@given(st.text())
def test_any_text_becomes_its_utf8_bytes_and_comes_back(text):
    tokens = reloaded()(text).input_ids
    assert tokens == list(text.encode("utf-8"))
    assert reloaded().decode(tokens) == text


def test_there_are_256_tokens_none_is_special_and_spaces_before_punctuation_survive():
    assert len(reloaded()) == N_BYTES
    assert reloaded().all_special_tokens == []
    assert reloaded()("").input_ids == []
    assert reloaded().model_max_length == 64  # the context
    text = " do n't , I 'm . "
    assert reloaded().decode(reloaded()(text).input_ids) == text
