"""Files of states that are refused in a sentence, and what their headers say."""

import numpy as np
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
