"""States as other engines leave them, and the arguments that read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file

from collect.schema import read_rows

PROMPTS = [[5, 9, 100, 7, 3], [8, 1, 2], [44, 200, 31, 6]]
N_LAYERS, WIDTH = 3, 32


def entered_and_left(model: Path, tokens: list[int]) -> torch.Tensor:
    """Return what enters block 0 and leaves each block, (N_LAYERS + 1, n, WIDTH)."""
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    seen: list[torch.Tensor] = []
    layers = network.model.layers
    layers[0].register_forward_pre_hook(
        lambda _m, args, kwargs: seen.append((args[0] if args else kwargs["hidden_states"])[0]),
        with_kwargs=True,
    )
    for layer in layers:
        layer.register_forward_hook(
            lambda _m, _a, out: seen.append((out[0] if isinstance(out, tuple) else out)[0])
        )
    with torch.inference_mode():
        network(torch.tensor([tokens]))
    return torch.stack([states.reshape(len(tokens), WIDTH) for states in seen])


def as_vllm(model: Path, directory: Path, *, shift: int = 0) -> list[Path]:
    """Write files as vLLM's ExampleHiddenStatesConnector does: tokens first, ids beside them.

    ``shift`` makes number j what enters block j + shift.
    """
    paths = []
    for number, tokens in enumerate(PROMPTS):
        states = entered_and_left(model, tokens)
        states = states[shift:] if shift else states
        path = directory / f"request-{number}.safetensors"
        stored = {
            "hidden_states": states.transpose(0, 1).contiguous(),
            "token_ids": torch.tensor(tokens),
        }
        save_file(stored, path)
        paths.append(path)
    return paths


def stored(kind: str, states: torch.Tensor, tokens: list[int], path: Path) -> Path:
    """Write states (layers, tokens, d) as a kind of file."""
    path = path / f"prompt.{kind}"
    if kind == "safetensors":
        save_file({"hidden_states": states, "token_ids": torch.tensor(tokens)}, path)
    else:
        np.savez(path, hidden_states=states.numpy(), token_ids=np.array(tokens))
    return path


def rows_of(directory: Path, table: str) -> pd.DataFrame:
    (path,) = (directory / table).glob("*.parquet")
    frame: pd.DataFrame = read_rows(path, table).to_pandas()
    return frame


def arguments(path: Path, model: Path, *more: str) -> list[str]:
    return ["states", str(path), "--model", str(model), "--engine", "jax", *more]
