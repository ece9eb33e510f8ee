"""Revisions of a model of the hub: pinned, compared by weights, kept under one name."""

import pytest
from huggingface_hub import constants

from analysis.store import open_store
from collect.errors import InputError, UnreachableError
from collect.job.planning.plan import as_text, plan
from collect.job.run import run
from collect.model.checkpoint.hub import references
from collect.model.checkpoint.location import locate
from collect.model.checkpoint.revisions import asked_for
from collect.record.integrity import faults
from tests.collect.model.checkpoint.local_hub import Repository, commit_of


def versions_of(offer, save_tiny, **seeds):
    """Put a model on the hub with branches; of two with one seed the weights are the same."""
    commits = {}
    for name, seed in seeds.items():
        commits[name] = save_tiny("llama", seed=seed, at=f"hub/{name}")
        (commits[name] / "README.md").write_text(f"the card of {name}")
    offer("tiny", commits=commits)


def test_revisions_are_pinned_and_the_same_weights_are_fetched_and_measured_once(
    local_hub, offer, save_tiny, tmp_path, capsys
):
    versions_of(offer, save_tiny, step1=1, step2=2, step10=1)
    out, how = tmp_path / "out", {"revision": ["step*"], "quantities": ["weights"]}
    planned = plan(["acme/tiny"], [], out, **how)
    states = {unit.unit: unit.state for unit in planned}
    assert states == {
        "acme--tiny~step1": "to do",
        "acme--tiny~step2": "to do",
        "acme--tiny~step10": "as acme--tiny~step1",
    }
    assert [bool(unit.n_rows and unit.n_bytes) for unit in planned] == [True, True, False]
    assert as_text(planned).count("weight_norm") == 2
    assert not local_hub.fetched("model.safetensors")
    run(["acme/tiny"], [], out, **how)
    printed = capsys.readouterr().err
    assert "at step10, weights: the same weights as acme--tiny~step1, skipped" in printed
    assert not local_hub.fetched("hub/step10/model.safetensors")
    assert list(faults(out)) == []
    result = open_store(out).query(
        "SELECT training_step, revision, n_steps FROM run_revision ORDER BY training_step"
    )
    assert result["training_step"].tolist() == [1, 2, 10]
    assert result["n_steps"].tolist() == [2, 1, 2]
    places = [tmp_path / "checkpoints/hub" / name for name in ("step1", "step2", "step10")]
    assert result["revision"].tolist() == [commit_of(place) for place in places]


def test_an_edited_card_does_not_stop_a_run_and_both_commits_are_kept(offer, tmp_path, capsys):
    directory, out = offer("tiny"), tmp_path / "out"
    commits = [commit_of(directory)]
    run(["acme/tiny"], [], out, quantities=["weights"], quiet=True)
    (directory / "README.md").write_text("a better card")
    commits.append(commit_of(directory))
    run(["acme/tiny"], [], out, quantities=["weights"])
    assert "acme/tiny, weights: already complete, skipped" in capsys.readouterr().err
    store = open_store(out)
    assert store.query("FROM run")["revision"].tolist() == commits[:1]
    assert sorted(store.query("FROM revision")["revision"]) == sorted(commits)


def test_a_branch_that_holds_other_weights_by_now_is_refused_and_may_be_named(
    local_hub, offer, save_tiny, tmp_path
):
    offer("tiny")
    out = tmp_path / "out"
    run(["acme/tiny"], [], out, quantities=["weights"], quiet=True)
    moved = save_tiny("llama", seed=1, at="hub/moved")
    local_hub.repositories["acme/tiny"] = Repository(moved)
    with pytest.raises(InputError, match=r"weights_sha256 is \w{8} there") as refusal:
        run(["acme/tiny"], [], out, quantities=["weights"], quiet=True)
    assert "--revision" in refusal.value.hint
    named = {"revision": [commit_of(moved)], "quantities": ["weights"], "quiet": True}
    run(["acme/tiny"], [], out, **named)
    assert len(open_store(out).query("FROM run")) == 2
    assert list(faults(out)) == []


def test_a_pattern_is_resolved_without_the_hub_by_what_the_cache_knows(
    offer, save_tiny, monkeypatch
):
    versions_of(offer, save_tiny, step1=1, step2=2, other=3)
    assert references("acme/tiny") == ["main", "other", "step1", "step2"]
    locate("acme/tiny", revision="step2")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert asked_for("acme/tiny", ["step*"]) == ["step2"]
    with pytest.raises(UnreachableError, match="not asked while HF_HUB_OFFLINE is set"):
        references("acme/none")
