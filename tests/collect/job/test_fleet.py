"""A fleet: checkpoints spread over the workers of a Ray cluster, units as on one machine."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from collect.commands.cli import main
from collect.job.outcome import Outcome
from collect.job.run import run
from collect.record import provenance
from collect.record.integrity import faults
from collect.schema import ContractError
from tests.collect.conftest import edit_config
from tests.collect.record.written import contents

ray = pytest.importorskip("ray", reason="the extra [fleet] is not installed")
fleet = pytest.importorskip("collect.job.fleet")

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def cluster():
    """Two local workers."""
    ray.init(
        num_cpus=2,
        object_store_memory=80 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    yield
    ray.shutdown()


@pytest.fixture
def crashes(monkeypatch):
    """Let tasks run in this process; those of the models put in here end with their error."""
    monkeypatch.setattr(provenance, "_of_driver", None)
    errors = {}
    task = SimpleNamespace(remote=lambda model, _sets, out, *_: (model, out))

    def get(task):
        model, out = task
        if model in errors:
            raise errors[model]
        return fleet._measure(model, [], out, {}, "1.2.3")

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "cluster_resources", dict)
    monkeypatch.setattr(ray, "remote", lambda **_: lambda _function: task)
    monkeypatch.setattr(ray, "wait", lambda tasks, num_returns: (tasks[:num_returns], []))
    monkeypatch.setattr(ray, "get", get)
    return errors


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RuntimeError("first line\nsecond line"), "RuntimeError: first line"),
        (ContractError("A table must be whole."), "A table must be whole."),
        (ray.exceptions.WorkerCrashedError(), "WorkerCrashedError"),
    ],
)
def test_an_error_in_a_worker_is_a_refusal_and_stops_no_other(
    save_tiny, tmp_path, request, error, sentence
):
    monkeypatch, capsys, crashes = map(
        request.getfixturevalue, ("monkeypatch", "capsys", "crashes")
    )
    bad, good = str(save_tiny("gpt2")), str(save_tiny("llama"))
    measured = []
    if isinstance(error, ray.exceptions.RayError):
        crashes[bad] = error

    def fail_for_one(models, *_, **__):
        if models == [bad]:
            raise error
        measured.extend(models)
        return Outcome()

    monkeypatch.setattr("collect.job.run.run", fail_for_one)
    arguments = ["run", bad, good, "--out", str(tmp_path / "out"), "--engine", "ray"]
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert measured == [good]
    assert f"{bad}: refused" in said
    (refusal,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert refusal.startswith("error: 1 of 2 models was refused; the others were not stopped by")
    assert bad in refusal
    assert sentence in refusal


@pytest.mark.slow
def test_two_workers_write_what_one_machine_writes(  # noqa: PLR0917
    save_tiny, prompt_file, tmp_path, capsys, cluster, monkeypatch
):
    """Under one version, though the clone may change between the command and a worker's start."""
    monkeypatch.setattr(provenance, "_of_driver", "1.2.3+g0123456789ab")
    models = [str(save_tiny(name)) for name in ("gpt2", "llama", "gpt_neox")]
    fleet, alone = tmp_path / "fleet", tmp_path / "alone"
    where = ["--prompts", str(prompt_file), "--out", str(fleet)]
    assert main(["run", *models, *where, "--engine", "ray"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert sorted(said) == sorted(f"{model}: measured" for model in models)
    run(models, [prompt_file], alone, quiet=True)
    assert contents(fleet) == contents(alone)
    assert list(faults(fleet)) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_model_that_is_refused_does_not_stop_the_others(
    save_tiny, prompt_file, tmp_path, request, engine
):
    capsys = request.getfixturevalue("capsys")
    if engine == "ray":
        request.getfixturevalue("cluster")
    good, bad = save_tiny("gpt2"), edit_config(save_tiny("llama"), num_hidden_layers=4)
    worse, out = save_tiny("gpt_neox"), tmp_path / "out"
    (worse / "tokenizer.json").unlink()
    where = ["--prompts", str(prompt_file), "--out", str(out), "--engine", engine]
    assert main(["run", str(bad), str(worse), str(good), *where]) == 2
    printed = capsys.readouterr().err.replace("\n", " ")
    parts = printed.partition("error: 2 of 3 models were refused; the others were not")
    for part in (parts[0], parts[2]):
        assert "local/gpt_neox: A checkpoint must bring its tokenizer" in part
        assert f"The checkpoint {bad} must hold every weight" in part
    assert sorted(path.stem for path in (out / "run").iterdir()) == [
        "local--gpt2",
        "local--gpt2@own",
    ]
