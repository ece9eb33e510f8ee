"""A study: its design is read strictly, its runs are complete or absent and measured rightly."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from collect.commands.cli import main
from collect.errors import InputError, OutputError
from collect.training.architecture import initialised_network
from collect.training.study import execution, training
from collect.training.study.design import read_design
from collect.training.study.execution import carry_out, check
from collect.training.study.fraction import Fraction
from collect.training.study.merging import merge, restore
from collect.training.study.ngram import cross_entropy
from collect.training.study.plan import Run, as_text, runs
from collect.training.study.responses import equal_writes, measured, profile_rows, response_row
from collect.training.study.training import TABLES, network_file
from tests.collect.training.trained import ROOT, TEXT, micro

TINY = """\
name = "tiny"
lab = "thermoscope"
year = 2026
seeds = [0, 1]
n_held_out = 8
n_measured = 4

[base]
family = "gpt_neox"
text = "text.txt"
geometry = { n_layers = 2, d_model = 16, n_heads = 2, context = 32 }
optimiser = { name = "adamw", learning_rate = 3e-3, decay_turns = 0.5 }
schedule = { steps = 6, warm_up = 2, batch_size = 2, checkpoints = [0, 3, 6] }

[factors.recipe]
pythia = { initial = { inner = 0.632, embedding = 0.632, residual = "wang" } }
bloom = { family = "bloom" }

[factors.depth]
two = {}
three = { geometry = { n_layers = 3 } }

[labels.lab.recipe]
pythia = "EleutherAI"
bloom = "BigScience"
"""


@pytest.fixture
def design(tmp_path: Path) -> Path:
    return written(tmp_path, TINY)


def written(directory: Path, content: str) -> Path:
    (directory / "text.txt").write_bytes(TEXT)
    path = directory / "design.toml"
    path.write_text(content, encoding="utf-8")
    return path


def rows(out: Path, table: str) -> pd.DataFrame:
    files = sorted((out / table).glob("*.parquet"))
    return pd.concat([pq.read_table(file).to_pandas() for file in files])


def test_a_design_crosses_its_levels_and_seeds(design: Path) -> None:
    planned = runs(read_design(design))
    cells = [(run.cell.name, run.seed) for run in planned]
    expected = itertools.product(("pythia/two", "pythia/three", "bloom/two", "bloom/three"), (0, 1))
    assert cells == list(expected)
    assert len({run.run_id for run in planned}) == 8
    bloom = planned[-1].recipe
    assert (bloom.family, bloom.geometry.n_layers, bloom.seed) == ("bloom", 3, 1)
    assert bloom.optimiser.decay_turns == 0.5
    assert planned[0].recipe.initial.residual == "wang"


def test_what_does_not_determine_a_number_does_not_change_a_run(tmp_path: Path) -> None:
    def ids(content: str) -> list[str]:
        return [run.run_id for run in runs(read_design(written(tmp_path, content)))]

    same = ids(TINY)
    assert ids(TINY.replace("EleutherAI", "Eleuther").replace("pythia", "wang")) == same
    assert set(ids(TINY.replace("3e-3", "2e-3"))).isdisjoint(same)
    assert set(ids(TINY.replace("n_measured = 4", "n_measured = 5"))).isdisjoint(same)
    (tmp_path / "text.txt").write_bytes(TEXT[:-16] + b"x" * 16)
    design = tmp_path / "design.toml"
    assert {run.run_id for run in runs(read_design(design))}.isdisjoint(same)


def test_blocks_choose_levels_and_seeds_and_double_no_run(tmp_path: Path) -> None:
    blocks = """
[[blocks]]
name = "main"

[[blocks]]
name = "part"
seeds = [0, 1, 2]
levels = { depth = ["two"] }
"""
    planned = runs(read_design(written(tmp_path, TINY + blocks)))
    counted = pd.Series([run.cell.block.name for run in planned]).value_counts()
    assert counted.to_dict() == {"main": 8, "part": 2}
    assert {(run.cell.levels["depth"], run.seed) for run in planned[8:]} == {("two", 2)}


def test_a_continued_factor_trains_on_from_each_parent(tmp_path: Path) -> None:
    content = (
        TINY.replace("seeds = [0, 1]", 'seeds = [0]\ncontinued = "upbringing"')
        + """
