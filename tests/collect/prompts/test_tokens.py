"""Prompts as token ids: bytes, special tokens marked, unfit prompts refused."""

import functools
import tempfile

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from collect.errors import InputError
from collect.prompts.fitting import fitted
from collect.prompts.tokenizer import N_BYTES, byte_tokenizer
from collect.prompts.tokens import Encoded, encode
from tests.collect.conftest import tiny_tokenizer

PROMPTS = pd.DataFrame({"prompt_id": ["x:00", "x:01"], "text": ["ab", "é"]})


def test_a_token_the_tokenizer_adds_is_marked_special():
    first, second = encode(PROMPTS, tiny_tokenizer(adds_start=True))
    assert first.token_ids[0] == 256
    assert first.is_special == (True, False, False)
    assert len(second) == 3
    first, second = encode(PROMPTS, tiny_tokenizer())
    assert len(first) == len(second) == 2
    assert not any(first.is_special + second.is_special)


@pytest.mark.parametrize(
    ("token_ids", "sentence"),
    [
        ((), "must have at least one token; x:00 has none"),
        ((1,) * 5, "context of 4 tokens; 1 of 1 does not: x:00 has 5"),
        ((1, 300), "one of the model's 257; x:00 holds token 300"),
    ],
)
def test_a_prompt_that_the_model_cannot_read_is_refused_and_one_that_just_fits_is_not(
    token_ids, sentence
):
    prompt = Encoded("x:00", token_ids, (False,) * len(token_ids))
    with pytest.raises(InputError, match=sentence):
        fitted([prompt], n_context=4, n_vocabulary=257)
    prompt = Encoded("x:00", (0, 1, 2, 256), (False,) * 4)
    result = fitted([prompt], n_context=4, n_vocabulary=257)
    assert (result.prompts, result.remarks) == ((prompt,), {})


def test_prompts_that_are_too_long_are_counted_left_out_or_cut():
    of_lengths = [
        Encoded(f"x:{place}", tuple(range(n)), (True,) + (False,) * (n - 1))
        for place, n in enumerate((3, 6, 5))
    ]
    with pytest.raises(InputError, match="2 of 3 do not: x:1 has 6, x:2 has 5") as refusal:
        fitted(of_lengths, n_context=4, n_vocabulary=9)
    assert "--too-long skip" in refusal.value.hint
    skipped = fitted(of_lengths, 4, 9, policy="skip")
    assert [prompt.prompt_id for prompt in skipped.prompts] == ["x:0"]
    assert skipped.remarks["x:2"].startswith("It has 5 tokens, and the context of the model is 4:")
    cut = fitted(of_lengths, 4, 9, policy="truncate")
    assert [prompt.token_ids for prompt in cut.prompts] == [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3)]
    assert [len(prompt.is_special) for prompt in cut.prompts] == [3, 4, 4]
    assert cut.too_long == {"x:1": 6, "x:2": 5}
    with pytest.raises(InputError, match="3 of 3 do not") as refusal:
        fitted(of_lengths, 2, 9, policy="skip")
    assert "--too-long truncate" in refusal.value.hint


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
