"""Tiny random models of every family, and a byte-level tokenizer to go with them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from collect.adapters import ADAPTERS
from collect.model.checkpoint.decoder import Decoder, decoder

# Sums depend on the number of threads: processes that tests start must have as many as the tests.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)
transformers.logging.disable_progress_bar()

SHAPE = {"vocab_size": 257, "bos_token_id": 256, "eos_token_id": 256}
WIDTH = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
FFN = {"intermediate_size": 48, "max_position_embeddings": 64}


def configurations() -> dict[str, Any]:
    """Return the configuration of each tiny model by name."""
    return {
        "gpt2": transformers.GPT2Config(
            **SHAPE, n_embd=32, n_layer=3, n_head=4, n_positions=64, n_inner=48
        ),
        "gpt_neox": transformers.GPTNeoXConfig(**SHAPE, **WIDTH, **FFN),
        "gpt_neox_sequential": transformers.GPTNeoXConfig(
            **SHAPE, **WIDTH, **FFN, use_parallel_residual=False
        ),
        "llama": transformers.LlamaConfig(**SHAPE, **WIDTH, **FFN),
        "llama_shared_values": transformers.LlamaConfig(
            **SHAPE, **WIDTH, **FFN, num_key_value_heads=2, head_dim=12, attention_bias=True
        ),
    }


FAMILIES = sorted(configurations())


def tiny_model(name: str, *, seed: int = 0) -> Any:
    """Return a random model whose norms and biases are random too, so that no mix-up hides."""
    return deepcopy(_built(name, seed))


@cache
def _built(name: str, seed: int) -> Any:
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(
        configurations()[name], attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
            else:
                parameter.copy_(0.2 * torch.randn_like(parameter))
    return model


def tiny_tokenizer(*, adds_start: bool = False) -> Any:
    """Return a tokenizer of 256 bytes and a start token, put before the text if asked."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {character: place for place, character in enumerate(alphabet)} | {"<s>": 256}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    if adds_start:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 256)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", clean_up_tokenization_spaces=False
    )


@pytest.fixture
def load_tiny() -> Callable[[str], Decoder]:
    """Return the tiny model of a given name."""

    def load(name: str) -> Decoder:
        model = tiny_model(name)
        return decoder(model, ADAPTERS[model.config.model_type])

    return load


@pytest.fixture(scope="session")
def saved_models(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function to the directory of a tiny model, saved once and not to be changed."""

    @cache
    def saved(name: str, seed: int, adds_start: bool) -> Path:
        directory = tmp_path_factory.mktemp("saved") / name
        tiny_model(name, seed=seed).save_pretrained(directory)
        tiny_tokenizer(adds_start=adds_start).save_pretrained(directory)
        return directory

    return saved


@pytest.fixture
def save_tiny(tmp_path: Path, saved_models: Callable[..., Path]) -> Callable[..., Path]:
    """Save the tiny model of a given name and return its directory."""

    def save(name: str, *, seed: int = 0, adds_start: bool = False, at: str = "") -> Path:
        directory = tmp_path / "checkpoints" / (at or name)
        return shutil.copytree(saved_models(name, seed, adds_start), directory, dirs_exist_ok=True)

    return save


def edit_config(directory: Path, **entries: object) -> Path:
    """Change entries of a checkpoint's ``config.json``; return its directory."""
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))
    return directory


def edit_weights(directory: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> Path:
    """Let ``change`` act on the tensors of a checkpoint, or return others; return its directory."""
    path = directory / "model.safetensors"
    tensors = load_file(path)
    changed = change(tensors)
    save_file(changed if isinstance(changed, dict) else tensors, path, {"format": "pt"})
    return directory


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A place for what a command writes."""
    return tmp_path / "out"


OWN_PROMPTS = "# Factual\nThe sky is\nTwo and two\n\n# Novel\nA b\nThe quick brown fox is\n"


@pytest.fixture
def prompt_file(tmp_path: Path) -> Path:
    """A prompt set of one's own, four prompts of different lengths that fit the tiny models."""
    path = tmp_path / "own.txt"
    path.write_text(OWN_PROMPTS)
    return path


@pytest.fixture(scope="session")
def gpt2_output(
    saved_models: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What a run of the tiny GPT-2 on `prompt_file` wrote, measured once and not to be changed."""
    from collect.job.run import run

    directory = tmp_path_factory.mktemp("measured")
    prompts = directory / "own.txt"
    prompts.write_text(OWN_PROMPTS)
    run([str(saved_models("gpt2", 0, False))], [prompts], directory / "out", quiet=True)
    return directory / "out"
