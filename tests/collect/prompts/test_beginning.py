"""The first tokens of a beginning are those of the whole text, whatever the tokenizer."""

import numpy as np
import pandas as pd
import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from collect.errors import InputError
from collect.process.memory import available_memory
from collect.prompts import beginning as module
from collect.prompts.sets import load, names
from collect.prompts.tokens import encode
from tests.collect.conftest import tiny_tokenizer

CORPUS = [text for name in names() for text in load(name).prompts["text"]]
SPLIT = r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _trained(model, trainer, pre=None, normalizer=None):
    tokenizer = Tokenizer(model)
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(CORPUS, trainer(vocab_size=400, show_progress=False))
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def _byte_pairs():
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split(Regex(SPLIT), "isolated")
    pre = pre_tokenizers.Sequence([split, byte_level])
    return _trained(models.BPE(), trainers.BpeTrainer, pre)


def _byte_pairs_of_whole_texts():
    return _trained(models.BPE(), trainers.BpeTrainer, None, normalizers.Replace(" ", "\u2581"))


def _unigrams():
    model, pre = models.Unigram(), pre_tokenizers.Metaspace()

    def trainer(vocab_size, show_progress):
        return trainers.UnigramTrainer(
            vocab_size=vocab_size, show_progress=show_progress, unk_token="<unk>"
        )

    return _trained(model, trainer, pre, normalizers.NFKC())


def _word_pieces():
    def trainer(vocab_size, show_progress):
        return trainers.WordPieceTrainer(
            vocab_size=vocab_size, show_progress=show_progress, special_tokens=["[UNK]"]
        )

    pre, model = pre_tokenizers.Whitespace(), models.WordPiece(unk_token="[UNK]")
    return _trained(model, trainer, pre, normalizers.Lowercase())


TOKENIZERS = {
    "bytes": tiny_tokenizer,
    "byte pairs": _byte_pairs,
    "byte pairs of whole texts": _byte_pairs_of_whole_texts,
    "unigrams": _unigrams,
    "word pieces": _word_pieces,
}


def _texts(rng):
    """Yield long texts of every kind: sentences, one word, one sign, white space, mixed."""
    letters = [*"abctheoisn  .,'\n\t0123456789é한\u0301ßfi\u200d🙂"]
    for _ in range(12):
        yield " ".join(rng.choice(CORPUS, 200))
        yield "".join(rng.choice(letters, 6_000))
        yield "".join(rng.choice([*"aeth"], 6_000))
        yield "".join(f"{sign}" * int(n) for sign, n in zip(rng.choice([*"ab \n"], 90),
                      rng.integers(1, 90, 90), strict=True))  # fmt: skip
    yield "a" * 7_000
    yield " " * 7_000
    yield "x " * 2_000 + "y" * 4_000


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("rendering", ["plain", "chat"])
def test_the_first_tokens_are_those_of_the_whole(kind, rendering, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 256)
    monkeypatch.setattr("collect.prompts.tokens.PIECE", 256)
    tokenizer, n, n_cut = TOKENIZERS[kind](), 24, 0
    tokenizer.chat_template = "{% for m in messages %}[{{ m['content'] }}]{% endfor %}"
    texts = [text.strip() or "." for text in _texts(np.random.default_rng(4))]
    prompts = pd.DataFrame({"prompt_id": [f"x:{n}" for n in range(len(texts))], "text": texts})
    whole = encode(prompts, tokenizer, rendering=rendering)
    part = encode(prompts, tokenizer, rendering=rendering, n_wanted=n)
    for expected, found in zip(whole, part, strict=True):
        assert found.token_ids[:n] == expected.token_ids[:n]
        assert found.is_special[:n] == expected.is_special[:n]
        assert found.is_beginning == (len(found) < len(expected))
        n_cut += found.is_beginning
    assert n_cut > 30


def test_tokens_that_do_not_fit_into_memory_are_refused_before_they_are_made(monkeypatch):
    tokenizer = tiny_tokenizer()
    monkeypatch.setattr(module, "available_memory", lambda: 50_000_000)
    prompts = pd.DataFrame({"prompt_id": ["x:0", "x:1"], "text": ["ab", "ab " * 100_000]})
    with pytest.raises(InputError, match=r"x:1 has about \d+ of them") as caught:
        encode(prompts, tokenizer)
    assert "--too-long truncate" in caught.value.hint
    assert len(encode(prompts, tokenizer, n_wanted=64)) == 2
    monkeypatch.setattr(module, "available_memory", available_memory)
    assert len(encode(prompts, tokenizer)[1]) == 300_000
