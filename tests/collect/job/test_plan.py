"""The plan: rows as a run then writes them, the rest within the bounds it states."""

import json

import pyarrow.parquet as pq
import pytest

from collect.commands.cli import main
from collect.job.outcome import RefusedError
from collect.job.planning import estimate
from collect.job.planning.plan import drawn, plan
from collect.job.run import run

NAMES = ["gpt2", "gpt_neox", "gpt_neox_sequential", "llama", "llama_shared_values"]


def written(out, unit):
    """Return the rows a run wrote for a unit, by table; of the prompts too."""
    result = {
        path.parent.name: pq.read_metadata(path).num_rows for path in out.glob(f"*/{unit}.parquet")
    }
    if "@" in unit:
        prompt_set = unit.partition("@")[2].removesuffix("+chat").partition(",")[0]
        result["prompt"] = pq.read_metadata(out / "prompt" / f"{prompt_set}.parquet").num_rows
    return {table: n for table, n in result.items() if table != "run"}


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_a_run_then_writes(save_tiny, prompt_file, tmp_path, name):
    directory, out = str(save_tiny(name)), tmp_path / "out"
    planned = plan([directory], [prompt_file], out, quantities=["all"])
    assert [unit.state for unit in planned] == ["to do", "to do"]
    assert not out.exists()
    run([directory], [prompt_file], out, quantities=["all"], quiet=True)
    for unit in planned:
        assert unit.n_rows == written(out, unit.unit), unit.unit
        size = sum(path.stat().st_size for path in out.glob(f"*/{unit.unit}.parquet"))
        assert size / 2 < unit.n_bytes < size * 2


def test_a_plan_reads_no_weight(save_tiny, prompt_file):
    path = save_tiny("gpt2") / "model.safetensors"
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    path.write_bytes(content[:header] + b"\xff" * (len(content) - header))  # every number NaN
    assert len(plan([str(path.parent)], [prompt_file], None)) == 2


def test_a_plan_says_what_is_complete_and_what_was_measured_otherwise(
    save_tiny, prompt_file, tmp_path
):
    directory, out = str(save_tiny("gpt2")), tmp_path / "out"
    run([directory], [prompt_file], out, quiet=True)
    own = [directory], [prompt_file, "E1_4model_and_mistral"], out
    assert [unit.state for unit in plan(*own)] == ["complete", "complete", "to do"]
    otherwise = plan(*own, dtype="bfloat16")
    assert [unit.state for unit in otherwise] == ["complete", "to do", "to do"]
    later = plan(*own, quantities=["stream", "predictions"])
    assert [unit.state for unit in later] == ["to do", "to do"]
    assert later[0].unit == "local--gpt2@own,predictions"
    assert "residual_norm" not in later[0].n_rows
    run(*own, quantities=["stream", "predictions"], quiet=True)
    for unit in later:
        assert unit.n_rows == written(out, unit.unit), unit.unit
    (out / "attention" / "local--gpt2@own.parquet").unlink()
    assert [unit.state for unit in plan(*own)] == ["complete", "to do", "to do"]


def test_a_plan_is_refused_as_the_run_would_be(save_tiny, prompt_file, tmp_path, capsys):
    directory, out = str(save_tiny("gpt2")), tmp_path / "out"
    own = [directory, "--prompts", str(prompt_file), "--out", str(out)]
    assert main(["run", *own, "--lab", "one", "--suite", "tiny", "--quiet"]) == 0
    prompts = prompt_file.with_stem("others")
    prompts.write_text("The sea\n")
    for other, printed in (
        (["--year", "2020"], "lab is one there and None here"),
        (["--lab", "one", "--suite", "tiny", "--overwrite", "--dtype", "half"], "The dtype"),
        (["--lab", "one", "--suite", "tiny", "--year", "1"], "The year"),
    ):
        assert main(["plan", *own, *other]) == main(["run", *own, *other]) == 2
        refusals = capsys.readouterr().err.split("error: ")[1:]
        assert printed in refusals[0]
        assert refusals[0] == refusals[1]
    in_a_file = [*own[:-1], str(prompt_file)]
    assert main(["plan", *in_a_file]) == main(["run", *in_a_file]) == 5
    capsys.readouterr()
    labelled = ["--lab", "one", "--suite", "tiny", "--allow-nonconforming", directory]
    assert main(["plan", *own, *labelled, "--fail-fast"]) == 0
    assert "To do: 0 of 2 units" in capsys.readouterr().out