[factors.upbringing]
decay = { optimiser = { decay_turns = 3.0 } }
none = { optimiser = { decay_turns = 0.0 } }
"""
    )
    path = written(tmp_path, content.replace("[factors.depth]\ntwo = {}\n", "[factors.depth]\n"))
    planned = runs(read_design(path))
    assert [run.cell.name for run in planned[:3]] == [
        "pythia/three",
        "pythia/three/decay",
        "pythia/three/none",
    ]
    assert planned[1].parent == planned[0]
    assert planned[0].parent is None
    out = tmp_path / "out"
    assert carry_out(path, out, quiet=True) == 0
    found = rows(out, "study_run").set_index("study_run_id")
    parent, child = (found.loc[run.run_id] for run in planned[:2])
    assert child["loss_before"] == parent["loss_after"]
    assert child["parent_id"] == planned[0].run_id
    assert network_file(out, planned[0]).is_file()
    assert not network_file(out, planned[1]).is_file()


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("seeds = [0, 1]", "seeds = []", "seeds must differ, and there must be one; found []"),
        ("seeds = [0, 1]", "seeds = [0, 0]", "seeds must differ"),
        ("n_measured = 4", "n_measured = 0", "n_measured must be positive"),
        ("n_measured = 4", "n_measure = 4", "found 'n_measure' besides"),
        ("three = {", "three = { n_layers = 3 } # {", "cell pythia/three, must have only the keys"),
        ("two = {}", "two = 2", "factors, depth, two, must be a table; found 2"),
        ('bloom = "BigScience"', "", "label lab must name every level of recipe; lacks ['bloom']"),
        ("[labels.lab.recipe]", "[labels.lab.maker]", "label lab must name a factor"),
        ("[labels.lab.recipe]", "[labels.depth.recipe]", "must not be named as a factor is"),
        ("seeds = [0, 1]", 'seeds = [0]\ncontinued = "late"', "continued must name a factor"),
        ("[labels", "[[blocks]]\nname = 1\n[labels", "a block must have a name; found 1"),
        ("[labels", "[[blocks]]\nnames = 1\n[labels", "only name, seeds and levels"),
        (
            "[labels",
            '[[blocks]]\nname = "b"\nlevels = { depth = ["four"] }\n[labels',
            "must choose levels of depth that there are",
        ),
        ("[labels", '[generators]\nx = ["a"]\n[labels', "generators must come with base_fraction"),
        (
            "seeds = [0, 1]",
            'seeds = [0]\nbase_fraction = ["recipe"]',
            "a fraction must have every factor and no other; ['depth'] differ",
        ),
        ("[base]", "[base]\ninitial = 2", "initial must be a table; found 2"),
        (
            "[labels.lab.recipe]",
            "[labels.suite]\nrecipe = 1\n[labels.lab.recipe]",
            "suite, recipe,",
        ),
        ("[labels.lab.recipe]", "[labels]\nsuite = 1\n[labels.lab.recipe]", "label suite must be"),
        ("[labels", "[[blocks]]\nname = 'b'\nlevels = 1\n[labels", "levels of block b must be a"),
        (
            "[labels",
            "[[blocks]]\nname = 'b'\nlevels = { depth = 1 }\n[labels",
            "levels of depth in block b must be a list of names; found 1",
        ),
        (
            "[labels",
            "[[blocks]]\nname = 'b'\nseeds = 1\n[labels",
            "whole numbers for seeds; found 1",
        ),
        ("seeds = [0, 1]", "seeds = [0]\nblocks = 1", "blocks, must be tables; found 1"),
        ("seeds = [0, 1]", "seeds = [0]\nblocks = [1]", "a block must be a table; found 1"),
        (
            "seeds = [0, 1]",
            'seeds = [0]\nbase_fraction = ["recipe"]\ngenerators = { depth = 1 }',
            "the generator of depth must be a list of names; found 1",
        ),
    ],
)
def test_a_wrong_design_is_refused_in_a_sentence(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    path = written(tmp_path, TINY.replace(right, wrong, 1))
    with pytest.raises(InputError) as caught:
        read_design(path)
    assert message in caught.value.problem
    assert str(path) in caught.value.problem


WORDS = {"d": ("a", "b"), "e": ("a", "c"), "f": ("b", "c")}


def test_a_fraction_is_balanced_and_says_what_it_aliases() -> None:
    """The 2^(6-3) of resolution III in Box, Hunter and Hunter: d = ab, e = ac, f = bc."""
    fraction = Fraction(("a", "b", "c"), WORDS)
    signs = fraction.columns()
    assert signs.shape == (8, 6)
    assert np.array_equal(signs.T @ signs, 8 * np.eye(6))
    assert fraction.resolution == 3
    groups = {frozenset(group) for group in fraction.aliases()}
    assert frozenset({"a", "b:d", "c:e"}) in groups
    assert frozenset({"a:f", "b:e", "c:d"}) in groups


def test_a_half_fraction_of_resolution_four_clears_its_main_effects() -> None:
    fraction = Fraction(("a", "b", "c"), {"d": ("a", "b", "c")})
    assert fraction.resolution == 4
    assert {frozenset(group) for group in fraction.aliases()} == {
        frozenset({"a:b", "c:d"}),
        frozenset({"a:c", "b:d"}),
        frozenset({"a:d", "b:c"}),
    }
    assert Fraction(("a", "b"), {}).resolution == 0


@pytest.mark.parametrize("word", [("a",), ("a", "a"), ("a", "x")])
def test_a_wrong_generator_is_refused(word: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="must be two or more of"):
        Fraction(("a", "b"), {"c": word})


def test_the_plan_says_runs_aliases_and_minutes(
    tmp_path: Path, design: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", str(design), "--plan"]) == 0
    assert "tiny: 8 runs, about 0 core minutes" in capsys.readouterr().out
    content = TINY.replace("seeds = [0, 1]", 'seeds = [0]\nbase_fraction = ["recipe", "depth"]')
    content += """
