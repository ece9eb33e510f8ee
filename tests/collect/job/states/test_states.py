"""States of another engine: equal to our own run of the same model, or refused in a sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file

from analysis.store import open_store
from collect.commands.cli import main
from collect.job.states import comparison
from collect.schema import read_rows
from tests.collect.conftest import tiny_model

PROMPTS = [[5, 9, 100, 7, 3], [8, 1, 2], [44, 200, 31, 6]]
N_LAYERS, WIDTH = 3, 32


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny llama without a tokenizer."""
    directory = tmp_path_factory.mktemp("engines") / "tiny"
    tiny_model("llama").save_pretrained(directory)
    return directory


def _entered_and_left(model: Path, tokens: list[int]) -> torch.Tensor:
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


def _as_vllm(model: Path, directory: Path, *, shift: int = 0) -> list[Path]:
    """Write files as vLLM's ExampleHiddenStatesConnector does: tokens first, ids beside them.

    ``shift`` makes number j what enters block j + shift.
    """
    paths = []
    for number, tokens in enumerate(PROMPTS):
        states = _entered_and_left(model, tokens)
        states = states[shift:] if shift else states
        path = directory / f"request-{number}.safetensors"
        stored = {
            "hidden_states": states.transpose(0, 1).contiguous(),
            "token_ids": torch.tensor(tokens),
        }
        save_file(stored, path)
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def both(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return our own run's output, and that of the states that a script dumped."""
    directory = tmp_path_factory.mktemp("both")
    prompts = directory / "states.jsonl"
    records = [{"id": f"request-{n}", "token_ids": tokens} for n, tokens in enumerate(PROMPTS)]
    pd.DataFrame(records).to_json(prompts, orient="records", lines=True)
    own, theirs = directory / "own", directory / "theirs"
    asked = ["--quantities", "stream", "geometry", "--quiet"]
    assert main(["run", str(model), "--prompts", str(prompts), "--out", str(own), *asked]) == 0
    files = [str(path) for path in _as_vllm(model, directory)]
    config = str(model / "config.json")
    arguments = ["states", *files, "--model", config, "--engine", "vllm", "--out", str(theirs)]
    assert main([*arguments, "--quiet"]) == 0
    return own, theirs


def _rows(directory: Path, table: str) -> pd.DataFrame:
    (path,) = (directory / table).glob("*.parquet")
    frame: pd.DataFrame = read_rows(path, table).to_pandas()
    return frame


@pytest.mark.parametrize(
    ("table", "key", "where"),
    [
        (
            "residual_norm",
            ["prompt_id", "layer", "site", "position"],
            ("block_input", "block_output"),
        ),
        ("residual_update", ["prompt_id", "layer", "part", "position"], ("block",)),
        ("token_geometry", ["prompt_id", "layer", "site"], ("block_input", "block_output")),
        ("prompt_geometry", ["layer", "site"], ("block_input", "block_output")),
    ],
)
def test_a_dump_gives_the_numbers_of_our_own_run(
    both: tuple[Path, Path], table: str, key: list[str], where: tuple[str, ...]
) -> None:
    own, theirs = (_rows(directory, table) for directory in both)
    place = "part" if "part" in key else "site"
    own = own[own[place].isin(where)].set_index(key).sort_index()
    theirs = theirs.set_index(key).sort_index()
    assert list(own.index) == list(theirs.index)
    for name in own.select_dtypes("float").columns:
        np.testing.assert_allclose(theirs[name], own[name], rtol=1e-6, atol=1e-6)


def test_the_run_says_where_the_states_came_from(both: tuple[Path, Path]) -> None:
    run = _rows(both[1], "run").iloc[0]
    assert (run["states_engine"], run["execution"]) == ("vllm", "imported")
    files = sorted(both[1].parent.glob("*.safetensors"))
    listed = [f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n" for file in files]
    assert run["states_sha256"] == hashlib.sha256("".join(listed).encode()).hexdigest()
    assert run["model_id"] == "local/tiny/vllm"
    assert run["weights_sha256"] == run["device"] == "unseen"
    gaps = _rows(both[1], "not_measured").set_index(["measured_table", "quantity"])
    for gap in (
        ("next_token", "every row"),
        ("attention", "every row"),
        ("weight_norm", "every row"),
        ("residual_update", "part attention"),
        ("residual_norm", "site final_norm"),
    ):
        assert "vllm" in gaps.loc[gap, "reason"]
    checks = _rows(both[1], "conformance").set_index("property")["is_met"]
    assert checks["finite"]
    assert checks.drop("finite").isna().all()


def test_an_output_of_states_is_sound_and_opens_beside_our_own(both: tuple[Path, Path]) -> None:
    assert main(["check", str(both[1])]) == 0
    store = open_store(*both)
    for view in ("block_gain", "last_token_gain"):
        gains = store.query(
            f"SELECT model_id, avg(ln(gain)) AS gain, count(*) AS n FROM {view} "
            "GROUP BY model_id ORDER BY 1"
        )
        assert list(gains["model_id"]) == ["local/tiny", "local/tiny/vllm"]
        assert gains["n"][0] == gains["n"][1]
        assert gains["gain"][0] == pytest.approx(gains["gain"][1], rel=1e-6)
    for view in ("primary_run", "measured_gain"):
        models = store.query(f"SELECT DISTINCT model_id FROM {view}")["model_id"]
        assert list(models) == ["local/tiny"]


def test_files_that_are_there_already_are_not_measured_again(
    both: tuple[Path, Path], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(path) for path in sorted(both[1].parent.glob("*.safetensors"))]
    arguments = ["states", *files, "--model", str(model), "--engine", "vllm"]
    before = sorted(path.stat().st_mtime_ns for path in both[1].rglob("*.parquet"))
    assert main([*arguments, "--out", str(both[1])]) == 0
    assert "complete" in capsys.readouterr().err
    assert before == sorted(path.stat().st_mtime_ns for path in both[1].rglob("*.parquet"))


def _stored(kind: str, states: torch.Tensor, tokens: list[int], path: Path) -> Path:
    """Write states (layers, tokens, d) as a kind of file."""
    path = path / f"prompt.{kind}"
    if kind == "safetensors":
        save_file({"hidden_states": states, "token_ids": torch.tensor(tokens)}, path)
    elif kind == "npz":
        np.savez(path, hidden_states=states.numpy(), token_ids=np.array(tokens))
    else:
        layer, position = np.indices(states.shape[:2]).reshape(2, -1)
        columns = {
            "layer": layer,
            "position": position,
            "hidden_states": list(states.reshape(-1, WIDTH).numpy()),
            "token_id": np.array(tokens)[position],
        }
        pq.write_table(pa.table(columns), path)
    return path


def _arguments(path: Path, model: Path, *more: str) -> list[str]:
    return ["states", str(path), "--model", str(model), "--engine", "jax", *more]


@pytest.mark.parametrize("kind", ["safetensors", "npz", "parquet"])
def test_each_kind_of_file_equals_the_model(
    kind: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = _entered_and_left(model, PROMPTS[0])[1:].contiguous()
    path = _stored(kind, states, PROMPTS[0], tmp_path)
    out = tmp_path / "out"
    asked = ["--site", "block_output", "--against", str(model), "--out", str(out)]
    assert main(_arguments(path, model, *asked)) == 0
    assert "layer by layer" in capsys.readouterr().out
    norms = _rows(out, "residual_norm")
    expected = states.double().norm(dim=-1).flatten()
    np.testing.assert_allclose(
        norms.sort_values(["layer", "position"])["norm"], expected, rtol=1e-6
    )


def test_an_off_by_one_is_named(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = _entered_and_left(model, PROMPTS[0])[:N_LAYERS].contiguous()
    path = _stored("npz", states, PROMPTS[0], tmp_path)
    out = tmp_path / "out"
    asked = ["--site", "block_output", "--against", str(model), "--out", str(out)]
    assert main(_arguments(path, model, *asked)) == 1
    assert "layer 0 of the file equals layer -1" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.parametrize("shift", [0, 1])
def test_several_files_of_vllm_agree_unless_their_ids_are_one_too_high(
    shift: int, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = _as_vllm(model, tmp_path, shift=shift)
    arguments = ["states", *map(str, paths), "--model", str(model), "--engine", "vllm"]
    assert main([*arguments, "--against", str(model)]) == shift
    verdict = ("layer by layer", "layer -1 of the file equals layer 0 of the model")[shift]
    assert verdict in capsys.readouterr().out


def _at(site: str, model: Path, tokens: list[int]) -> torch.Tensor:
    """Return what reads the stream between the parts of each block, or what is left at last."""
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    seen: list[torch.Tensor] = []
    if site == "block_mid":
        for layer in network.model.layers:
            layer.post_attention_layernorm.register_forward_pre_hook(
                lambda _m, args: seen.append(args[0][0])
            )
    elif site == "final_norm":
        network.model.norm.register_forward_hook(lambda _m, _a, out: seen.append(out[0]))
    else:
        network.model.embed_tokens.register_forward_hook(lambda _m, _a, out: seen.append(out[0]))
    with torch.inference_mode():
        network(torch.tensor([tokens]))
    return torch.stack(seen)


@pytest.mark.parametrize("site", ["embedding", "block_mid", "final_norm"])
def test_every_site_is_compared(
    site: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = _at(site, model, PROMPTS[0])
    asked = ["--site", site, "--against", str(model)]
    path = _stored("npz", states, PROMPTS[0], tmp_path)
    assert main(_arguments(path, model, *asked)) == 0
    assert capsys.readouterr().out.count(f"{site} of layer") == 2 * len(states)
    path = _stored("npz", states.flip(1), PROMPTS[0], tmp_path)
    assert main(_arguments(path, model, *asked)) == 1


def test_another_site_of_the_same_layer_is_named(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _stored("npz", _at("block_mid", model, PROMPTS[0]), PROMPTS[0], tmp_path)
    asked = ["--site", "block_output", "--against", str(model)]
    assert main(_arguments(path, model, *asked)) == 1
    assert "block_output of layer 0 of the file equals block_mid" in capsys.readouterr().out
    assert not comparison.is_agreement([])
    assert comparison.verdict([]) == "nothing was compared."


def _of_kind(kind: str, directory: Path) -> Path:
    """Save a model of another kind that is as wide and as deep, or is not."""
    import transformers

    torch.manual_seed(1)
    shape = {"vocab_size": 257, "hidden_size": WIDTH, "num_hidden_layers": N_LAYERS}
    shape |= {"num_attention_heads": 4, "intermediate_size": 48}
    changed = {"narrow": {"hidden_size": 16}, "deep": {"num_hidden_layers": N_LAYERS + 1}}
    changed |= {"few tokens": {"vocab_size": 60}}
    if kind == "without a last norm":
        config = transformers.OPTConfig(
            **shape, ffn_dim=48, word_embed_proj_dim=WIDTH, _remove_final_layer_norm=True
        )
    elif kind == "in parallel":
        config = transformers.GPTNeoXConfig(**shape)
    else:
        config = transformers.LlamaConfig(**{**shape, **changed.get(kind, {})})
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(directory)
    return directory


@pytest.mark.parametrize(
    "case",
    [
        ("in parallel", "block_mid", "block_mid of layer 0, block_mid of layer 1, block_mid"),
        ("without a last norm", "final_norm", "final_norm of layer 2"),
        ("narrow", "block_output", "16 in 3"),
        ("deep", "block_output", "32 in 4"),
        ("few tokens", "block_output", "numbered 100"),
    ],
)
def test_a_model_that_cannot_be_compared_is_refused(
    case: tuple[str, str, str],
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind, site, named = case
    states = torch.ones(1 if site == "final_norm" else N_LAYERS, 5, WIDTH)
    path, out = _stored("npz", states, PROMPTS[0], tmp_path), tmp_path / "out"
    asked = ["--site", site, "--against", str(_of_kind(kind, tmp_path / "other"))]
    assert main(_arguments(path, model, *asked, "--out", str(out))) == 2
    assert named in capsys.readouterr().err
    assert not out.exists()


def test_another_model_of_the_same_shape_is_not_the_one(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = _entered_and_left(model, PROMPTS[0])[1:].contiguous()
    path = _stored("npz", states, PROMPTS[0], tmp_path)
    asked = ["--site", "block_output", "--against", str(_of_kind("llama", tmp_path / "other"))]
    assert main(_arguments(path, model, *asked)) == 1
    assert "not the model's" in capsys.readouterr().out


def test_the_model_is_named_and_labelled_by_what_lies_beside_its_configuration(
    model: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "config"
    alone.mkdir()
    config = json.loads((model / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "awq", "bits": 4}
    (alone / "config.json").write_text(json.dumps(config))
    labels = {"model_id": "acme/small", "lab": "acme", "suite": "small", "year": 2024}
    (alone / "thermoscope.json").write_text(json.dumps({**labels, "steps": 7}))
    states = _entered_and_left(model, PROMPTS[0])[1:].contiguous()
    path = _stored("npz", states, PROMPTS[0], tmp_path)
    for named in (alone, alone / "config.json"):
        out = tmp_path / named.name / "out"
        asked = ["--site", "block_output", "--out", str(out), "--quiet"]
        assert main(_arguments(path, named, *asked)) == 0
        row = _rows(out, "model").iloc[0]
        assert row["model_id"] == "acme/small/jax"
        assert {name: row[name] for name in ("lab", "suite", "year")} == {
            name: labels[name] for name in ("lab", "suite", "year")
        }
        assert row["training_step"] == 7
        assert _rows(out, "run").iloc[0]["weights_sha256"] == "unseen"


def test_a_last_state_after_the_final_norm_is_named(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    with torch.inference_mode():
        output = network(torch.tensor([PROMPTS[0]]), output_hidden_states=True)
    states = torch.cat(output.hidden_states)
    path = _stored("npz", states, PROMPTS[0], tmp_path)
    asked = ["--site", "block_input", "--against", str(model)]
    assert main(_arguments(path, model, *asked)) == 1
    assert "after the final norm" in capsys.readouterr().out


def test_some_layers_alone_are_measured_and_the_others_recorded(
    model: Path, tmp_path: Path
) -> None:
    states = _entered_and_left(model, PROMPTS[0])[[2, 3]].contiguous()
    path, out = _stored("npz", states, PROMPTS[0], tmp_path), tmp_path / "out"
    asked = ["--site", "block_output", "--layers", "1", "2", "--out", str(out), "--quiet"]
    assert main(_arguments(path, model, *asked)) == 0
    assert {*_rows(out, "residual_norm")["layer"]} == {1, 2}
    assert {*_rows(out, "residual_update")["layer"]} == {2}
    gaps = _rows(out, "not_measured").groupby("measured_table")["quantity"].agg(set)
    assert "site block_output of layers 0" in gaps["residual_norm"]
    assert "part block of layers 0, 1" in gaps["residual_update"]


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
    path, out = _stored("npz", states.contiguous(), PROMPTS[0], tmp_path), tmp_path / "out"
    assert main(_arguments(path, model, *asked, "--out", str(out))) == 2
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
    assert main(_arguments(path, model, "--site", "block_output", "--out", str(out))) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "Traceback" not in error
    assert not out.exists() or not [path for path in out.rglob("*") if path.is_file()]


@pytest.mark.parametrize("engine", ["vllm", "jax"])
def test_columns_of_parquet_name_their_axes_whatever_the_order_declared(
    engine: str, model: Path, tmp_path: Path
) -> None:
    states = _entered_and_left(model, PROMPTS[0])
    path, out = _stored("parquet", states, PROMPTS[0], tmp_path), tmp_path / "out"
    arguments = ["states", str(path), "--model", str(model), "--engine", engine]
    asked = ["--tokens-first", "--site", "block_input", "--against", str(model)]
    assert main([*arguments, *asked, "--out", str(out), "--quiet"]) == 0
    assert len(_rows(out, "residual_norm")) == (N_LAYERS + 1) * len(PROMPTS[0])


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_a_file_whose_numbers_alone_are_damaged_is_refused(
    kind: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"prompt.{kind}"
    states = _entered_and_left(model, PROMPTS[0])[1:].contiguous()
    if kind == "npz":
        ids = np.array(PROMPTS[0])
        np.savez_compressed(path, hidden_states=states.numpy(), token_ids=ids)
        start = 200
    else:
        pq.write_table(pq.read_table(_stored(kind, states, PROMPTS[0], tmp_path)), path)
        columns = pq.read_metadata(path).row_group(0)
        start = columns.column(2).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(_arguments(path, model, *asked)) == 2
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
    assert main(_arguments(path, model, *asked)) == 2
    assert name in capsys.readouterr().err


def test_tokens_must_be_known(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, hidden_states=np.ones((N_LAYERS, 5, WIDTH), np.float32))
    asked = ["--site", "block_output", "--out", str(tmp_path / "out")]
    assert main(_arguments(path, model, *asked)) == 2
    assert "--prompts" in capsys.readouterr().err
