"""A training that is followed ends in the same weights, and in a store with its trajectory."""

import copy
import warnings

import pytest
import torch
import transformers
from torch.utils.data import Dataset

import collect
from analysis.store import open_store
from collect.errors import InputError
from collect.record.integrity import faults
from tests.collect.conftest import tiny_model, tiny_tokenizer

PROMPTS = ["The sky is", "Two and two"]


class Windows(Dataset):
    """Sixteen windows of random bytes."""

    def __len__(self):
        return 16

    def __getitem__(self, place):
        tokens = torch.randint(0, 256, (12,), generator=torch.Generator().manual_seed(place))
        return {"input_ids": tokens, "labels": tokens}


def trained(directory, *callbacks, steps=5, **more):
    """Train a tiny model with dropout; return its weights."""
    transformers.set_seed(0)
    model = tiny_model("gpt2").train()
    how = {"max_steps": steps, "per_device_train_batch_size": 4, "report_to": []}
    how |= {"save_strategy": "no", "logging_strategy": "no", "disable_tqdm": True}
    how |= {"use_cpu": True, "dataloader_pin_memory": False}
    transformers.Trainer(
        model,
        transformers.TrainingArguments(**{"output_dir": str(directory), **how, **more}),
        train_dataset=Windows(),
        eval_dataset=Windows(),
        processing_class=tiny_tokenizer(),
        data_collator=transformers.default_data_collator,
        callbacks=list(callbacks),
    ).train()
    return model.state_dict()


@pytest.mark.slow
def test_a_training_is_followed_and_not_touched(tmp_path):
    out = tmp_path / "store"
    following = collect.MeasurementCallback(out, PROMPTS, every=2)
    followed = trained(tmp_path / "mine", following)
    alone = trained(tmp_path / "mine")
    assert all(torch.equal(followed[name], value) for name, value in alone.items())
    assert list(faults(out)) == []
    gains = open_store(out).query(
        "SELECT model_id, revision_name, training_step, gain_mean FROM gain_trajectory"
        " WHERE metric = 'gain_body' ORDER BY training_step"
    )
    assert gains["training_step"].tolist() == [0, 2, 4, 5]
    assert gains["revision_name"].tolist() == ["step0", "step2", "step4", "step5"]
    assert set(gains["model_id"]) == {"local/mine"}
    assert gains["gain_mean"].nunique() == 4
    before = {path: path.stat().st_mtime_ns for path in (out / "run").iterdir()}
    trained(tmp_path / "mine", collect.MeasurementCallback(out, PROMPTS, every=2), steps=5)
    assert {path: path.stat().st_mtime_ns for path in (out / "run").iterdir()} == before


@pytest.mark.slow
def test_what_fails_later_is_a_warning_unless_strict_and_at_first_a_refusal(tmp_path, monkeypatch):
    too_long = collect.MeasurementCallback(tmp_path / "out", ["a" * 65], every=1)
    with pytest.raises(InputError, match="context of 64 tokens"):
        trained(tmp_path / "mine", too_long)
    whole = collect.measure_step

    def failing(*arguments, step, **how):
        if step:
            raise InputError("The disk must have room; it has none.")
        return whole(*arguments, step=step, **how)

    monkeypatch.setattr("collect.library.training.measure_step", failing)
    with pytest.warns(UserWarning, match="Step 1 was not measured: The disk must have room"):
        trained(
            tmp_path / "mine",
            collect.MeasurementCallback(tmp_path / "a", PROMPTS, every=9),
            steps=1,
        )
    strict = collect.MeasurementCallback(tmp_path / "b", PROMPTS, every=1, is_strict=True)
    with pytest.raises(InputError, match="must have room"):
        trained(tmp_path / "mine", strict, steps=1)


def _norms(out):
    """Return the sum of all norms by step."""
    result = open_store(out).query(
        "SELECT training_step, sum(norm) AS norm"
        "  FROM residual_norm JOIN run_revision USING (run_id) GROUP BY ALL ORDER BY ALL"
    )
    return dict(zip(result["training_step"], result["norm"], strict=True))


