"""States of another engine: equal to our own run of the same model."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from analysis.store import open_store
from collect.commands.cli import main
from tests.collect.job.states.dumps import (
    PROMPTS,
    arguments,
    as_vllm,
    entered_and_left,
    rows_of,
    stored,
)


@pytest.fixture(scope="module")
def both(model, tmp_path_factory):
    """Return our own run's output, and that of the states that a script dumped."""
    directory = tmp_path_factory.mktemp("both")
    prompts = directory / "states.jsonl"
    records = [{"id": f"request-{n}", "token_ids": tokens} for n, tokens in enumerate(PROMPTS)]
    pd.DataFrame(records).to_json(prompts, orient="records", lines=True)
    own, theirs = directory / "own", directory / "theirs"
    asked = ["--quantities", "stream", "geometry", "--quiet"]
    assert main(["run", str(model), "--prompts", str(prompts), "--out", str(own), *asked]) == 0
    files = [str(path) for path in as_vllm(model, directory)]
    config = str(model / "config.json")
    arguments = ["states", *files, "--model", config, "--engine", "vllm", "--out", str(theirs)]
    assert main([*arguments, "--quiet"]) == 0
    return own, theirs


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
def test_a_dump_gives_the_numbers_of_our_own_run(both, table, key, where):
    own, theirs = (rows_of(directory, table) for directory in both)
    place = "part" if "part" in key else "site"
    own = own[own[place].isin(where)].set_index(key).sort_index()
    theirs = theirs.set_index(key).sort_index()
    assert list(own.index) == list(theirs.index)
    for name in own.select_dtypes("float").columns:
        np.testing.assert_allclose(theirs[name], own[name], rtol=1e-6, atol=1e-6)


def test_the_run_says_where_the_states_came_from(both):
    run = rows_of(both[1], "run").iloc[0]
    assert (run["states_engine"], run["execution"]) == ("vllm", "imported")
    files = sorted(both[1].parent.glob("*.safetensors"))
    listed = [f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n" for file in files]
    assert run["states_sha256"] == hashlib.sha256("".join(listed).encode()).hexdigest()
    assert run["model_id"] == "local/tiny/vllm"
    assert run["weights_sha256"] == run["device"] == "unseen"
    gaps = rows_of(both[1], "not_measured").set_index(["measured_table", "quantity"])
    for gap in (
        ("next_token", "every row"),
        ("attention", "every row"),
        ("weight_norm", "every row"),
        ("residual_update", "part attention"),
        ("residual_norm", "site final_norm"),
    ):
        assert "vllm" in gaps.loc[gap, "reason"]
    checks = rows_of(both[1], "conformance").set_index("property")["is_met"]
    assert checks["finite"]
    assert checks.drop("finite").isna().all()


def test_an_output_of_states_is_sound_and_opens_beside_our_own(both):
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


@pytest.mark.parametrize("kind", ["safetensors", "npz"])
def test_each_kind_of_file_equals_the_model(kind, model, tmp_path, out, capsys):
    states = entered_and_left(model, PROMPTS[0])[1:].contiguous()
    path = stored(kind, states, PROMPTS[0], tmp_path)
    asked = ["--site", "block_output", "--against", str(model), "--out", str(out)]
    assert main(arguments(path, model, *asked)) == 0
    assert "layer by layer" in capsys.readouterr().out
    norms = rows_of(out, "residual_norm")
    expected = states.double().norm(dim=-1).flatten()
    np.testing.assert_allclose(
        norms.sort_values(["layer", "position"])["norm"], expected, rtol=1e-6
    )


def test_the_model_is_named_and_labelled_by_what_lies_beside_its_configuration(model, tmp_path):
    alone = tmp_path / "config"
    alone.mkdir()
    config = json.loads((model / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "awq", "bits": 4}
    (alone / "config.json").write_text(json.dumps(config))
    labels = {"model_id": "acme/small", "lab": "acme", "suite": "small", "year": 2024}
    (alone / "thermoscope.json").write_text(json.dumps({**labels, "steps": 7}))
    states = entered_and_left(model, PROMPTS[0])[1:].contiguous()
    path = stored("npz", states, PROMPTS[0], tmp_path)
    for named in (alone, alone / "config.json"):
        out = tmp_path / named.name / "out"
        asked = ["--site", "block_output", "--out", str(out), "--quiet"]
        assert main(arguments(path, named, *asked)) == 0
        row = rows_of(out, "model").iloc[0]
        assert row["model_id"] == "acme/small/jax"
        assert {name: row[name] for name in ("lab", "suite", "year")} == {
            name: labels[name] for name in ("lab", "suite", "year")
        }
        assert row["training_step"] == 7
        assert rows_of(out, "run").iloc[0]["weights_sha256"] == "unseen"


def test_some_layers_alone_are_measured_and_the_others_recorded(model, tmp_path):
    states = entered_and_left(model, PROMPTS[0])[[2, 3]].contiguous()
    path, out = stored("npz", states, PROMPTS[0], tmp_path), tmp_path / "out"
    asked = ["--site", "block_output", "--layers", "1", "2", "--out", str(out), "--quiet"]
    assert main(arguments(path, model, *asked)) == 0
    assert {*rows_of(out, "residual_norm")["layer"]} == {1, 2}
    assert {*rows_of(out, "residual_update")["layer"]} == {2}
    gaps = rows_of(out, "not_measured").groupby("measured_table")["quantity"].agg(set)
    assert "site block_output of layers 0" in gaps["residual_norm"]
    assert "part block of layers 0, 1" in gaps["residual_update"]
