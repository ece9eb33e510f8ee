"""A fleet: checkpoints spread over the workers of a Ray cluster, units as on one machine."""

import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from collect.commands.cli import main
from collect.job.outcome import Outcome
from collect.job.planning.requests import Machine, accelerators, requests, threads
from collect.job.resolve import resolve
from collect.job.run import run
from collect.record import provenance, status
from collect.record.integrity import faults
from collect.schema import ContractError
from tests.benchmarks import fleet_cost
from tests.collect.conftest import FAMILIES, edit_config
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
    task = SimpleNamespace(remote=lambda model, _sets, out, *_, **__: (model, out))

    def get(task):
        model, out = task
        if model in errors:
            raise errors[model]
        return fleet._measure(model, [], out, {}, "1.2.3")

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(
        ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 2, "memory": 2**35}}]
    )
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


GIB = 2**30


@pytest.mark.parametrize(
    ("memory", "machines", "n_threads"),
    [
        (4 * GIB, [Machine(64, 256 * GIB)], 1),
        (64 * GIB, [Machine(64, 256 * GIB)], 16),
        (256 * GIB, [Machine(64, 256 * GIB)], 64),
        # Of several the smallest that holds it decides.
        (64 * GIB, [Machine(64, 256 * GIB), Machine(16, 128 * GIB)], 8),
        (200 * GIB, [Machine(64, 256 * GIB), Machine(16, 128 * GIB)], 50),
    ],
)
def test_a_model_takes_the_share_of_the_cores_that_it_takes_of_the_memory(
    memory, machines, n_threads
):
    assert threads(memory, machines) == n_threads
    fit = [machine for machine in machines if machine.memory_bytes >= memory]
    for machine in fit:  # those that its memory holds never ask for more cores than there are
        assert n_threads * (machine.memory_bytes // memory) <= machine.n_cores


@pytest.mark.parametrize(
    ("weights", "device", "each", "n"),
    [
        (140e9, "cpu", None, 0),
        (140e9, "cuda", 80e9, 1),
        (16e9, "auto", 80e9, 1),
        (140e9, "auto", 80e9, 3),
        (140e9, "auto", None, 0),
    ],
)
def test_a_model_takes_the_accelerators_that_its_weights_fill(weights, device, each, n):
    assert accelerators(int(weights), device, None if each is None else int(each)) == n


def test_the_longest_come_first_and_a_model_that_fits_no_machine_is_refused(
    save_tiny, prompt_file, tmp_path
):
    names = ("gpt2", "llama", "gpt_neox")
    models = [str(save_tiny(name)) for name in names]
    job = resolve(models, [prompt_file], tmp_path / "out", quiet=True)
    asked, refusals = requests(job, tmp_path / "out", [Machine(8, 64 * GIB)])
    assert refusals == []
    times = [each.duration_s for each in asked]
    assert times == sorted(times, reverse=True)
    assert {each.model for each in asked} == set(models)
    for each in asked:
        (units,) = each.units.values()
        planned = max(unit.peak_bytes for unit in units)
        assert each.memory_bytes == int(1.25 * planned) + 128 * 2**20
        assert each.duration_s == pytest.approx(sum(unit.planned_s for unit in units))
    for machines in ([Machine(8, 2**20)], []):
        fitting, refusals = requests(job, tmp_path / "out", machines)
        assert fitting == []
        assert {refusal.model for refusal in refusals} == {f"local/{name}" for name in names}
    assert all("--stream" in refusal.hint for refusal in refusals)


def test_one_machine_must_hold_all_that_a_model_asks_for(save_tiny, prompt_file, tmp_path):
    """Ray waits for ever for a machine that the cluster does not have."""
    job = resolve([str(save_tiny("gpt2"))], [prompt_file], tmp_path / "out", quiet=True)
    job = replace(job, settings=replace(job.settings, device="auto"))
    large, with_accelerators = Machine(64, 64 * GIB), Machine(2, 2**20, n_accelerators=8)
    cluster, how = [large, with_accelerators], {"accelerator_bytes": 80 * GIB}
    asked, refusals = requests(job, tmp_path / "out", cluster, **how)
    assert asked == []
    assert "1 accelerator" in refusals[0].problem
    (request,), _ = requests(job, tmp_path / "out", [large, Machine(2, 96 * GIB, 8)], **how)
    assert request.n_threads <= 2


def test_whether_a_model_is_streamed_is_planned_by_the_machines_of_the_cluster(
    save_tiny, prompt_file, tmp_path
):
    out = tmp_path / "out"
    job = resolve([str(save_tiny("gpt2"))], [prompt_file], out, quiet=True)
    machines = [Machine(8, 64 * GIB)]
    ((loaded,), _), ((streamed,), _) = (
        requests(job, out, machines, available_bytes=size) for size in (64 * GIB, 1000)
    )
    assert loaded.memory_bytes != streamed.memory_bytes


def test_the_guide_tells_the_cost_that_the_plan_estimates_now():
    table = pd.read_csv(fleet_cost.TABLE)
    again = fleet_cost.cost(dict(table[["dtype", "throughput"]].to_numpy()))
    pd.testing.assert_frame_equal(again, table, rtol=1e-9)
    guide = " ".join((ROOT / "quarto/guides/_measure.qmd").read_text(encoding="utf-8").split())
    for line in fleet_cost.as_markdown(table):
        assert line in guide


@pytest.mark.slow
def test_a_worker_that_is_killed_and_a_machine_that_is_lost_cost_no_unit(
    save_tiny, prompt_file, tmp_path
):
    """Three simulated machines of unequal size; one program starts and drives the cluster."""
    models = [str(save_tiny(name)) for name in FAMILIES[:3]]
    out, alone = tmp_path / "out", tmp_path / "alone"
    # No other test finds this cluster; sockets allow of no long path.
    apart = {**os.environ, "RAY_TMPDIR": tempfile.mkdtemp(dir="/tmp", prefix="ray")}
    said = subprocess.run(
        [sys.executable, "-m", "tests.collect.job.simulated_cluster", out, prompt_file, *models],
        cwd=ROOT, capture_output=True, text=True, check=False, env=apart,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    (told,) = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("{")]
    assert told["killed"] > 0
    assert told["machines"] == [3, 2]
    assert 0 < told["most_memory"] <= told["memory"]
    run(models, [prompt_file], alone, quiet=True)
    assert contents(out) == contents(alone)
    assert list(faults(out)) == []
    assert set(status.units(out)["state"]) == {"complete"}


@pytest.mark.slow
def test_processes_that_are_killed_share_one_output(save_tiny, prompt_file, tmp_path):
    """As the tasks of an array do: each measures some models, is killed, and is started again."""
    models = [str(save_tiny(name)) for name in ("gpt2", "llama", "gpt_neox")]
    out, alone = tmp_path / "out", tmp_path / "alone"
    command = [sys.executable, "-m", "collect", "run", "--prompts", prompt_file, "--quiet"]

    def started(chosen):
        return subprocess.Popen([*command, "--out", out, *chosen], cwd=ROOT)

    rng = random.Random(7)
    for _ in range(2):
        processes = [started(rng.sample(models, 2)) for _ in range(2)]
        time.sleep(rng.uniform(4, 9))
        for process in processes:
            process.kill()
            process.wait()
    processes = [started(models), started(models[::-1])]
    assert [process.wait() for process in processes] == [0, 0]
    run(models, [prompt_file], alone, quiet=True)
    assert contents(out) == contents(alone)
    assert list(faults(out)) == []
