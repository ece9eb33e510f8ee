"""One unit: every table it fills, what it says of itself, and what is not measured."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from collect.commands.cli import main
from collect.errors import ConformanceError, InputError
from collect.job.planning.plan import plan
from collect.job.run import run
from collect.measures.register import FILLED
from collect.model.conformance.refusal import PROPERTIES
from collect.record.integrity import faults
from tests.collect.conftest import edit_config, edit_weights
from tests.collect.record.written import contents, frame

OF_WEIGHTS = {"model", "weight_norm", "matrix_norm", "conformance", "run"}


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama_shared_values"])
def test_a_run_fills_every_measured_table(save_tiny, prompt_file, out, name):
    how = {"quantities": ["all"], "quiet": True}
    run([str(save_tiny(name, adds_start=True))], [prompt_file], out, **how)
    parallel = name == "gpt_neox"
    written = {path.name for path in out.iterdir()}
    assert written - {"not_measured"} == OF_WEIGHTS | {"prompt"} | FILLED.keys()
    norms = frame(out, "residual_norm")
    n_tokens = frame(out, "next_token").set_index("prompt_id")["n_tokens"]
    assert n_tokens.to_dict() == {"own:00": 11, "own:01": 12, "own:02": 4, "own:03": 23}
    # Embedding, input of block 0, output of three blocks, final norm; mid of three blocks.
    assert len(norms) == (6 if parallel else 9) * n_tokens.sum()
    assert (norms["is_special"] == (norms["position"] == 0)).all()
    assert set(frame(out, "next_token")["n_special"]) == {1}
    assert len(frame(out, "residual_update")) == 3 * 3 * n_tokens.sum()
    assert len(frame(out, "token_prediction")) == n_tokens.sum()
    attention = frame(out, "attention")
    assert len(attention) == 4 * 3 * 4
    assert (attention["mass"] - attention["n_tokens"]).abs().max() < 1e-5
    assert len(frame(out, "token_geometry")) == 4 * 5
    assert len(frame(out, "conformance")) == 2 * len(PROPERTIES)
    assert frame(out, "conformance")["is_met"].all()
    missing = frame(out, "not_measured")["quantity"] if parallel else []
    assert ("site block_mid" in set(missing)) == parallel


def test_streamed_and_loaded_write_the_same_bytes(save_tiny, prompt_file, tmp_path):
    directory = str(save_tiny("llama_shared_values"))
    for name, stream in (("loaded", False), ("streamed", True)):
        how = {"stream": stream, "quantities": ["all"], "batch_size": 2, "quiet": True}
        run([directory], [prompt_file], tmp_path / name, **how)
    assert contents(tmp_path / "loaded") == contents(tmp_path / "streamed")
    runs = frame(tmp_path / "streamed", "run")
    assert set(runs["execution"]) == {"shards", "streamed"}


def test_a_model_of_more_than_half_of_the_memory_is_streamed(
    save_tiny, prompt_file, out, monkeypatch, capsys
):
    directory = str(save_tiny("gpt2"))
    size = Path(directory, "model.safetensors").stat().st_size
    monkeypatch.setattr("collect.model.checkpoint.memory.available", lambda _device: size)
    run([directory], [prompt_file], out)
    assert "local/gpt2: streamed, block by block; " in capsys.readouterr().err
    monkeypatch.setattr("collect.model.checkpoint.memory.available", lambda _device: 3 * size)
    run([directory], [prompt_file], out, overwrite=True)
    assert "local/gpt2: loaded; " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "execution"), [("stream", "streamed"), ("stream,geometry", "loaded")]
)
def test_a_large_model_is_streamed_where_the_stream_alone_is_asked_for(  # noqa: PLR0917
    save_tiny, prompt_file, out, monkeypatch, asked, execution
):
    directory = str(save_tiny("gpt2"))
    size = Path(directory, "model.safetensors").stat().st_size
    how = {"quantities": [asked], "quiet": True}
    monkeypatch.setattr("collect.job.subject.LARGE_BYTES", size // 2)
    (planned,) = plan([directory], [prompt_file], None, quantities=[asked])
    run([directory], [prompt_file], out, **how)
    assert planned.execution == execution
    assert frame(out, "run")["execution"].tolist() == [execution]
    monkeypatch.setattr("collect.job.subject.LARGE_BYTES", 2 * size)
    run([directory], [prompt_file], out, **how, overwrite=True)
    assert frame(out, "run")["execution"].tolist() == ["loaded"]


def test_tensors_that_are_used_nowhere_or_hold_one_number_are_named(save_tiny, out, capsys):
    def spoil(tensors):
        tensors["transformer.h.1.mlp.c_fc.weight"].fill_(0.5)
        tensors["transformer.h.2.attn.c_proj.weight"].zero_()
        tensors["transformer.h.0.attn.c_proj.weight"][0] = 0
        extra = {f"vision.{n}.weight": torch.ones(2) for n in range(3)}
        return tensors | extra | {"odd": torch.ones(1)}

    run([str(edit_weights(save_tiny("gpt2"), spoil))], [], out, quantities=["weights"])
    told = capsys.readouterr().err
    assert "local/gpt2: 4 tensors of the files are used nowhere, for example odd" in told
    assert "2 matrices hold one number throughout, for example transformer.h.1.mlp" in told
    named = frame(out, "not_measured")
    named = named[named["measured_table"] == "model"].set_index("quantity")["reason"]
    of_one = {"h.1.mlp.c_fc.weight": 0.5, "h.2.attn.c_proj.weight": 0}
    matrices = {f"matrix transformer.{name}": number for name, number in of_one.items()}
    assert set(named.index) == {"tensor vision.N.weight", "tensor odd", *matrices}
    for name, number in matrices.items():
        assert named[name].startswith(f"Every entry is {number:g}: never trained")
    assert named["tensor vision.N.weight"].startswith("3 of this name, a number for N, lie in")
    checked = frame(out, "conformance").set_index("property")
    assert set(checked.index) == {*PROPERTIES}
    assert checked.loc["tensors_used", "deviation"] == 4
    assert checked.loc["tensors_used", "reason"] == "used nowhere: odd, vision.N.weight"
    assert checked["is_met"].isna().tolist() == [name == "tensors_used" for name in checked.index]
    assert frame(out, "run")["is_conforming"].all()


@pytest.mark.parametrize(
    ("kind", "is_met"), [("AutoModelForCausalLM", False), ("AutoConfig", None)]
)
def test_code_of_the_repository_that_was_not_run_is_refused_or_told(
    save_tiny, tmp_path, kind, is_met, capsys
):
    directory, out = save_tiny("llama"), tmp_path / "out"
    edit_config(directory, auto_map={kind: "evil.Own"})
    (tmp_path / "own.txt").write_text("The sky is\n")
    arguments = ["run", str(directory), "--prompts", str(tmp_path / "own.txt"), "--out", str(out)]
    if is_met is False:
        assert main(arguments) == ConformanceError.exit_code
        assert "evil.Own" in capsys.readouterr().err
        assert not [*out.rglob("*.parquet")]
        arguments += ["--allow-nonconforming", str(directory)]
    assert main(arguments) == 0
    checked = frame(out, "conformance").set_index("property")
    assert checked.loc["library_code", "is_met"].tolist() == [is_met] * 2
    assert checked.loc["library_code", "deviation"].tolist() == [float(is_met is False)] * 2
    assert checked.loc["library_code", "reason"].str.contains("evil.Own").all()
    assert frame(out, "run")["is_conforming"].tolist() == [is_met is not False] * 2


def test_a_chat_is_a_unit_of_its_own(save_tiny, prompt_file, out):
    directory = save_tiny("gpt2")
    template = "[{{ messages[0]['role'] }}]{{ messages[0]['content'] }}[model]"
    (directory / "chat_template.jinja").write_text(template)
    run([str(directory)], [prompt_file], out, quiet=True)
    run([str(directory)], [prompt_file], out, rendering="chat", quiet=True)
    runs = frame(out, "run").query("kind == 'prompts'").set_index("rendering")
    assert sorted(runs.index) == ["chat", "plain"]
    assert runs["run_id"].is_unique
    assert (out / "residual_norm" / "local--gpt2@own+chat.parquet").is_file()
    lengths = frame(out, "next_token").set_index(["run_id", "prompt_id"])["n_tokens"]
    longer = lengths[runs.loc["chat", "run_id"]] - lengths[runs.loc["plain", "run_id"]]
    assert set(longer) == {len("[user][model]")}
    assert runs.loc["chat", "adds_special_tokens"]
    assert list(faults(out)) == []


@pytest.mark.parametrize("name", ["local/gpt2", "as given"])
def test_what_does_not_conform_is_measured_by_name_and_marked_for_ever(
    save_tiny, prompt_file, out, name, request
):
    monkeypatch, capsys = map(request.getfixturevalue, ("monkeypatch", "capsys"))
    mask = "transformers.models.gpt2.modeling_gpt2.create_causal_mask"
    monkeypatch.setattr(mask, lambda **_: None)
    directory = str(save_tiny("gpt2"))
    allowed = directory if name == "as given" else name
    with pytest.raises(ConformanceError):
        run([directory], [prompt_file], out, allow_nonconforming=["local/another"])
    capsys.readouterr()
    run([directory], [prompt_file], out, allow_nonconforming=[allowed])
    assert "local/gpt2: measured although it does not conform" in capsys.readouterr().err
    assert frame(out, "run")["is_conforming"].tolist() == [False, False]
    failed = frame(out, "conformance").query("is_met == False")
    assert set(failed["property"]) >= {"attention_causal", "future_unseen"}
    metadata = pq.read_schema(out / "attention" / "local--gpt2@own.parquet").metadata
    assert metadata[b"is_conforming"] == b"false"
    assert list(faults(out)) == []


@pytest.mark.parametrize(
    "place", ["collect.job.measurement.Recorder", "collect.job.subject.load_model"]
)
def test_what_does_not_fit_the_memory_is_an_input_error(save_tiny, out, monkeypatch, place):
    def exhaust(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(place, exhaust)
    with pytest.raises(InputError, match="must fit the device's memory") as refusal:
        run([str(save_tiny("gpt2"))], ["E1_4model_and_mistral"], out, quiet=True)
    for option in ("--stream", "--batch-size", "--dtype bfloat16"):
        assert option in refusal.value.hint
    assert "download" not in refusal.value.hint
