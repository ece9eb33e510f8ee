"""Measure a tiny model with the installed package, whose wheel brings the prompts."""

import tempfile
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import collect
from analysis.store import open_store
from collect.process.cli import main


def tiny(folder: Path) -> None:
    """Write a checkpoint of two blocks that reads bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {text: n for n, text in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=256, n_positions=256, n_embd=32, n_layer=2, n_head=2, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    GPT2LMHeadModel(config).save_pretrained(folder)


with tempfile.TemporaryDirectory() as name:
    place = Path(name)
    assert "alone" in Path(collect.__file__).parts, collect.__file__
    tiny(place / "tiny")
    typed = ["collect", "run", str(place / "tiny"), "--prompts", "A_grand_unified"]
    assert main([*typed, "--out", str(place / "runs")]) == 0
    store = open_store(place / "runs")
    n_prompts = store.query("SELECT count(DISTINCT prompt_id) AS n FROM raw.prompt_gain")[
        "n"
    ].item()
    assert n_prompts == 25, n_prompts
