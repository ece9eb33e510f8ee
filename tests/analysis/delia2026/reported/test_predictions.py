"""Predictions on models that others measured: what is computed, on lengths by hand."""

import numpy as np
import pytest

from analysis.delia2026.reported import models, predictions
from tests.analysis.delia2026 import outcomes

GEMMA, LLAMA = "google/gemma-2-2b", "meta-llama/Meta-Llama-3-8B"


@pytest.fixture(scope="module")
def rows(reported):
    return predictions.outcomes(reported)


def of(rows, prediction, model_id=None):
    chosen = rows[rows["prediction"] == prediction]
    return chosen if model_id is None else chosen[chosen["model_id"] == model_id]


def test_the_bound_is_asked_of_each_block_of_the_last_and_of_the_mean(rows):
    each = of(rows, "bound_each_block", GEMMA)
    assert each["estimate"].tolist() == pytest.approx([4, 0.75, 2])
    assert each["bound"].tolist() == pytest.approx([10 ** (1 / 4)] * 3)
    assert each["is_met"].tolist() == [False, True, False]
    assert of(rows, "bound_last_block", LLAMA)["estimate"].item() == pytest.approx(2)
    mean = of(rows, "bound_mean_block").set_index("model_id")
    assert mean.loc[GEMMA, "estimate"] == pytest.approx(6 ** (1 / 3))
    assert mean["is_met"].to_dict() == {GEMMA: False, LLAMA: True}  # 3.6^(1/5) of 10^(1/6)
    above = of(rows, "mean_above_bound").set_index("model_id")["is_met"]
    assert above.to_dict() == {GEMMA: True, LLAMA: False}
    assert of(rows, "total_of_ten")["estimate"].tolist() == pytest.approx([6, 3.6])


def test_shares_and_places_are_of_the_blocks_after_the_first(rows):
    assert of(rows, "third_above_bound", GEMMA)["estimate"].item() == pytest.approx(2 / 3)
    assert of(rows, "hardly_any_shrinks", GEMMA)["estimate"].item() == pytest.approx(1 / 3)
    assert of(rows, "hardly_any_shrinks", LLAMA)["estimate"].item() == 0
    assert of(rows, "largest_is_early")["estimate"].tolist() == pytest.approx([1 / 4, 5 / 6])


def test_the_formula_for_l_star_and_half_of_the_depth_are_asked_alike(rows):
    formula = 6 * (0.11 + 0.012 * 6 + 4.9 / 32)
    assert of(rows, "l_star_inside", LLAMA)["estimate"].item() == pytest.approx(formula)
    # Log gains ln 1.5, ln 16/15, ln 17/16, ln 18/17, ln 2: the widest step is around block 4.
    better = of(rows, "l_star_better_than_half", LLAMA)
    assert better["estimate"].item() == pytest.approx(4 - formula)
    assert better["bound"].item() == pytest.approx(1)
    worse = of(rows, "l_star_worse_than_half", LLAMA)
    assert worse["is_met"].item() is not better["is_met"].item()


def test_head_density_chooses_the_models_that_a_law_speaks_of(rows):
    assert of(rows, "dense_dampens")["model_id"].tolist() == [LLAMA]  # 32 / 128
    assert of(rows, "sparse_expands")["model_id"].tolist() == [GEMMA]  # 8 / 256
    assert of(rows, "sparse_expands")["is_met"].tolist() == [False]  # its last but one: 6 / 8


def test_the_joint_frame_has_the_papers_models_and_then_these(reported):
    rows = models.joint(reported)
    assert rows["source"].value_counts().to_dict() == {"published": 22, "reported": 2}
    ours = rows.set_index("model_id").loc[GEMMA]
    assert (ours["lab"], ours["depth"], ours["heritage"]) == ("Google", 2, 0)
    assert ours["log_gain"] == pytest.approx(np.log(6 / 8))


def test_each_prediction_has_its_mark_and_each_outcome_its_relation(rows):
    names = [prediction.prediction for prediction in predictions.PREDICTIONS]
    assert len({*names}) == len(names)
    assert {*rows["prediction"]} <= {*names}
    assert rows.loc[rows["prediction"] == "l_star_inside", "seen"].all()
    assert not rows.loc[rows["prediction"] == "bound_each_block", "seen"].any()
    assert outcomes.are_judged(rows)
