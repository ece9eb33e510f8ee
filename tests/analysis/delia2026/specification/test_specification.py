"""Specification curve: four models counted by hand, every number against an independent one."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.delia2026.specification import choices as specification_choices
from analysis.delia2026.specification import curve as specification
from analysis.delia2026.specification import null as specification_null
from analysis.delia2026.specification.curve import distinct, specification_curve
from tests.analysis.delia2026.specification.specified import one, rng

LN2 = math.log(2)

#: Suite to lab, gain of its one model: EleutherAI's two halve the stream or worse.
FOUR = {"Pythia": ("EleutherAI", 1 / 2), "GPT-J": ("EleutherAI", 1 / 4)}
FOUR |= {"OPT": ("Meta", 2.0), "GPT-2": ("OpenAI", 4.0)}


FIGURE = {"metric": "gain_penultimate_block", "prompt_set": "S", "dtype": "fp32", "file": "f"}
FIGURE |= {"log_error": np.nan, "n_prompts": 5, "is_base": True, "norm_position": "pre"}


@pytest.fixture(scope="module")
def four():
    """Return figures of one gain of each of four models of one shape."""
    return pd.DataFrame(
        {
            **{"model_id": f"m/{suite}", "lab": lab, "suite": suite, "log_gain": math.log(gain)},
            **FIGURE,
            **{"rho": 1.0, "n_layers": 3, "log_parameters": 3.0},
        }
        for suite, (lab, gain) in FOUR.items()
    )


@pytest.fixture(scope="module")
def counted(four):
    return specification_curve(four, rng=rng())


def test_there_is_one_row_for_each_combination_of_the_choices_and_one_without_says_why(counted):
    levels = specification_choices.CHOICES
    rows = counted.specifications
    assert len(rows) == math.prod(len(names) for names in levels.values()) == 31104
    assert not rows.duplicated(list(levels)).any()
    assert rows["specification"].tolist() == list(range(1, len(rows) + 1))
    rows = counted.specifications
    assert (rows.loc[rows["estimate"].isna(), "reason"] != "").all()
    cases = {
        "no model has this gain in these figures": {"gain": "last block"},
        "no model has this outcome": {"outcome": "interval below 1"},
        "too few units for this estimator": {"estimator": "adjusted difference"},
        "odds need a sign, not a size": {
            "outcome": "size of log gain",
            "estimator": "log odds ratio",
        },
    }
    for reason, choice in cases.items():
        assert one(counted, **choice)["reason"] == reason
        assert pd.isna(one(counted, **choice)["as_claimed"])


def test_the_difference_of_shares_of_four_models_is_one(counted):
    row = one(counted)
    assert (row["estimate"], row["n_obs"], row["n_models"]) == (1, 4, 4)
    assert (row["n_suites"], row["n_labs"]) == (4, 3)
    # 1, 1, 0, 0: the standard deviation is a half, and nothing varies within the groups.
    assert row["standardised"] == 2
    assert pd.isna(row["std_error"])
    assert pd.isna(row["p_value"])
    assert row["reason"] == "no variation within the groups, hence no standard error"
    # Of six ways to choose two suites, one gives 1 and one gives -1.
    assert (row["p_permutation"], row["smallest_p"], row["n_permutations"]) == (
        pytest.approx(1 / 3),
        pytest.approx(1 / 3),
        6,
    )


def test_outcomes_of_four_models_are_those_of_a_hand(counted):
    row = one(counted, estimator="log odds ratio")
    assert row["estimate"] == pytest.approx(math.log((2.5 / 0.5) / (0.5 / 2.5)))
    assert row["std_error"] == pytest.approx(math.sqrt(2 * (1 / 2.5 + 1 / 0.5)))
    assert row["standardised"] == pytest.approx(row["estimate"] * math.sqrt(3) / math.pi)
    # Minus log2 gain: 1 and 2 against -1 and -2; within each group the variance is 1/2.
    row = one(counted, outcome="size of log gain")
    assert row["estimate"] == pytest.approx(3 * LN2)
    assert row["std_error"] == pytest.approx(LN2 * math.sqrt(1 / 2))
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(3 / math.sqrt(1 / 2), 2))
    assert row["conf_high"] - row["estimate"] == pytest.approx(
        stats.t.ppf(0.975, 2) * row["std_error"]
    )
    assert row["outcome_sd"] == pytest.approx(LN2 * math.sqrt(10 / 4))
    row = one(counted, outcome="size of log gain", unit="lab")
    assert row["n_obs"] == 3
    assert row["estimate"] == pytest.approx(LN2 * (1.5 + 1.5))
    assert row["std_error"] == pytest.approx(LN2 * math.sqrt(0.5 * (1 + 1 / 2)))


def test_specifications_with_the_same_rows_are_counted_once(counted):
    first = one(counted)
    # One model per suite; all other labs are Meta and OpenAI; one figure per model; and so on.
    other = {"unit": "suite", "groups": "EleutherAI / Meta, OpenAI", "figure": "mean of all"}
    again = one(counted, **other, outcome="mean below 0.99", gain="penultimate, else last")
    assert pd.isna(first["duplicate_of"])
    assert again["duplicate_of"] == first["specification"] == 1
    assert again["estimate"] == first["estimate"]
    rows = counted.specifications
    estimated = rows[rows["estimate"].notna()]
    assert (1 / estimated["n_duplicates"].astype(float)).sum() == pytest.approx(len(distinct(rows)))


def test_the_joint_test_of_four_models_has_twelve_assignments(counted):
    # Pythia, the other suite of EleutherAI, and two labs alike: 4! / 2!.
    assert set(counted.joint["n_permutations"]) == {12}
    n_obs = counted.joint.drop_duplicates("groups").set_index("groups")["n_obs"]
    assert n_obs.to_dict() == {
        "all ways": 9,
        "EleutherAI / other labs": 6,
        "Pythia / other suites": 3,
    }
    row = counted.joint.set_index(["groups", "term"]).loc[
        ("EleutherAI / other labs", "share with the claimed sign")
    ]
    assert row["estimate"] == 1


@pytest.mark.slow
def test_the_joint_null_is_that_of_the_whole_analysis_on_relabelled_figures():
    figures = five_suites()
    levels = {
        **specification_choices.CHOICES,
        **{"gain": ("penultimate block",), "figure": ("most prompts",)},
        **{"models": ("base",), "left_out": ("none",)},
        "outcome": ("mean below 1", "size of log gain"),
        "estimator": ("difference", "log odds ratio"),
    }
    result = specification_curve(figures, rng=rng(), levels=levels)
    first = distinct(result.specifications)
    suites = figures[["suite", "lab"]].drop_duplicates()
    medians, shares, significant, untested = [], [], [], 0
    for order in permutations(range(len(suites))):
        named = suites.iloc[list(order)].set_axis(suites["suite"].to_numpy())
        relabelled = figures.assign(
            lab=figures["suite"].map(named["lab"]), suite=figures["suite"].map(named["suite"])
        )
        again = specification_curve(relabelled, rng=rng(), levels=levels).specifications
        rows = again.iloc[first["specification"] - 1].reset_index(drop=True)
        values = rows["estimate"] / first["outcome_sd"]
        untested += int((rows["p_value"].isna() & rows["estimate"].notna()).sum())
        significant.append(((rows["p_value"] < 0.05) & (values > 0)).sum() / values.notna().sum())
        medians.append(np.nanmedian(values))
        shares.append(np.nanmean(np.where(values.isna(), np.nan, values > 1e-9)))
    assert untested
    joint = result.joint[result.joint["groups"] == specification.ALL_WAYS].set_index("term")
    for term, values in (
        ("median estimate", np.array(medians)),
        ("share with the claimed sign", np.array(shares)),
        ("share significant as claimed", np.array(significant)),  # without a p: not counted
    ):
        row = joint.loc[term]
        assert row["estimate"] == pytest.approx(values[0], abs=1e-6)
        assert row["null_value"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["p_value"] == pytest.approx(np.mean(values >= values[0] - 1e-6))
        assert row["smallest_p"] == pytest.approx(np.mean(values >= values.max() - 1e-6))


def five_suites():
    """Return invented figures: five suites of two models, EleutherAI's two among them."""
    labs = {"Pythia": "EleutherAI", "GPT-J": "EleutherAI", "OPT": "Meta", "GPT-2": "OpenAI"}
    labs["Falcon"] = "TII"
    gain = np.array([-0.3, 0.1, -0.2, -0.15, 0.25, -0.05, 0.3, 0.12, 0.4, 0.2])
    suites = np.repeat(list(labs), 2)
    return pd.DataFrame(
        {"model_id": [f"m{place}" for place in range(10)], "log_gain": gain, "suite": suites}
        | {"lab": pd.Series(suites).map(labs), **FIGURE, "rho": np.arange(10.0) % 3}
        | {"n_layers": np.arange(10) % 4, "log_parameters": np.arange(10.0) ** 2 % 5}
    )


def test_many_assignments_are_drawn():
    groups = np.array([[1.0]] * 8 + [[0.0]] * 8)
    codes = specification_null.coding(groups, np.arange(16))
    drawn = specification_null.assignments(codes, n_permutations=99, rng=rng())
    assert drawn.codes.shape == (100, 16)
    assert (drawn.codes[0] == codes.codes).all()
    assert not drawn.enumerated
