"""The step of a quantised block, and one more rounding error of its size."""

import hashlib
import os

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize, quantize

from analysis.store import open_store
from collect.commands.cli import main
from collect.job.planning.plan import plan
from collect.model.checkpoint import checkpoint
from collect.model.checkpoint.gguf import facts, header, steps
from collect.model.checkpoint.gguf.tensors import readings
from tests.collect import gguf_files
from tests.collect.model.checkpoint.local_hub import Repository

EVEN = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]

#: What must not see the runs of a perturbation.
VIEWS = (
    *("primary_run", "run_revision", "prompt_length", "token", "stream", "stream_length"),
    *("block_gain", "last_token_gain", "prompt_gain", "model_gain", "gain_by_model"),
    *("update_profile", "expansion", "attention_layer", "attention_profile", "geometry_profile"),
    *("head_norm", "layer_head", "layer_trace", "depth_profile", "massive_activation"),
    *("token_growth", "block_write", "centred_update", "primary_gain", "weights_of_run"),
    *("mean_share", "function_gain"),
)


@pytest.mark.parametrize("name", EVEN)
def test_numbers_of_a_block_lie_whole_steps_apart(name):
    rng = np.random.default_rng(5)
    kind = GGMLQuantizationType[name]
    stored = quantize(rng.normal(size=(6, 64)).astype(np.float32), kind)
    numbers, result = dequantize(stored, kind), steps.steps(stored, kind)
    blocks, of_block = numbers.reshape(-1, 32), result.reshape(-1, 32)
    assert (of_block == of_block[:, :1]).all()
    apart = (blocks - blocks[:, :1]) / of_block
    np.testing.assert_allclose(apart, apart.round(), atol=2e-3)
    assert np.abs(apart).max(axis=1).min() > 4


