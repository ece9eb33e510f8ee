"""A study carried out: its runs are complete or absent, resumed, merged."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from collect.errors import InputError, OutputError
from collect.training.study import training
from collect.training.study.again import AT_THE_END, AT_THE_START, check, compared, spread_of_seeds
from collect.training.study.design import read_design
from collect.training.study.execution import FailedRunsError, carry_out
from collect.training.study.merging import merge, restore
from collect.training.study.plan import runs
from collect.training.study.training import TABLES, network_file, run_file
from tests.collect.record.written import contents, files, fill_disk
from tests.collect.record.written import frame as rows
from tests.collect.training.study.tiny import TINY, written
from tests.collect.training.trained import ROOT


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return a directory with the design, and under ``out`` its rows; no test changes it."""
    directory = tmp_path_factory.mktemp("done")
    assert carry_out(written(directory, TINY), directory / "out", quiet=True) == 0
    return directory


@pytest.fixture
def trained(monkeypatch):
    """Return the runs that are performed from here on, by their hash; they are not trained."""
    begun = []

    def noted(_design, run, *_, **__):
        begun.append(run.run_id)

    monkeypatch.setattr(training, "perform", noted)
    return begun


def test_a_continued_factor_trains_on_from_each_parent(tmp_path, out):
    content = TINY.replace("seeds = [0, 1]", 'seeds = [0]\ncontinued = "upbringing"')
    for line in ('bloom = { family = "bloom" }\n', 'bloom = "BigScience"\n', "two = {}\n"):
        content = content.replace(line, "")
    content += "[factors.upbringing]\n"
    for name, turns in (("decay", 3.0), ("none", 0.0)):
        content += f"{name} = {{ optimiser = {{ decay_turns = {turns} }} }}\n"
    path = written(tmp_path, content)
    planned = runs(read_design(path))
    names = ["pythia/three", "pythia/three/decay", "pythia/three/none"]
    assert [run.cell.name for run in planned] == names
    assert planned[1].parent == planned[0]
    assert planned[0].parent is None
    assert carry_out(path, out, quiet=True) == 0
    result = rows(out, "study_run").set_index("study_run_id")
    parent, child = (result.loc[run.run_id] for run in planned[:2])
    assert child["loss_before"] == parent["loss_after"]
    assert child["parent_id"] == planned[0].run_id
    assert network_file(out, planned[0]).is_file()
    assert not network_file(out, planned[1]).is_file()


def test_a_study_fills_its_tables(done):
    out = done / "out"
    result = rows(out, "study_run")
    assert len(result) == 8 == result["study_run_id"].nunique()
    assert (result["n_steps"] == 6).all()
    assert result["parent_id"].isna().all()
    assert (result["loss_after"] < result["loss_before"]).all()
    assert (result["trigram_loss"] < result["bigram_loss"]).all()
    response = rows(out, "study_response")
    assert len(response) == 8 * 3 * 2
    profile = rows(out, "study_profile")
    summed = profile[profile["layer"] > 0].groupby(["study_run_id", "step", "tokens"])["log_gain"]
    joined = response.set_index(["study_run_id", "step", "tokens"])["later_log_gain"]
    assert np.allclose(summed.sum().sort_index(), joined.sort_index())
    labs = rows(out, "study_level").query("factor == 'lab'")["level"].value_counts()
    assert labs.to_dict() == {"EleutherAI": 4, "BigScience": 4}


def test_merged_rows_are_those_of_the_runs_and_a_run_again_is_the_same(done, tmp_path):
    design, out, into = done / "design.toml", done / "out", tmp_path / "merged"
    assert list(merge(design, out, into)) == [*TABLES, "study_plan"]
    planned = rows(into, "study_plan")
    assert set(planned["study_run_id"]) == set(rows(out, "study_run")["study_run_id"])
    assert (planned["planned_s"] > 0).all()
    for table in TABLES:
        (merged,) = (into / table).glob("*.parquet")
        assert merged.name == "tiny.parquet"
        assert len(pq.read_table(merged)) == len(rows(out, table))
    (run,) = check(design, into, 1)
    assert run.start == run.end == run.of_chance == 0.0
    assert run.is_close
    _restored_as_merged(design, out, into, tmp_path / "again")


