"""Prompts as token ids: special tokens marked, unfit prompts refused."""

from __future__ import annotations

import pandas as pd
import pytest

from collect.errors import InputError
from collect.prompts.tokens import Encoded, check_fits, encode

PROMPTS = pd.DataFrame({"prompt_id": ["x:00", "x:01"], "text": ["ab", "é"]})


@pytest.fixture
def tokenizer(save_tiny):
    from collect.model.checkpoint.checkpoint import locate
    from collect.model.checkpoint.load import load_tokenizer

    return lambda **options: load_tokenizer(locate(str(save_tiny("gpt2", **options))))


def test_a_token_the_tokenizer_adds_is_marked_special(tokenizer):
    first, second = encode(PROMPTS, tokenizer(adds_start=True))
    assert first.token_ids[0] == 256
    assert first.is_special == (True, False, False)
    assert len(second) == 3


def test_a_tokenizer_that_adds_nothing_marks_nothing(tokenizer):
    first, second = encode(PROMPTS, tokenizer())
    assert len(first) == len(second) == 2
    assert not any(first.is_special + second.is_special)


@pytest.mark.parametrize(
    ("token_ids", "sentence"),
    [
        ((), "must have at least one token; x:00 has none"),
        ((1,) * 5, "context of 4 tokens; x:00 has 5"),
        ((1, 300), "one of the model's 257; x:00 holds token 300"),
    ],
)
def test_a_prompt_that_the_model_cannot_read_is_refused(token_ids, sentence):
    prompt = Encoded("x:00", token_ids, (False,) * len(token_ids))
    with pytest.raises(InputError, match=sentence):
        check_fits([prompt], n_context=4, n_vocabulary=257)


def test_a_prompt_that_just_fits_passes():
    check_fits([Encoded("x:00", (0, 1, 2, 256), (False,) * 4)], n_context=4, n_vocabulary=257)