@pytest.mark.parametrize(
    ("name", "n_bytes"), [("Q2_K", 84), ("Q3_K", 110), ("Q4_K", 144), ("Q5_K", 176), ("Q6_K", 210)]
)
def test_numbers_of_a_super_block_lie_whole_steps_apart(name, n_bytes):
    """No quantiser of these is in the package: any bytes are a block, if scales are finite."""
    rng = np.random.default_rng(6)
    kind = GGMLQuantizationType[name]
    stored = rng.integers(0, 256, (4, n_bytes)).astype(np.uint8)
    places = {"Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
    for place in places[name]:
        stored[:, place : place + 2] = np.array([0.5], np.float16).view(np.uint8)
    numbers, result = dequantize(stored, kind), steps.steps(stored, kind)
    blocks, of_block = numbers.reshape(-1, 16), result.reshape(-1, 16)
    assert (of_block == of_block[:, :1]).all()
    blocks, of_block = blocks[of_block[:, 0] > 0], of_block[of_block[:, 0] > 0]
    apart = (blocks - blocks[:, :1]) / of_block
    np.testing.assert_allclose(apart, apart.round(), atol=1e-4)
    assert {*np.unique(np.gcd.reduce(apart.round().astype(int), axis=1))} & {1}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("steps") / "tiny.gguf"
    return gguf_files.write("llama", gguf_files.tiny("llama"), path, number_format="Q4_0")


def test_the_error_is_uniform_within_half_a_step_and_the_same_in_pieces(file):
    plain = header.read_header(file)
    of_seed = facts.perturbed(plain, 3)
    as_read = {tensor.name: tensor for tensor in GGUFReader(file).tensors}
    shares = []
    for (name, reading), (_, bare) in zip(readings(of_seed), readings(plain), strict=True):
        whole, unperturbed = reading[...], bare[...]
        if as_read[name].tensor_type != GGMLQuantizationType.Q4_0:
            assert (whole == unperturbed).all()
            continue
        step = steps.steps(np.array(as_read[name].data), GGMLQuantizationType.Q4_0)
        shares.append((whole - unperturbed).numpy() / step)
        pieces = [reading[slice(3, 7)], reading[[9, 2]]]
        assert (pieces[0] == whole[3:7]).all()
        assert (pieces[1] == whole[[9, 2]]).all()
    drawn = np.concatenate([share.ravel() for share in shares])
    assert np.abs(drawn).max() <= 0.5 + 1e-3
    assert drawn.std() == pytest.approx(12**-0.5, rel=0.01)
    assert abs(drawn.mean()) < 0.005


def test_rows_stand_beside_the_plain_ones_and_views_leave_them_out(file, tmp_path):
    prompts = tmp_path / "mine.txt"
    prompts.write_text("The sky is\nA river runs\n", encoding="utf-8")
    arguments = ["run", str(file), "--prompts", str(prompts), "--quiet"]
    out, alone = tmp_path / "out", tmp_path / "alone"
    assert main([*arguments, "--out", str(out), "--perturb", "step", "--seeds", "2"]) == 0
    assert main([*arguments, "--out", str(alone)]) == 0
    assert main(["check", str(out)]) == 0
    both, plain = open_store(out), open_store(alone)
    runs = both.query(
        "SELECT perturbation_seed AS seed, count(*) AS n FROM run GROUP BY ALL "
        "ORDER BY 1 NULLS FIRST"
    )
    assert runs["n"].tolist() == [2, 2, 2]
    assert runs["seed"].tolist()[1:] == [1, 2]
    for view in VIEWS:
        counted = f"SELECT count(*) AS n FROM {view}"
        assert both.query(counted)["n"][0] == plain.query(counted)["n"][0], view
    asked = "SELECT property, n_runs, n_met FROM conformance_summary ORDER BY ALL"
    assert both.query(asked).equals(plain.query(asked))
    both.connection.execute("CREATE OR REPLACE MACRO counts_perturbed() AS true")
    gains = both.query("SELECT run_id, avg(log_gain) AS gain FROM raw.prompt_gain GROUP BY run_id")
    assert len(gains) == gains["gain"].nunique() == 3


@pytest.mark.parametrize("number_format", ["F32", "MXFP4"])
def test_what_has_no_even_grid_is_refused(number_format, tmp_path, out, capsys):
    path = tmp_path / "odd.gguf"
    gguf_files.write("llama", gguf_files.tiny("llama"), path, number_format=number_format)
    assert main(["run", str(path), "--out", str(out), "--perturb", "step"]) == 2
    assert "--perturb" in capsys.readouterr().err
    assert not [each for each in out.rglob("*") if each.is_file()]


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        (["--perturb", "stop"], "The nearest is step"),
        (["--seeds", "0"], "--perturb step"),
        (["--seeds", "2"], "--perturb step"),
    ],
)
def test_an_unknown_perturbation_and_seeds_without_one_are_refused(
    asked, part, file, tmp_path, capsys
):
    for verb in ("plan", "run"):
        assert main([verb, str(file), "--out", str(tmp_path / "out"), *asked]) == 2
        assert part in capsys.readouterr().err


def test_a_file_is_hashed_once_for_all_seeds(file, tmp_path, monkeypatch):
    path = tmp_path / "again.gguf"
    path.write_bytes(file.read_bytes())
    hashed = []

    def file_sha256(path):
        hashed.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(checkpoint, "file_sha256", file_sha256)
    arguments = [str(path), "--out", str(tmp_path / "out"), "--perturb", "step"]
    assert main(["plan", *arguments]) == main(["run", *arguments]) == 0
    assert hashed == [path]
    os.utime(path, ns=(1, 1))
    assert main(["plan", *arguments]) == 0
    assert hashed == [path, path]


def test_a_file_of_the_hub_is_said_to_be_fetched_once_for_all_seeds(
    file, local_hub, tmp_path, capsys
):
    directory = tmp_path / "on hub"
    directory.mkdir()
    (directory / file.name).write_bytes(file.read_bytes())
    local_hub.repositories["acme/tiny"] = Repository(directory)
    arguments = [f"acme/tiny/{file.name}", "--out", str(tmp_path / "out"), "--perturb", "step"]
    assert main(["run", *arguments, "--seeds", "2"]) == 0
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count(" to download") == 1


def test_a_perturbed_unit_is_planned_to_take_longer_by_its_numbers(file):
    plain, *perturbed = plan([str(file)], [], None, perturb="step", seeds=2)
    assert len(perturbed) == 2
    expected = 2.2 * 8e-9 * facts.n_quantised(header.read_header(file))
    for unit in perturbed:
        assert unit.duration_s - plain.duration_s == pytest.approx(expected, rel=1e-6)