def test_a_run_again_may_be_as_far_as_rounding_grows_but_not_as_another_seed():
    """Seeds of a are 2 apart and of b 4: variances 2 and 8, pooled 5; c has one seed."""
    trained = pd.DataFrame(
        {"study_run_id": list("pqrst"), "study": "tiny", "cell": list("aabbc"), "seed": 0}
    )
    ends = dict(zip("pqrst", (1.0, 3.0, 0.0, 4.0, 9.0), strict=True))
    known = pd.DataFrame(
        [
            {"study_run_id": run_id, "step": step, "tokens": "all", "loss": end * (step > 0)}
            for run_id, end in ends.items()
            for step in (0, 8)
        ]
    )
    spread = spread_of_seeds(known, trained)
    assert spread.loc[(8, "all"), "loss"] == pytest.approx(5**0.5)

    def moved(start, end):
        return known.assign(loss=known["loss"] + np.where(known["step"] == 0, start, end))

    for start, end, is_close in (
        (0.0, 0.0, True),
        (0.0, 0.9 * AT_THE_END * 5**0.5, True),
        (0.0, 1.1 * AT_THE_END * 5**0.5, False),
        (2 * AT_THE_START, 0.0, False),
    ):
        run = compared("p", "a seed 0", known, moved(start, end), spread)
        assert (run.start, run.end) == pytest.approx((start, end))
        assert run.of_chance == pytest.approx(end / 5**0.5)
        assert run.is_close is is_close
    alone = spread_of_seeds(known, trained.assign(cell=list("abcde")))
    for again, seeds, is_close in (
        (moved(0.0, 0.01), alone, False),
        (moved(0.0, 1e-4), alone, True),
        (known[known["step"] == 0], spread, False),
        (moved(0.0, np.nan), spread, False),
        (moved(0.0, 0.01), 0.0 * spread, False),
    ):
        assert compared("p", "a seed 0", known, again, seeds).is_close is is_close
    assert compared("p", "a seed 0", known, known, 0.0 * spread).of_chance == 0.0


def _restored_as_merged(design, out, into, again):
    planned = runs(read_design(design))
    assert restore(design, into, again) == len(planned)
    assert restore(design, into, again) == 0
    for table in TABLES:
        names = {file.stem for file in (again / table).glob("*.parquet")}
        assert names == {run.run_id for run in planned}
        for name in names:
            own, kept = (pq.read_table(d / table / f"{name}.parquet") for d in (out, again))
            assert own.equals(kept)


def test_a_study_trains_what_is_missing_and_nothing_else(done, tmp_path, trained):
    design, out = done / "design.toml", tmp_path / "out"
    shutil.copytree(done / "out", out)
    assert carry_out(design, out, quiet=True) == 0
    assert trained == []
    first = runs(read_design(design))[0]
    (out / "study_run" / f"{first.run_id}.parquet").unlink()
    assert carry_out(design, out, quiet=True) == 1
    assert trained == [first.run_id]


@pytest.mark.slow
def test_a_killed_study_has_whole_runs_only_and_is_resumed(out, done):
    """Two processes are killed with the one that leads them; resumed, every row is as unkilled."""
    command = [sys.executable, "-m", "collect", "study", str(done / "design.toml")]
    command += ["--out", str(out), "--processes", "2", "--quiet"]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        while process.poll() is None and not list(out.glob("study_run/*.parquet")):
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):  # what a process that still ends has begun is not removed
        while True:
            os.killpg(process.pid, 0)
            time.sleep(0.02)
    whole = {path.stem for path in (out / "study_run").glob("*.parquet")}
    assert whole
    for table in TABLES:
        assert whole <= {path.stem for path in (out / table).glob("*.parquet")}
    assert carry_out(done / "design.toml", out, quiet=True) == 0
    for table in ("study_level", "study_response", "study_profile"):
        assert contents(out / table) == contents(done / "out" / table)
    assert files(out / "study_run") == files(done / "out" / "study_run")


def test_a_merge_that_has_no_room_leaves_every_table_as_it_was(done, tmp_path, monkeypatch):
    design, out, into = done / "design.toml", done / "out", tmp_path / "merged"
    (first, *_) = runs(read_design(design))
    for table in TABLES:
        (tmp_path / "part" / table).mkdir(parents=True)
        shutil.copy2(run_file(out, table, first), tmp_path / "part" / table)
    merge(design, tmp_path / "part", into)
    before = contents(into)
    fill_disk(monkeypatch, len(TABLES))
    with pytest.raises(OutputError, match=r"study_plan.*No space left on device"):
        merge(design, out, into)
    assert contents(into) == before


def test_a_run_that_has_no_room_leaves_no_file(tmp_path, monkeypatch):
    content, out = read_design(written(tmp_path, TINY)), tmp_path / "out"
    fill_disk(monkeypatch, len(TABLES) - 1)
    with pytest.raises(OutputError, match=r"study_run.*No space left on device"):
        training.perform(content, runs(content)[0], out, keeps_network=False)
    assert files(out) == []


def test_a_run_that_diverges_is_absent_and_the_others_go_on(tmp_path):
    content = TINY.replace("two = {}", "two = { optimiser = { learning_rate = 1e30 } }")
    path, out = written(tmp_path, content.replace("[0, 1]", "[0]")), tmp_path / "out"
    with pytest.raises(FailedRunsError, match="2 runs of tiny failed") as failed:
        carry_out(path, out, quiet=True)
    assert failed.value.exit_code == InputError.exit_code
    assert len(rows(out, "study_run")) == 2