[factors.rate]
low = { optimiser = { learning_rate = 1e-3 } }
high = { optimiser = { learning_rate = 4e-3 } }

[generators]
rate = ["recipe", "depth"]
"""
    shown = as_text(read_design(written(tmp_path, content)))
    assert "fraction of 3 factors in 4 cells, resolution 3" in shown
    assert "aliased: rate = recipe:depth" in shown
    assert not (tmp_path / "out").exists()


def test_a_study_fills_its_tables_and_merges_them(tmp_path: Path, design: Path) -> None:
    out, into = tmp_path / "out", tmp_path / "merged"
    assert carry_out(design, out, quiet=True) == 0
    found = rows(out, "study_run")
    assert len(found) == 8 == found["study_run_id"].nunique()
    assert (found["n_steps"] == 6).all()
    assert found["parent_id"].isna().all()
    assert (found["loss_after"] < found["loss_before"]).all()
    assert (found["trigram_loss"] < found["bigram_loss"]).all()
    response = rows(out, "study_response")
    assert len(response) == 8 * 3 * 2
    profile = rows(out, "study_profile")
    summed = profile[profile["layer"] > 0].groupby(["study_run_id", "step", "tokens"])["log_gain"]
    joined = response.set_index(["study_run_id", "step", "tokens"])["later_log_gain"]
    assert np.allclose(summed.sum().sort_index(), joined.sort_index())
    labs = rows(out, "study_level").query("factor == 'lab'")["level"].value_counts()
    assert labs.to_dict() == {"EleutherAI": 4, "BigScience": 4}
    assert list(merge(design, out, into)) == [*TABLES, "study_plan"]
    planned = rows(into, "study_plan")
    assert set(planned["study_run_id"]) == set(found["study_run_id"])
    assert (planned["planned_s"] > 0).all()
    for table in TABLES:
        (merged,) = (into / table).glob("*.parquet")
        assert merged.name == "tiny.parquet"
        assert len(pq.read_table(merged)) == len(rows(out, table))
    differences = check(design, into, 2)
    assert list(differences.values()) == [0.0, 0.0]
    _restored_as_merged(design, out, into, tmp_path / "again")


def _restored_as_merged(design: Path, out: Path, into: Path, again: Path) -> None:
    planned = runs(read_design(design))
    parents = {run.parent.run_id for run in planned if run.parent is not None}
    assert restore(design, into, again) == len(planned) - len(parents)
    assert restore(design, into, again) == 0
    for table in TABLES:
        names = {file.stem for file in (again / table).glob("*.parquet")}
        assert names == {run.run_id for run in planned} - parents
        for name in names:
            own, kept = (pq.read_table(d / table / f"{name}.parquet") for d in (out, again))
            assert own.equals(kept)


def test_a_study_goes_on_where_it_was_left(
    tmp_path: Path, design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert carry_out(design, out, minutes=0, quiet=True) == 8 - _done_at_once(out)
    carry_out(design, out, quiet=True)
    before = {path: path.read_bytes() for path in out.rglob("*.parquet")}
    first = runs(read_design(design))[0]
    (out / "study_run" / f"{first.run_id}.parquet").unlink()
    trained: list[str] = []
    perform = training.perform

    def noted(of: Any, run: Any, *given: Any, **how: Any) -> None:
        trained.append(run.run_id)
        perform(of, run, *given, **how)

    monkeypatch.setattr(execution, "perform", noted)
    assert carry_out(design, out, quiet=True) == 0
    assert trained == [first.run_id]
    assert before.keys() == set(out.rglob("*.parquet"))


def _done_at_once(out: Path) -> int:
    return len(list((out / "study_run").glob("*.parquet"))) if out.exists() else 0


@pytest.mark.slow
def test_a_killed_study_has_whole_runs_only_and_is_resumed(tmp_path: Path, design: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "collect",
        "study",
        str(design),
        "--out",
        str(out),
        "--processes",
        "2",
    ]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        while process.poll() is None and _done_at_once(out) < 2:
            pass
        os.killpg(process.pid, signal.SIGKILL)
    whole = {path.stem for path in (out / "study_run").glob("*.parquet")}
    assert len(whole) >= 2
    for table in TABLES:
        assert whole <= {path.stem for path in (out / table).glob("*.parquet")}
    assert carry_out(design, out, quiet=True) == 0
    assert rows(out, "study_run")["study_run_id"].is_unique
    assert len(rows(out, "study_run")) == 8


def test_a_study_with_no_place_for_its_rows_trains_nothing(
    tmp_path: Path,
    design: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[Run] = []
    monkeypatch.setattr(execution, "perform", lambda _design, run, *_, **__: begun.append(run))
    command = ["study", str(design), "--quiet", "--out"]
    assert main([*command, str(tmp_path / "text.txt")]) == 5
    assert "must be writable" in capsys.readouterr().err
    for minutes in ("nan", "-1"):
        assert main([*command, str(tmp_path / "out"), "--minutes", minutes]) == 2
        assert "--minutes must be at least 0; found " in capsys.readouterr().err
    assert begun == []


def test_a_study_whose_disk_is_full_begins_no_further_run(
    tmp_path: Path, design: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def fills(_design: object, run: Run, *_: object, **__: object) -> None:
        begun.append(run.run_id)
        raise OutputError("The disk must have room; it is full.", "Free the space.")

    monkeypatch.setattr(execution, "perform", fills)
    with pytest.raises(OutputError, match="it is full"):
        carry_out(design, tmp_path / "out", quiet=True)
    assert len(begun) == 1


def test_a_run_that_diverges_is_absent_and_the_others_go_on(tmp_path: Path) -> None:
    content = TINY.replace("two = {}", "two = { optimiser = { learning_rate = 1e30 } }")
    path, out = written(tmp_path, content.replace("[0, 1]", "[0]")), tmp_path / "out"
    with pytest.raises(InputError, match="Every run of tiny must train; 2 did not, the first"):
        carry_out(path, out, quiet=True)
    assert len(rows(out, "study_run")) == 2


def test_an_output_must_be_given(design: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", str(design)]) == 2
    assert "must be told where its rows go" in capsys.readouterr().err


def test_an_empty_output_has_nothing_to_merge_or_check(tmp_path: Path, design: Path) -> None:
    with pytest.raises(InputError, match="must hold a complete run"):
        merge(design, tmp_path, tmp_path / "into")
    with pytest.raises(InputError, match="must hold 1 runs"):
        check(design, tmp_path, 1)
    with pytest.raises(InputError, match="must hold merged rows"):
        restore(design, tmp_path, tmp_path / "again")


def test_the_lengths_are_those_of_the_hidden_states() -> None:
    """The stream as transformers itself hands it out, block by block."""
    torch.manual_seed(3)
    network = initialised_network(micro("gpt_neox", initial={"inner": 1.0, "embedding": 1.0}))
    network.eval()
    windows = torch.randint(256, (3, 20), generator=torch.Generator().manual_seed(1))
    stream = measured(network, windows)
    with torch.no_grad():
        states = network(windows, output_hidden_states=True).hidden_states
    blocks = network.gpt_neox.layers
    kept: list[torch.Tensor] = []
    handle = blocks[-1].register_forward_hook(
        lambda _m, _a, out: kept.append(out[0] if isinstance(out, tuple) else out)
    )
    with torch.no_grad():
        network(windows)
    handle.remove()
    x = torch.stack([states[0], states[1], kept[0]]).double().flatten(1, 2)
    norms = x.norm(dim=-1)
    assert torch.allclose(stream.leaving, norms[1:], rtol=1e-6)
    assert torch.allclose(stream.entering, norms[:-1], rtol=1e-6)
    written = (x[1] - x[0]).norm(dim=-1)
    assert torch.allclose(stream.written, written, rtol=1e-6)
    row = response_row(stream, "without_first")
    rest = torch.arange(60) % 20 != 0
    log_gain = (norms[1:] / norms[:-1]).log()[:, rest]
    assert row["first_log_gain"] == pytest.approx(log_gain[0].mean().item(), rel=1e-5)
    assert row["later_log_gain"] == pytest.approx(log_gain[1].mean().item(), rel=1e-5)
    assert row["last_log_gain"] == row["later_log_gain"]
    expected = (1 + (written / norms[1])[rest] ** 2).log().mean().item() / 2
    assert row["equal_writes"] == pytest.approx(expected, rel=1e-5)
    centred = x - x.mean(-1, keepdim=True)
    gains = (centred[1:].norm(dim=-1) / centred[:-1].norm(dim=-1)).log()
    assert response_row(stream, "all")["first_log_gain_centred"] == pytest.approx(
        gains[0].mean().item(), rel=1e-5
    )
    profile = profile_rows(stream, "all")
    assert profile["ratio"][0] == pytest.approx((written / norms[0]).mean().item(), rel=1e-5)
    identity = (1 + 2 * stream.ratio * stream.cosine + stream.ratio**2).log() / 2
    assert profile["log_gain"].to_numpy() == pytest.approx(identity.mean(1).numpy(), rel=1e-5)


def test_equal_orthogonal_writes_have_no_excess() -> None:
    """Four blocks that each add 2 along an axis of their own to a stream of length 3."""
    lengths = torch.tensor([3.0, *(math.sqrt(9 + 4 * n) for n in range(1, 5))])
    later = float(lengths[-1].log() - lengths[1].log())
    assert equal_writes(torch.tensor([2.0]) / lengths[1], 3) == pytest.approx(later)


def test_an_ngram_counted_by_hand() -> None:
    """Training text abab: after a always b. Witten-Bell by hand for the bigram of "ab"."""
    unigram = dict.fromkeys("ab", (2 + 2 / 256) / (4 + 2))
    bigram = (2 + 1 * unigram["b"]) / (2 + 1)
    assert cross_entropy(b"abab", [b"ab"], 2) == pytest.approx(-math.log(bigram))
    assert cross_entropy(b"abab", [b"b"], 1) == pytest.approx(-math.log(unigram["b"]))
    assert cross_entropy(b"abab", [b"z"], 1) == pytest.approx(-math.log(2 / 256 / 6))


def test_a_probability_of_every_byte_sums_to_one() -> None:
    training = TEXT[:3000]
    losses = [cross_entropy(training, [b"th" + bytes([byte])], 3) for byte in range(256)]
    assert sum(math.exp(-loss) for loss in losses) == pytest.approx(1)