def test_a_step_of_another_shape_is_refused_and_what_is_there_stays(tmp_path):
    model, how = tiny_model("gpt2"), {"model_id": "own/model"}
    collect.measure_step(model, tiny_tokenizer(), PROMPTS, tmp_path, step=0, **how)
    shorter = copy.deepcopy(model)
    shorter.transformer.h = shorter.transformer.h[:-1]
    n_layers = shorter.config.n_layer
    shorter.config.n_layer = n_layers - 1
    with pytest.raises(InputError, match=f"n_layers is {n_layers} there and {n_layers - 1} here"):
        collect.measure_step(shorter, tiny_tokenizer(), PROMPTS, tmp_path, step=1, **how)
    assert list(faults(tmp_path)) == []
    assert open_store(tmp_path).query("SELECT training_step FROM run_revision").iloc[0, 0] == 0


class Saving(transformers.TrainerCallback):
    """Measures a copy of the model after every step, as it is then."""

    def __init__(self, out):
        self.out = out

    def on_step_end(self, args, state, control, model, **given):
        copied = tiny_model("gpt2")
        copied.load_state_dict(model.state_dict())
        how = {"step": state.global_step, "model_id": "own/copy"}
        collect.measure_step(copied, tiny_tokenizer(), PROMPTS, self.out, **how)


@pytest.mark.slow
def test_mixed_precision_is_followed_in_the_format_of_the_weights(tmp_path):
    following = collect.MeasurementCallback(tmp_path / "a", PROMPTS, every=2)
    trained(tmp_path / "mine", following, Saving(tmp_path / "b"), bf16=True)
    result, expected = _norms(tmp_path / "a"), _norms(tmp_path / "b")
    assert result.keys() == {0, 2, 4, 5}
    assert all(result[step] == expected[step] for step in (2, 4, 5))


#: The worst weights are taken for the best, so that they are those of an early step.
_BEST = {
    "load_best_model_at_end": True,
    "metric_for_best_model": "eval_loss",
    "greater_is_better": True,
    "learning_rate": 1e-2,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "steps", "followed"), [("steps", 5, {0, 3, 5}), ("epoch", 20, {0, 3, 6})]
)
def test_the_last_step_is_not_given_the_numbers_of_the_best(tmp_path, kind, steps, followed):
    out = tmp_path / "a"
    how = {**_BEST, "save_strategy": kind, "eval_strategy": kind, "save_steps": 2, "eval_steps": 2}
    callbacks = [collect.MeasurementCallback(out, PROMPTS, every=3), Saving(tmp_path / "b")]
    if steps > 5:
        callbacks.append(transformers.EarlyStoppingCallback(1))
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        trained(tmp_path / "mine", *callbacks, steps=steps, **how)
    result, expected = _norms(out), _norms(tmp_path / "b")
    assert result.keys() == followed
    assert all(result[step] == expected[step] for step in followed - {0})
    is_told = any("Step 8 was not measured" in str(warning.message) for warning in printed)
    assert is_told == (kind == "epoch")


def test_a_callback_that_is_used_again_measures_the_first_step_again(tmp_path):
    following = collect.MeasurementCallback(tmp_path / "out", PROMPTS, every=1)
    how = {"processing_class": tiny_tokenizer(), "model": tiny_model("gpt2")}
    for name in ("a", "b"):
        arguments = transformers.TrainingArguments(str(tmp_path / name), use_cpu=True)
        following.on_train_begin(arguments, transformers.TrainerState(), None, **how)
    result = open_store(tmp_path / "out").query("SELECT model_id FROM run ORDER BY ALL")
    assert result["model_id"].tolist() == ["local/a", "local/b"]


@pytest.mark.parametrize("every", [0, 1.5, "x"])
def test_a_period_that_is_no_number_of_steps_is_refused(tmp_path, every):
    with pytest.raises(InputError, match=f"whole number of 1 or more, .*; found {every!r}"):
        collect.MeasurementCallback(tmp_path, PROMPTS, every=every)
