"""Files of states that are refused in a sentence, and what their headers say."""

import resource
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

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
    stored,
)


def _wrong():
    good = torch.ones(N_LAYERS, 5, WIDTH)
    spoilt = good.clone()
    spoilt[1, 2, 3] = float("nan")
    yield "nan", spoilt, ["--site", "block_output"], "finite"
    yield "axes", good[0], ["--site", "block_output"], "(5, 32)"
    yield "width", good[..., :-2], ["--site", "block_output"], "as wide as the model"
    yield "depth", good[:2], ["--site", "block_output"], "3 different layers"
    yield "one more", torch.ones(N_LAYERS + 1, 5, WIDTH), ["--site", "block_output"], "block_input"
    yield "site", good, ["--site", "blok_output"], "block_output"
    yield "no site", good, [], "--site"
    yield "layer", good, ["--site", "block_output", "--layers", "1", "2", "3"], "from 0 to 2"
    yield "integers", good.int(), ["--site", "block_output"], "int32"


@pytest.mark.parametrize("wrong", [pytest.param(of, id=name) for name, *of in _wrong()])
def test_what_is_wrong_is_refused_and_nothing_is_written(wrong, model, tmp_path, capsys):
    states, asked, named = wrong
    path, out = stored("npz", states.contiguous(), PROMPTS[0], tmp_path), tmp_path / "out"
    assert main(arguments(path, model, *asked, "--out", str(out))) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "Traceback" not in error
    assert not out.exists() or not [path for path in out.rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", ["npz", "compressed"])
def test_a_header_is_read_without_the_numbers_and_damaged_numbers_are_refused(
    kind, model, tmp_path, capsys
):
    tokens = 12 * PROMPTS[0]
    states = entered_and_left(model, tokens)[1:].contiguous()
    path, start = stored("npz", states, tokens, tmp_path), 10_000
    if kind == "compressed":
        np.savez_compressed(path, hidden_states=states.numpy(), token_ids=np.array(tokens))
    content = bytearray(path.read_bytes())
    content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    if kind != "compressed":
        head = files.head(path, declared("jax", "block_output"))
        assert (head.n_entries, head.n_tokens, head.d_model) == (N_LAYERS, 60, WIDTH)
        assert head.token_ids == tuple(tokens)
        with pytest.raises(InputError, match="cannot be read"):
            files.states(head)
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(arguments(path, model, *asked)) == 2
    assert path.name in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *((name, name) for name in ("gone.npz", "torn.safetensors", "torn.npz", "a.pt")),
        ("without_tokens.npz", "--prompts"),
    ],
)
def test_a_file_that_cannot_be_read_or_lacks_its_tokens_is_refused(
    name, part, model, tmp_path, capsys
):
    path = tmp_path / name
    if name.startswith("without"):
        np.savez(path, hidden_states=np.ones((N_LAYERS, 5, WIDTH), np.float32))
    elif not name.startswith("gone"):
        path.write_bytes(b"no such thing")
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(arguments(path, model, *asked)) == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        ([-1, 2, 3, 4, 5], "has -1"),
        ([0.5, 1.0, 2.0, 3.0, 4.0], "float64"),
        ([True, False, True, True, True], "bool"),
        ([1, 2, 3, 4], "4 token ids"),
    ],
)
@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_token_ids_that_are_none_are_refused(kind, wrong, model, tmp_path, capsys):
    ids, named = wrong
    states = torch.ones(N_LAYERS, 5, WIDTH)
    path, out = tmp_path / f"prompt.{kind}", tmp_path / "out"
    if kind == "npz":
        np.savez(path, hidden_states=states.numpy(), token_ids=np.array(ids))
    else:
        save_file({"hidden_states": states, "token_ids": torch.tensor(np.array(ids))}, path)
        named = {"float64": "F64", "bool": "BOOL"}.get(named, named)
    assert main(arguments(path, model, "--site", "block_output", "--out", str(out))) == 2
    error = capsys.readouterr().err
    assert path.name in error
    assert named in error
    assert not out.exists()


def test_states_whose_squares_no_row_can_hold_are_refused_in_words(model, tmp_path, capsys):
    states = torch.full((N_LAYERS, 5, WIDTH), 1e200, dtype=torch.float64)
    path = stored("npz", states, PROMPTS[0], tmp_path)
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(arguments(path, model, *asked)) == 2
    error = capsys.readouterr().err
    assert "1e+200" in error
    assert "NULL" not in error


def test_bytes_behind_an_array_are_refused(model, tmp_path, capsys):
    path = stored("npz", torch.ones(N_LAYERS, 5, WIDTH), PROMPTS[0], tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in members:
        with zipfile.ZipFile(path, "w") as archive:
            for each, content in members.items():
                archive.writestr(each, content + b"more" * (each == name))
        asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
        assert main(arguments(path, model, *asked)) == 2
        assert name.removesuffix(".npy") in capsys.readouterr().err


def _bomb(path, shape, ids):
    """Write headers of an npz, and zeros that compress to nothing behind them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, of, dtype in (("hidden_states", shape, "<f4"), ("token_ids", ids, "<i8")):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                header = {"descr": dtype, "fortran_order": False, "shape": of}
                np.lib.format.write_array_header_1_0(member, header)
                left = int(np.prod(of)) * np.dtype(dtype).itemsize
                while left:
                    n = min(left, 1 << 20)
                    member.write(bytes(n))
                    left -= n


@pytest.mark.parametrize(
    "wrong",
    [
        ((N_LAYERS, 7, WIDTH), (4_000_000,), "4000000 token ids"),
        ((N_LAYERS, 100_000, WIDTH), (100_000,), "context of 64 tokens"),
    ],
)
def test_what_inflates_is_judged_by_its_header(wrong, model, tmp_path, capsys):
    shape, ids, named = wrong
    path = tmp_path / "bomb.npz"
    _bomb(path, shape, ids)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(arguments(path, model, *asked)) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "--too-long" not in error
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000
