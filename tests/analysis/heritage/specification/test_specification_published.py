"""Specification curve of the paper's own figures, each estimate against an independent one."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from analysis.audit import evidence
from analysis.heritage.specification import choices as specification_choices
from analysis.heritage.specification import curve as specification
from analysis.heritage.specification.curve import distinct, specification_curve
from analysis.inference.resampling import permutation
from tests.analysis.heritage.specification.specified import one, rng

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def figures(published_store):
    return specification_choices.figures(published_store)


@pytest.fixture(scope="module")
def published(figures):
    return specification_curve(figures, rng=np.random.default_rng(specification.SEED))


@pytest.fixture(scope="module")
def gains(published_store):
    return evidence.published_gains(published_store, "gain_penultimate_block")


CHOSEN = [
    {"unit": unit, "outcome": outcome, "estimator": estimator, "groups": groups}
    for unit in specification_choices.UNITS
    for outcome in ("mean below 1", "size of log gain")
    for estimator in ("difference", "log odds ratio", "adjusted difference")
    for groups in specification_choices.GROUPS
    if (estimator, outcome) != ("log odds ratio", "size of log gain")
]


@pytest.mark.parametrize("chosen", CHOSEN, ids=lambda chosen: ", ".join(chosen.values()))
def test_a_published_estimate_is_that_of_plain_least_squares(published, gains, chosen):
    row = one(published, **chosen)
    rows = units(labelled(evidence.base_models(gains), chosen["groups"]), chosen)
    if pd.isna(row["estimate"]):
        assert len(rows) < 10
        assert row["reason"] == "too few units for this estimator"
        return
    assert row["n_obs"] == len(rows)
    assert row["estimate"] == pytest.approx(estimate(rows, chosen["estimator"]))
    if chosen["estimator"] == "log odds ratio" or pd.isna(row["std_error"]):
        return
    is_adjusted = chosen["estimator"] == "adjusted difference"
    columns = ["ours", *(specification_choices.COVARIATES if is_adjusted else ())]
    fit = OLS(rows["y"], rows[columns].assign(one=1.0)).fit()
    assert row["std_error"] == pytest.approx(fit.bse["ours"])
    assert row["p_value"] == pytest.approx(fit.pvalues["ours"])
    assert [row["conf_low"], row["conf_high"]] == pytest.approx(fit.conf_int().loc["ours"].tolist())


def labelled(models, groups):
    """Return the models of either group; `label` is the lab, + in front of the group's own."""
    is_ours = models["suite"] == "Pythia" if "Pythia" in groups else models["lab"] == "EleutherAI"
    rows = models.assign(label=np.where(is_ours, "+", "-") + models["lab"])
    named = models["lab"].isin(["EleutherAI", "Meta", "OpenAI"])
    return rows[named] if "Meta" in groups else rows


def units(rows, chosen):
    """Return one row per unit with its outcome, group and covariates, by pandas alone."""
    sign = (rows["gain_mean"] < 1).astype(float)
    y = sign if chosen["outcome"] == "mean below 1" else -np.log(rows["gain_mean"])
    wide = rows.assign(ours=rows["label"].str.startswith("+").astype(float), y=y)
    key = {"model": "model_id", "suite": "suite", "lab": "label"}[chosen["unit"]]
    return wide.groupby(key)[["y", "ours", *specification_choices.COVARIATES]].mean()


def estimate(rows, estimator):
    ours, theirs = rows[rows["ours"] == 1]["y"], rows[rows["ours"] == 0]["y"]
    if estimator == "difference":
        return ours.mean() - theirs.mean()
    if estimator == "log odds ratio":
        odds = [(group.sum() + 0.5) / ((1 - group).sum() + 0.5) for group in (ours, theirs)]
        return math.log(odds[0] / odds[1])
    covariates = rows[["ours", *specification_choices.COVARIATES]]
    design = np.column_stack([np.ones(len(rows)), covariates])
    return float(np.linalg.lstsq(design, rows["y"].to_numpy())[0][1])


@pytest.mark.parametrize(
    ("unit", "estimator", "groups"),
    [
        (unit, estimator, groups)
        for unit in ("model", "suite")
        for estimator in specification_choices.ESTIMATORS
        for groups in ("EleutherAI / other labs", "Pythia / other suites")
        if (unit, estimator) != ("suite", "adjusted difference")
    ],
)
def test_the_exchange_of_labels_is_that_of_the_permutation_test(
    published, published_store, unit, estimator, groups
):
    chosen = {"unit": unit, "estimator": estimator, "groups": groups, "outcome": "mean below 1"}
    row = one(published, **chosen, models="the hunt")
    gains = evidence.published_gains(published_store, "gain_penultimate_block", [evidence.HUNT])
    rows = labelled(gains, groups)
    rows = rows.assign(label=rows["label"].str[:1])
    tested = permutation.permutation_test(
        rows,
        lambda relabelled: estimate(units(relabelled, chosen), estimator),
        label="label",
        unit="suite",
    ).iloc[0]
    assert row["estimate"] == pytest.approx(tested["estimate"])
    assert row["p_permutation"] == pytest.approx(tested["p_value"])
    assert row["smallest_p"] == pytest.approx(tested["smallest_p"])


def test_the_order_of_the_figures_does_not_matter_and_a_seed_repeats(figures):
    levels = {
        **specification_choices.CHOICES,
        "gain": ("penultimate, else last",),
        "figure": ("most prompts", "mean of all"),
    }
    once, again = (
        specification_curve(rows, rng=rng(), n_permutations=199, levels=levels)
        for rows in (figures, figures.sample(frac=1, random_state=3))
    )
    pd.testing.assert_frame_equal(again.specifications, once.specifications)
    pd.testing.assert_frame_equal(again.joint, once.joint)
    pd.testing.assert_frame_equal(again.null, once.null)


def test_the_observed_curve_is_the_sorted_estimates(published):
    estimates = distinct(published.specifications)["standardised"]
    expected = np.quantile(estimates, published.null["quantile"])
    assert published.null["estimate"].to_numpy() == pytest.approx(expected, abs=1e-6)
    assert (published.null["null_low"] <= published.null["null_high"]).all()


def test_leaving_out_uses_the_band_and_the_norm_and_means_are_of_log_gains(figures):
    models = specification_choices.select(figures, "penultimate block", "most prompts", "base")
    assert len(models) == 23
    near = specification_choices.leave_out(models, "within 1 % of 1")
    assert set(models["model_id"]) - set(near["model_id"]) == {
        "EleutherAI/pythia-1.4b",
        "EleutherAI/pythia-6.9b",
        "bigscience/bloom-3b",
        "facebook/opt-350m",
    }
    remaining = specification_choices.leave_out(models, "post-norm")
    assert set(models["model_id"]) - set(remaining["model_id"]) == {"facebook/opt-350m"}
    models = specification_choices.select(figures, "penultimate block", "mean of all", "base")
    three = figures[
        (figures["model_id"] == "EleutherAI/pythia-6.9b")
        & (figures["metric"] == "gain_penultimate_block")
    ]
    row = models.set_index("model_id").loc["EleutherAI/pythia-6.9b"]
    assert len(three) == 3
    assert row["log_gain"] == pytest.approx(three["log_gain"].mean())
    assert row["n_prompts"] == 33
    assert row["log_error"] == pytest.approx(math.sqrt((three["log_error"] ** 2).sum()) / 3)
