"""A trajectory: every checkpoint of a training, in two formats, with a quantity asked for later."""

import re
from pathlib import Path

import pytest

from analysis.store import open_store
from collect.job.planning.plan import plan
from collect.job.run import run
from collect.record.integrity import faults
from collect.training.train import train
from tests.collect.record.written import contents
from tests.collect.training.trained import table, toml

STEPS = [0, 1, 3, 8, 12]

EXAMPLE = Path(__file__).parents[3] / "examples/trajectory"

#: As the worked example asks for it.
(BY_STEP,) = re.findall(
    r"```sql\n(.*?)```", (EXAMPLE / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
)


@pytest.fixture
def series(tmp_path):
    """A model trained for twelve steps, with what it was after eight of them."""
    text = tmp_path / "text.txt"
    text.write_text("In the beginning was the word, and the word was written down.\n" * 500)
    recipe = tmp_path / "series.toml"
    shape = {"n_layers": 3, "n_heads": 4, "context": 64}
    schedule = {"steps": 12, "batch_size": 8, "checkpoints": STEPS}
    content = table("gpt2", text=str(text), geometry=shape, schedule=schedule)
    recipe.write_text(toml({**content, "initializer_range": 0.05}))
    checkpoint = train(recipe, tmp_path / "models", keep=True, quiet=True)
    before = {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")}
    assert train(recipe, tmp_path / "models", keep=True, quiet=True) == checkpoint
    assert {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")} == before
    return checkpoint


def killed_at(monkeypatch, n):
    """Let the keyboard interrupt at the n-th unit."""
    from collect.job import run as loop

    measure, seen = loop.measure, []

    def counted(task, subject, **how):
        seen.append(task)
        if len(seen) == n:
            raise KeyboardInterrupt
        return measure(task, subject, **how)

    monkeypatch.setattr(loop, "measure", counted)


def test_every_checkpoint_is_measured_in_two_formats_and_a_quantity_later(
    series, prompt_file, tmp_path, monkeypatch
):
    what, out = ([str(series)], [prompt_file]), tmp_path / "out"
    how = {"revision": ["step*"], "quantities": ["stream"], "quiet": True}
    with monkeypatch.context() as patch:
        killed_at(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            run(*what, out, **how)
    assert [unit.state for unit in plan(*what, out, **how)] == ["complete"] * 2 + ["to do"] * 3
    for later in ({}, {"dtype": "bfloat16"}, {"quantities": ["stream", "predictions"]}):
        run(*what, out, **how | later)
    assert list(faults(out)) == []
    run(*what, tmp_path / "whole", **how)
    undisturbed = contents(tmp_path / "whole")
    result = contents(out)
    assert {name: result[name] for name in undisturbed} == undisturbed

    store = open_store(out)
    # A run for each step in each of two formats; the later quantity belongs to those runs.
    assert len(store.query("FROM run")) == 2 * len(STEPS)
    gains = store.query(BY_STEP)
    assert gains["training_step"].tolist() == STEPS
    assert gains["training_tokens"].tolist() == [step * 8 * 64 for step in STEPS]
    assert gains["gain"].nunique() > 1
    n_surprises = store.query(
        "SELECT count(DISTINCT run_id) AS n FROM token_prediction JOIN run_revision USING (run_id)"
    )
    assert n_surprises["n"].item() == len(STEPS)
    [primary] = store.query("FROM primary_run JOIN run_revision USING (run_id)").to_dict("records")
    assert (primary["training_step"], primary["dtype_compute"]) == (12, "float32")
    assert store.query("FROM raw.model")["training_step"].tolist() == [12]
