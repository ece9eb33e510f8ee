"""A text is split as the file's tokenizer says, or not at all."""

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

from collect.errors import InputError
from collect.model.checkpoint.load import load_tokenizer
from collect.model.checkpoint.location import locate
from tests.collect.gguf_files import tiny, write


def pieces(tokenizer, text):
    split = tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(text)
    return [text[start:end] for _, (start, end) in split]


@pytest.fixture
def written(tmp_path):
    return lambda pre: locate(str(write("qwen2", tiny("qwen2"), tmp_path / "tiny.gguf", pre=pre)))


@pytest.mark.parametrize(
    ("pre", "expected"),
    [
        ("gpt-2", ["x", " =", " foo", "_", "bar", "(", "17", ")"]),
        ("smollm", ["x", " =", " foo", "_", "bar", "(", "1", "7", ")"]),
        ("starcoder", ["x", " =", " foo", "_", "bar", "(", "1", "7", ")"]),
        ("qwen2", ["x", " =", " foo", "_bar", "(", "1", "7", ")"]),
        ("llama-bpe", ["x", " =", " foo", "_bar", "(", "17", ")"]),
        ("tekken", ["x", " =", " foo", "_bar", "(", "1", "7", ")"]),
    ],
)
def test_a_known_name_splits_as_its_model_does(written, pre, expected):
    assert pieces(load_tokenizer(written(pre)), "x = foo_bar(17)") == expected


def test_digits_stand_alone_as_in_the_tokenizer_of_smollm(written):
    """Its published tokenizer.json: Digits, then ByteLevel with the regular expression of GPT-2."""
    theirs = Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    ours = load_tokenizer(written("smollm")).backend_tokenizer.pre_tokenizer
    for text in ("12 km", "a1b22  c", "in 1999, it's 3.14", "Ⅷ ½ x²"):
        assert ours.pre_tokenize_str(text) == theirs.pre_tokenizer.pre_tokenize_str(text)


@pytest.mark.parametrize("pre", ["abcde", "default", "deepseek-coder"])
def test_an_unknown_name_is_refused_for_texts_and_not_for_token_ids(written, pre):
    checkpoint = written(pre)
    with pytest.raises(InputError, match=r"tokenizer\.ggml\.pre") as caught:
        load_tokenizer(checkpoint)
    assert "token ids" in caught.value.hint
    assert load_tokenizer(checkpoint, for_text=False).bos_token_id == 256


def test_what_is_taken_from_inside_transformers_is_there():
    """The one name that this project takes from its reader of GGUF files."""
    assert {"llama-bpe", "qwen2", "tekken", "gpt-4o"} <= {*GGUF_PRE_TOKENIZER_SPLITS}