def test_a_plan_of_several_names_those_that_the_output_contradicts(
    save_tiny, prompt_file, tmp_path
):
    directories, out = [str(save_tiny(name)) for name in ("gpt2", "llama")], tmp_path / "out"
    run(directories[:1], [prompt_file], out, quantities=["stream"], quiet=True)
    prompt_file.write_text("Other prompts\n")
    how = {"quantities": ["stream", "weights"]}
    planned, refused = drawn([*directories], [prompt_file], out, **how)
    with pytest.raises(RefusedError, match="2 of 2 models were refused") as refusal:
        run(directories, [prompt_file], out, quiet=True, **how)
    assert refused.outcome.refusals == refusal.value.outcome.refusals
    assert {unit.state for unit in planned} == {"measured otherwise"}
    both, _ = drawn([*directories], [], out, **how)
    assert [unit.state for unit in both] == ["to do", "to do"]


def test_the_plan_of_the_command_line_is_a_table_or_json(save_tiny, prompt_file, capsys):
    command = ["plan", str(save_tiny("gpt2")), "--prompts", str(prompt_file)]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["unit", "state", "execution", "rows", "disk", "memory", "time"]
    assert lines[2].split()[:4] == ["local--gpt2@own", "to", "do", "loaded"]
    assert any(line.startswith("To do: 2 of 2 units, about ") for line in lines)
    assert main([*command, "--json"]) == 0
    units = json.loads(capsys.readouterr().out)
    assert [unit["unit"] for unit in units] == ["local--gpt2", "local--gpt2@own"]
    assert units[1]["n_rows"]["prompt"] == 4
    assert units[1]["peak_bytes"] > estimate.INTERPRETER_BYTES


HAS = ("has_heads", "has_head", "has_parts", "has_mid", "has_final_norm", "has_gain")
SHAPE = estimate.Shape(
    **{"n_layers": 12, "n_heads": 12, "d_model": 768, "d_head": 64, "n_vocabulary": 50257},
    **{"n_parameters": 124_439_808, "largest_block": 7_087_872, "has_contiguous": False},
    **dict.fromkeys(HAS, True),
)


def test_every_logit_that_is_asked_for_is_counted():
    lengths, size = [10, 20], SHAPE.n_vocabulary
    assert estimate.n_logits(SHAPE, lengths, ["attention", "geometry"]) == 0
    assert estimate.n_logits(SHAPE, lengths, ["stream"]) == 2 * size
    assert estimate.n_logits(SHAPE, lengths, ["predictions"]) == 30 * size
    lens = estimate.n_logits(SHAPE, lengths, ["logit_lens_entropy"])
    assert lens == 30 * SHAPE.n_layers * size
    assert estimate.n_readings(SHAPE, [10, 65], ["stream", "predictions"]) == 1 + 2
    assert estimate.n_readings(SHAPE, [10, 65], ["logit_lens_entropy"]) == 3 * SHAPE.n_layers
    more = estimate.flops(SHAPE, lengths, ["predictions"]) - estimate.flops(SHAPE, lengths)
    assert more == 2.0 * 30 * size * SHAPE.d_model


def test_a_streamed_quantised_model_has_its_whole_embedding_in_memory():
    """Qwen 1.5B in Q4_K_M took 1.45 GB where 951 MB were planned without it."""
    how = {"dtype": "float32", "batch_size": 1, "streamed": True}
    less, more = (estimate.peak_bytes(SHAPE, [5], is_quantised=q, **how) for q in (False, True))
    assert more - less == 4 * SHAPE.n_vocabulary * SHAPE.d_model
