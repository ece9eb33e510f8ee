"""A text is split as the file's tokenizer says, or not at all."""

from pathlib import Path

import pytest
import transformers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers.models.qwen2 import tokenization_qwen2
from transformers.models.qwen3_5 import tokenization_qwen3_5

from collect.errors import InputError
from collect.model.checkpoint.gguf import vocabulary
from collect.model.checkpoint.gguf.vocabulary import SPLITS
from collect.model.checkpoint.load import load_tokenizer, tokenizer_for
from collect.model.checkpoint.location import locate
from collect.prompts.sets import load
from tests.collect.gguf_files import add, tiny, write


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


def test_of_transformers_the_tokenizer_alone_is_read():
    """What is left of its reader of GGUF files is one call, in one module."""
    importing = {
        path.name: line.strip()
        for path in Path(vocabulary.__file__).parent.glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "import" in line and "transformers" in line
    }
    assert importing == {"vocabulary.py": "import transformers"}
    assert callable(transformers.PreTrainedTokenizerFast.from_pretrained)


def isolated(pattern):
    spelt = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), spelt])


TEXTS = (
    "x = foo_bar(17)",
    "It's 12345 o'clock; we'LL see\n\n  two  spaces\t\ttabs \n",
    "Größe naïve café déjà-vu",
    "数字 12 和 文字。 हिन्दी ४५",
    "https://a.b/c?d=e&f=g#h  // end ",
)
#: Made by other hands: of the packages themselves.
ELSEWHERE = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "qwen2": isolated(tokenization_qwen2.PRETOKENIZE_REGEX),
    "qwen35": isolated(tokenization_qwen3_5.PRETOKENIZE_REGEX),
}


@pytest.mark.parametrize("pre", ELSEWHERE)
def test_text_is_split_as_the_models_own_class_does(written, pre):
    ours = load_tokenizer(written(pre)).backend_tokenizer.pre_tokenizer
    for text in TEXTS:
        assert ours.pre_tokenize_str(text) == ELSEWHERE[pre].pre_tokenize_str(text)


def test_every_name_that_transformers_reads_is_split_as_it_does(written):
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    assert {*GGUF_PRE_TOKENIZER_SPLITS} <= {*SPLITS}
    for pre, pattern in GGUF_PRE_TOKENIZER_SPLITS.items():
        ours = load_tokenizer(written(pre)).backend_tokenizer.pre_tokenizer
        for text in TEXTS:
            assert ours.pre_tokenize_str(text) == isolated(pattern).pre_tokenize_str(text), pre


def test_token_ids_are_read_where_the_split_is_not_known(written, tmp_path):
    checkpoint = written("quxen")
    prompts = tmp_path / "ids.jsonl"
    prompts.write_text('{"token_ids": [1, 2, 3]}\n')
    assert tokenizer_for(checkpoint, [load(str(prompts))]).vocab_size == 259
    with pytest.raises(InputError):
        tokenizer_for(checkpoint, [load("A_grand_unified")])


def test_a_llama_3_begins_with_its_first_token_unless_the_header_denies_it(written, tmp_path):
    def silent(writer):
        del writer.kv_data[0]["tokenizer.ggml.add_bos_token"]

    made = tiny("llama")
    for pre, expected in (("llama-bpe", [256, 258]), ("gpt-2", [258])):
        path = write("llama", made, tmp_path / f"{pre}.gguf", edit=silent, pre=pre)
        assert load_tokenizer(locate(str(path)))("th").input_ids == expected
    assert load_tokenizer(written("llama-bpe"))("th").input_ids == [258]


@pytest.mark.parametrize("name", ["llama", "phi3"])
@pytest.mark.parametrize(("has_start", "expected"), [(True, [258]), (False, [257])])
def test_no_space_stands_before_a_text_where_the_header_says_so(
    name, has_start, expected, tmp_path
):
    def edit(writer):
        for key in [key for key in writer.kv_data[0] if key.startswith("tokenizer.")]:
            writer.kv_data[0].pop(key)
        letters = [f"<0x{place:02X}>" for place in range(253)]
        tokens = ["<unk>", "<s>", "</s>", *letters, "\u2581", "a", "\u2581a"]
        writer.add_tokenizer_model("llama")
        writer.add_token_list(tokens)
        writer.add_token_scores([0.0] * 256 + [-1.0, -2.0, -3.0])
        writer.add_token_types([2, 3, 3, *[6] * 253, 1, 1, 1])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_add_bos_token(False)
        writer.add_add_space_prefix(has_start)

    path = write(name, tiny(name), tmp_path / "tiny.gguf", edit=edit)
    assert load_tokenizer(locate(str(path)))("a").input_ids == expected


@pytest.mark.parametrize("kind", ["bert", "no_vocab", "rwkv"])
def test_an_unknown_kind_of_vocabulary_is_refused_for_texts(kind, tmp_path):
    def edit(writer):
        writer.kv_data[0]["tokenizer.ggml.model"].value = kind

    path = write("llama", tiny("llama"), tmp_path / "odd.gguf", edit=edit)
    with pytest.raises(InputError, match=r"tokenizer\.ggml\.model"):
        load_tokenizer(locate(str(path)))


WRONG = [
    *((f"{kind}_token_id", value) for kind in ("bos", "eos", "unknown", "padding")
      for value in (True, 1.0, "256", -1, 259, 10**9, [256])),
    *((f"add_{kind}", value) for kind in ("bos_token", "eos_token", "space_prefix")
      for value in (0, 1, 1.0, "true", [True])),
    *(("token_type", value) for value in ([1] * 5, [1] * 300, 1, "normal")),
    *(("tokens", value) for value in (None, 5, [1, 2, 3])),
    *(("merges", value) for value in (None, "t h", 3)),
    *(("merges", value) for value in (["t"], ["t zz"])),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_an_entry_that_is_none_is_refused_and_taken_for_no_other(key, value, tmp_path):
    """-1 was taken for the last token, True for token 1, and 0 for yes."""
    name = f"tokenizer.ggml.{key}"

    def edit(writer):
        writer.kv_data[0].pop(name, None)
        if value is not None:
            add(writer, name, value)

    path = write("llama", tiny("llama"), tmp_path / "odd.gguf", edit=edit)
    with pytest.raises(InputError) as caught:
        load_tokenizer(locate(str(path)))
    named = path if value in (["t"], ["t zz"]) else name
    assert str(named) in caught.value.problem
    assert "save_pretrained" not in caught.value.hint


def test_scores_must_be_as_many_as_tokens(tmp_path):
    def edit(writer):
        writer.kv_data[0]["tokenizer.ggml.model"].value = "llama"
        writer.add_token_scores([0.0] * 7)

    path = write("llama", tiny("llama"), tmp_path / "odd.gguf", edit=edit)
    with pytest.raises(InputError, match=r"tokenizer\.ggml\.scores.*259"):
        load_tokenizer(locate(str(path)))
