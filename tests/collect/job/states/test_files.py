"""Files of states that are refused in a sentence, and what their headers say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from collect.commands.cli import main
from collect.errors import InputError
from collect.job.states import files
from collect.job.states.declared import declared
from tests.collect.job.states.dumps import (
    N_LAYERS,
    PROMPTS,
    WIDTH,
    arguments,
    entered_and_left,
    rows_of,
    stored,
)


def _wrong() -> Iterator[Any]:
    good = torch.ones(N_LAYERS, 5, WIDTH)
    spoilt = good.clone()
    spoilt[1, 2, 3] = float("nan")
    yield "nan", spoilt, ["--site", "block_output"], "finite"
    yield "axes", good[0], ["--site", "block_output"], "(5, 32)"
    yield "width", good[..., :-2], ["--site", "block_output"], "as wide as the model"
    yield "depth", good[:2], ["--site", "block_output"], "3 layers"
    yield "one more", torch.ones(N_LAYERS + 1, 5, WIDTH), ["--site", "block_output"], "block_input"
    yield "site", good, ["--site", "blok_output"], "block_output"
    yield "no site", good, [], "--site"
    yield "turned", good.transpose(0, 1), ["--site", "block_output"], "--tokens-first"
    yield "layer", good, ["--site", "block_output", "--layers", "1", "2", "3"], "from 0 to 2"
    yield "integers", good.int(), ["--site", "block_output"], "int32"
    yield "array", good, ["--site", "block_output", "--array", "states"], "hidden_states"
    yield "vllm", good, ["--engine", "vllm"], "another --engine"
    turned = ["--site", "block_output", "--tokens-first"]
    yield "not turned", good, turned, "leave --tokens-first out"


@pytest.mark.parametrize("wrong", [pytest.param(of, id=name) for name, *of in _wrong()])
def test_what_is_wrong_is_refused_and_nothing_is_written(
    wrong: tuple[torch.Tensor, list[str], str],
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    states, asked, named = wrong
    path, out = stored("npz", states.contiguous(), PROMPTS[0], tmp_path), tmp_path / "out"
    assert main(arguments(path, model, *asked, "--out", str(out))) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "Traceback" not in error
    assert not out.exists() or not [path for path in out.rglob("*") if path.is_file()]


def _faulty_rows() -> Iterator[Any]:
    good = pd.DataFrame(
        [
            {
                "layer": layer,
                "position": position,
                "token_id": token,
                "hidden_states": [1.0] * WIDTH,
            }
            for layer in range(N_LAYERS)
            for position, token in enumerate(PROMPTS[0])
        ]
    )
    twice = good.assign(position=good["position"].where(good.index != 6, 0))
    yield "a position twice at one layer", twice, "layer 1"
    yield "a position twice at all", good.replace({"position": {1: 0}}), "layer 0"
    yield "a gap", good[good["position"] != 2], "layer 0"
    yield "a row missing", good[good.index != 12], "layer 2"
    other = good.assign(token_id=good["token_id"].where(good.index != 6, 99))
    yield "another token", other, "layer 1"
    short = good["hidden_states"].copy()
    short[3] = [1.0]
    yield "a short vector", good.assign(hidden_states=short), "as long"
    short[4] = [1.0] * (2 * WIDTH - 1)
    yield "a short and a long one", good.assign(hidden_states=short), "as long"
    spoilt = good["hidden_states"].copy()
    spoilt[8] = [float("nan")] * WIDTH
    yield "nan", good.assign(hidden_states=spoilt), "entry 1, token 3, feature 0"
    texts = good.assign(hidden_states=[["a"] * WIDTH] * len(good))
    yield "texts", texts, "string"
    yield "no vectors", good[["layer", "position", "token_id"]], "hidden_states"
    yield "no rows", good[:0].assign(hidden_states=pd.Series(dtype=object)), "floating"


@pytest.mark.parametrize("faulty", [pytest.param(of, id=name) for name, *of in _faulty_rows()])
def test_rows_of_parquet_that_are_not_one_prompt_at_each_layer_are_refused(
    faulty: tuple[pd.DataFrame, str],
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows, named = faulty
    path, out = tmp_path / "prompt.parquet", tmp_path / "out"
    rows.sample(frac=1, random_state=0).to_parquet(path)
    assert main(arguments(path, model, "--site", "block_output", "--out", str(out))) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "Traceback" not in error
    assert not out.exists() or not [path for path in out.rglob("*") if path.is_file()]


@pytest.mark.parametrize("engine", ["vllm", "jax"])
def test_columns_of_parquet_name_their_axes_whatever_the_order_declared(
    engine: str, model: Path, tmp_path: Path
) -> None:
    states = entered_and_left(model, PROMPTS[0])
    path, out = stored("parquet", states, PROMPTS[0], tmp_path), tmp_path / "out"
    arguments = ["states", str(path), "--model", str(model), "--engine", engine]
    asked = ["--tokens-first", "--site", "block_input", "--against", str(model)]
    assert main([*arguments, *asked, "--out", str(out), "--quiet"]) == 0
    assert len(rows_of(out, "residual_norm")) == (N_LAYERS + 1) * len(PROMPTS[0])


@pytest.mark.parametrize("kind", ["npz", "compressed", "parquet"])
def test_a_header_is_read_without_the_numbers_and_damaged_numbers_are_refused(
    kind: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suffix, tokens = "parquet" if kind == "parquet" else "npz", 12 * PROMPTS[0]
    states = entered_and_left(model, tokens)[1:].contiguous()
    path, start = stored(suffix, states, tokens, tmp_path), 10_000
    if kind == "compressed":
        np.savez_compressed(path, hidden_states=states.numpy(), token_ids=np.array(tokens))
    if kind == "parquet":
        columns = pq.read_metadata(path).row_group(0)
        (column,) = [n for n in range(4) if "hidden" in columns.column(n).path_in_schema]
        start = columns.column(column).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    if kind != "compressed":
        head = files.head(path, declared("jax", "block_output"))
        assert (head.n_entries, head.n_tokens, head.d_model) == (N_LAYERS, 60, WIDTH)
        assert head.token_ids == tuple(tokens)
        with pytest.raises(InputError, match="cannot be read"):
            files.states(head, "hidden_states")
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(arguments(path, model, *asked)) == 2
    assert path.name in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["gone.npz", "torn.safetensors", "torn.npz", "torn.parquet", "a.pt"]
)
def test_a_file_that_cannot_be_read_is_refused(
    name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if not name.startswith("gone"):
        path.write_bytes(b"no such thing")
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(arguments(path, model, *asked)) == 2
    assert name in capsys.readouterr().err


def test_tokens_must_be_known(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, hidden_states=np.ones((N_LAYERS, 5, WIDTH), np.float32))
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(arguments(path, model, *asked)) == 2
    assert "--prompts" in capsys.readouterr().err
