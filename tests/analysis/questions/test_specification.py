"""Specification curve: four models counted by hand, every number against an independent one."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from analysis import evidence
from analysis.inference.resampling import permutation
from analysis.questions.specification import choices as specification_choices
from analysis.questions.specification import curve as specification
from analysis.questions.specification import null as specification_null
from analysis.questions.specification.curve import distinct, specification_curve
from analysis.store import open_store
from analysis.tidy.errors import AnalysisError, DesignError
from collect import schema
from collect.published.values import published_values
from collect.record.writer import write_table

ROOT = Path(__file__).parents[3]
LN2 = math.log(2)

#: Suite to lab, gain of its one model: EleutherAI's two halve the stream or worse.
FOUR = {
    "Pythia": ("EleutherAI", 1 / 2),
    "GPT-J": ("EleutherAI", 1 / 4),
    "OPT": ("Meta", 2.0),
    "GPT-2": ("OpenAI", 4.0),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def write_rows(directory, table, rows):
    names = [column.name for column in schema.tables()[table].columns]
    pd.DataFrame(rows).reindex(columns=names).to_csv(directory / f"{table}.csv", index=False)


@pytest.fixture(scope="module")
def four(tmp_path_factory, published_store):
    """Return the figures of a store that publishes one gain of each of four models."""
    directory = tmp_path_factory.mktemp("four")
    published_store.query("FROM metric").to_csv(directory / "metric.csv", index=False)
    models = [
        {
            "model_id": f"m/{suite}",
            "lab": lab,
            "suite": suite,
            "family": "gpt2",
            "n_layers": 3,
            "d_model": 4,
            "n_heads": 2,
            "n_kv_heads": 2,
            "d_head": 2,
            "norm_position": "pre",
            "n_parameters": 1000,
        }
        for suite, (lab, _) in FOUR.items()
    ]
    write_rows(directory, "model", models)
    gains = [
        {
            "model_id": f"m/{suite}",
            "metric": "gain_penultimate_block",
            "prompt_set": "S",
            "dtype": "fp32",
            "file": "f.json",
            "path": "$",
            "mean": gain,
            "n": 5,
            "unit": "ratio",
            "caveats": "",
        }
        for suite, (_, gain) in FOUR.items()
    ]
    write_rows(directory, "published_figure", gains)
    return specification_choices.figures(open_store(directory))


@pytest.fixture(scope="module")
def counted(four):
    return specification_curve(four, rng=rng())


@pytest.fixture(scope="module")
def figures(published_store):
    return specification_choices.figures(published_store)


@pytest.fixture(scope="module")
def published(figures):
    return specification_curve(figures, rng=np.random.default_rng(specification.SEED))


def one(found, **chosen):
    """Return the specification with these choices, others at their first level."""
    defaults = {
        "gain": "penultimate block",
        "figure": "most prompts",
        "models": "base",
        "left_out": "none",
        "outcome": "mean below 1",
        "unit": "model",
        "groups": "EleutherAI / other labs",
        "estimator": "difference",
    }
    rows = found.specifications
    for name, level in (defaults | chosen).items():
        rows = rows[rows[name] == level]
    assert len(rows) == 1
    return rows.iloc[0]


def test_there_is_one_row_for_each_combination_of_the_choices(counted, four):
    levels = specification_choices.choices(four)
    rows = counted.specifications
    assert len(rows) == math.prod(len(names) for names in levels.values()) == 31104
    assert not rows.duplicated(list(levels)).any()
    assert rows["specification"].tolist() == list(range(1, len(rows) + 1))


def test_a_row_without_an_estimate_says_why(counted):
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


def test_the_log_odds_ratio_of_four_models_is_that_of_halves_added(counted):
    row = one(counted, estimator="log odds ratio")
    assert row["estimate"] == pytest.approx(math.log((2.5 / 0.5) / (0.5 / 2.5)))
    assert row["std_error"] == pytest.approx(math.sqrt(2 * (1 / 2.5 + 1 / 0.5)))
    assert row["standardised"] == pytest.approx(row["estimate"] * math.sqrt(3) / math.pi)


def test_the_difference_of_log_gains_of_four_models_is_three_octaves(counted):
    # Minus log2 gain: 1 and 2 against -1 and -2; within each group the variance is 1/2.
    row = one(counted, outcome="size of log gain")
    assert row["estimate"] == pytest.approx(3 * LN2)
    assert row["std_error"] == pytest.approx(LN2 * math.sqrt(1 / 2))
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(3 / math.sqrt(1 / 2), 2))
    assert row["conf_high"] - row["estimate"] == pytest.approx(
        stats.t.ppf(0.975, 2) * row["std_error"]
    )
    assert row["outcome_sd"] == pytest.approx(LN2 * math.sqrt(10 / 4))


def test_pythia_alone_is_compared_with_three_suites(counted):
    row = one(counted, outcome="size of log gain", groups="Pythia / other suites")
    assert row["estimate"] == pytest.approx(LN2 * (1 - (2 - 1 - 2) / 3))
    # Each suite in turn: 4/3, 8/3, -4/3, -8/3.
    assert (row["p_permutation"], row["smallest_p"]) == (1, pytest.approx(1 / 2))


def test_a_lab_is_one_observation_whose_value_is_the_mean_of_its_models(counted):
    row = one(counted, outcome="size of log gain", unit="lab")
    assert row["n_obs"] == 3
    assert row["estimate"] == pytest.approx(LN2 * (1.5 + 1.5))
    assert row["std_error"] == pytest.approx(LN2 * math.sqrt(0.5 * (1 + 1 / 2)))


def test_specifications_with_the_same_rows_are_counted_once(counted):
    first = one(counted)
    # One model per suite; all other labs are Meta and OpenAI; one figure per model; and so on.
    again = one(
        counted,
        unit="suite",
        groups="EleutherAI / Meta, OpenAI",
        figure="mean of all",
        outcome="mean below 0.99",
        gain="penultimate, else last",
    )
    assert pd.isna(first["duplicate_of"])
    assert again["duplicate_of"] == first["specification"] == 1
    assert again["estimate"] == first["estimate"]
    rows = counted.specifications
    estimated = rows[rows["estimate"].notna()]
    assert (1 / estimated["n_duplicates"].astype(float)).sum() == pytest.approx(len(distinct(rows)))


def test_four_models_have_nine_distinct_comparisons(counted):
    # Share, odds and size of EleutherAI / others by model, the same three by lab, and the same
    # three of Pythia / others. Everything else has the rows of one of these.
    assert len(distinct(counted.specifications)) == 9


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


CHOSEN = [
    {"unit": unit, "outcome": outcome, "estimator": estimator, "groups": groups}
    for unit in specification_choices.UNITS
    for outcome in ("mean below 1", "size of log gain")
    for estimator in ("difference", "log odds ratio", "adjusted difference")
    for groups in specification_choices.GROUPS
    if (estimator, outcome) != ("log odds ratio", "size of log gain")
]


@pytest.mark.parametrize("chosen", CHOSEN, ids=lambda chosen: ", ".join(chosen.values()))
def test_a_published_estimate_is_that_of_plain_least_squares(published, published_store, chosen):
    row = one(published, **chosen)
    gains = evidence.published_gains(published_store, "gain_penultimate_block")
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


@pytest.mark.slow
def test_the_joint_null_is_that_of_the_whole_analysis_on_relabelled_figures():
    figures = five_suites()
    levels = {
        **specification_choices.choices(figures),
        "gain": ("penultimate block",),
        "figure": ("most prompts",),
        "models": ("base",),
        "left_out": ("none",),
        "outcome": ("mean below 1", "size of log gain"),
        "estimator": ("difference", "log odds ratio"),
    }
    found = specification_curve(figures, rng=rng(), levels=levels)
    first = distinct(found.specifications)
    suites = figures[["suite", "lab"]].drop_duplicates()
    medians, shares = [], []
    for order in permutations(range(len(suites))):
        named = suites.iloc[list(order)].set_axis(suites["suite"].to_numpy())
        relabelled = figures.assign(
            lab=figures["suite"].map(named["lab"]), suite=figures["suite"].map(named["suite"])
        )
        again = specification_curve(relabelled, rng=rng(), levels=levels).specifications
        values = again["estimate"].to_numpy()[first["specification"] - 1] / first["outcome_sd"]
        medians.append(np.nanmedian(values))
        shares.append(np.nanmean(np.where(values.isna(), np.nan, values > 1e-9)))
    joint = found.joint[found.joint["groups"] == specification.ALL_WAYS].set_index("term")
    for term, values in (
        ("median estimate", np.array(medians)),
        ("share with the claimed sign", np.array(shares)),
    ):
        row = joint.loc[term]
        assert row["estimate"] == pytest.approx(values[0], abs=1e-6)
        assert row["null_value"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["p_value"] == pytest.approx(np.mean(values >= values[0] - 1e-6))
        assert row["smallest_p"] == pytest.approx(np.mean(values >= values.max() - 1e-6))


def test_two_suites_of_one_lab_stay_one_lab_when_labels_are_exchanged():
    # Two labs of two suites and one of one: 5! / (2! 2!) = 30 ways to hand the labs out.
    figures = five_suites().replace({"lab": {"TII": "Meta"}})
    levels = specification_choices.choices(figures) | {"gain": ("penultimate block",)}
    row = one(
        specification_curve(figures, rng=rng(), levels=levels),
        unit="lab",
        outcome="size of log gain",
    )

    def difference(rows):
        means = (-rows["log_gain"]).groupby(rows["lab"]).mean()
        return float(means["EleutherAI"] - means.drop("EleutherAI").mean())

    tested = permutation.permutation_test(figures, difference, label="lab", unit="suite").iloc[0]
    assert tested["n_permutations"] == row["n_permutations"] == 30
    assert row["estimate"] == pytest.approx(tested["estimate"])
    assert row["p_permutation"] == pytest.approx(tested["p_value"])


def five_suites():
    """Return invented figures: five suites of two models, EleutherAI's two among them."""
    labs = {
        "Pythia": "EleutherAI",
        "GPT-J": "EleutherAI",
        "OPT": "Meta",
        "GPT-2": "OpenAI",
        "Falcon": "TII",
    }
    gain = np.array([-0.3, 0.1, -0.2, -0.15, 0.25, -0.05, 0.3, 0.12, 0.4, 0.2])
    suites = np.repeat(list(labs), 2)
    return pd.DataFrame(
        {
            "model_id": [f"m{place}" for place in range(10)],
            "metric": "gain_penultimate_block",
            "prompt_set": "S",
            "dtype": "fp32",
            "file": "f",
            "log_gain": gain,
            "log_error": np.nan,
            "n_prompts": 5,
            "lab": pd.Series(suites).map(labs),
            "suite": suites,
            "is_base": True,
            "norm_position": "pre",
            "rho": np.arange(10.0) % 3,
            "n_layers": np.arange(10) % 4,
            "log_parameters": np.arange(10.0) ** 2 % 5,
            "label": np.nan,
            **dict.fromkeys(specification_choices.PROMPT_COLUMNS, np.nan),
        }
    )


def test_prompts_are_units_where_the_store_has_them():
    # Three prompts of each model below 1, one above, and so on: y is a share, its square too.
    share = np.array([1.0, 0.8, 0.6, 1.0, 0.2, 0.0, 0.4, 0.0, 0.2, 0.0])
    figures = five_suites().assign(below_one=share, below_band=share, label=share)
    levels = specification_choices.choices(figures)
    assert levels["unit"] == ("model", "suite", "lab", "prompt")
    found = specification_curve(
        figures,
        rng=rng(),
        levels=levels | {"gain": ("penultimate block",), "figure": ("most prompts",)},
    )
    row = one(found, unit="prompt")
    prompts = [np.repeat([1.0, 0.0], [round(5 * part), 5 - round(5 * part)]) for part in share]
    ours, theirs = np.concatenate(prompts[:4]), np.concatenate(prompts[4:])
    answer = stats.ttest_ind(ours, theirs)
    assert row["n_obs"] == 50
    assert row["estimate"] == pytest.approx(ours.mean() - theirs.mean())
    assert row["p_value"] == pytest.approx(answer.pvalue)
    by_majority = one(found, outcome="most prompts below 1")
    assert by_majority["estimate"] == 1
    assert one(found, outcome="label typed in")["duplicate_of"] == by_majority["specification"]


def test_published_figures_alone_give_more_than_a_thousand_distinct_specifications(published):
    rows = published.specifications
    assert len(distinct(rows)) >= 1000
    assert rows["estimate"].notna().sum() > len(distinct(rows))


def test_the_order_of_the_figures_does_not_matter_and_a_seed_repeats(figures):
    levels = specification_choices.choices(figures) | {
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


def test_no_p_is_below_the_smallest_there_can_be(published):
    rows = distinct(published.specifications)
    assert (rows["p_permutation"] >= rows["smallest_p"] - 1e-12).all()
    assert (rows["smallest_p"] > 0).all()
    assert (published.joint["p_value"] >= published.joint["smallest_p"] - 1e-12).all()


def test_intervals_hold_their_estimate_and_p_agrees_with_them(published):
    rows = distinct(published.specifications).dropna(subset=["p_value"])
    assert ((rows["conf_low"] < rows["estimate"]) & (rows["estimate"] < rows["conf_high"])).all()
    excludes = (rows["conf_low"] > 0) | (rows["conf_high"] < 0)
    assert (excludes == (rows["p_value"] < 0.05)).all()


def test_the_observed_curve_is_the_sorted_estimates(published):
    estimates = distinct(published.specifications)["standardised"]
    expected = np.quantile(estimates, published.null["quantile"])
    assert published.null["estimate"].to_numpy() == pytest.approx(expected, abs=1e-6)
    assert (published.null["null_low"] <= published.null["null_high"]).all()


def test_leaving_out_uses_the_band_and_the_norm(figures):
    models = specification_choices.select(figures, "penultimate block", "most prompts", "base")
    assert len(models) == 23
    near = specification_choices.leave_out(models, "within 1 % of 1")
    assert set(models["model_id"]) - set(near["model_id"]) == {
        "EleutherAI/pythia-1.4b",
        "EleutherAI/pythia-6.9b",
        "bigscience/bloom-3b",
        "facebook/opt-350m",
    }
    kept = specification_choices.leave_out(models, "post-norm")
    assert set(models["model_id"]) - set(kept["model_id"]) == {"facebook/opt-350m"}


def test_the_most_precise_format_is_single_precision(figures):
    models = specification_choices.select(
        figures, "penultimate block", "most precise format", "base"
    ).set_index("model_id")
    assert models.loc["EleutherAI/gpt-j-6b", "dtype"] == "fp32"
    assert models.loc["EleutherAI/pythia-70m", "dtype"] == "fp16"


def test_the_mean_of_all_figures_is_the_mean_of_log_gains(figures):
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


def test_measured_gains_bring_their_prompts(tiny_store):
    # From block 0 to block 1 the last tokens go from 4 to 6 and from 2 to 1.
    measured = specification_choices.figures(tiny_store, source="measured")
    row = measured.set_index("metric").loc["gain_penultimate_block"]
    assert (row["n_prompts"], row["below_one"], row["below_band"]) == (2, 0.5, 0.5)
    logs = [math.log(6 / 4), math.log(1 / 2)]
    assert row["log_mean"] == pytest.approx(sum(logs) / 2)
    assert row["log_square"] == pytest.approx((logs[0] ** 2 + logs[1] ** 2) / 2)


def test_typed_labels_and_single_prompts_come_from_the_raw_files(tmp_path):
    # pythia-160m expands, 1.157, and is typed in as DAMPEN; gemma-2b is UNKNOWN.
    raw = ROOT.parent / "shared" / "published" / "Results"
    if not raw.is_dir():
        pytest.skip(f"the raw files are not in {raw}")
    names = [
        evidence.PYTHIA,
        evidence.TRACES,
        "H4_v2_extended_20260106_012606.json",
        "restriction_map_summary_20260105_202448.csv",
    ]
    values = published_values(raw, names)
    write_table("published_value", values, tmp_path / "published_value" / "raw.parquet")
    store = open_store(ROOT / "data/published", tmp_path)
    figures = specification_choices.figures(store)
    label = figures.drop_duplicates("model_id").set_index("model_id")["label"]
    dampening = {"pythia-160m", "pythia-410m", "pythia-1b", "pythia-2.8b", "pythia-6.9b"}
    assert set(label[label == 1].index.str.split("/").str[1]) == dampening | {"gpt-neo-125m"}
    expanding = {"opt-125m", "opt-350m", "bloom-560m", "Mistral-7B-v0.1"}
    assert set(label[label == 0].index.str.split("/").str[1]) == expanding
    assert label.notna().sum() == 10
    sweep = figures[figures["file"] == evidence.PYTHIA].set_index(["metric", "model_id"])
    row = sweep.loc[("gain_penultimate_block", "EleutherAI/pythia-410m")]
    prompts = values[
        (values["model_id"] == "EleutherAI/pythia-410m") & values["prompt_id"].notna()
    ]["value"].astype(float)
    assert len(prompts) == row["n_prompts"] == 25
    assert row["below_one"] == pytest.approx((prompts < 1).mean())


def test_many_assignments_are_drawn_and_need_a_generator():
    groups = np.array([[1.0]] * 8 + [[0.0]] * 8)
    codes = specification_null.coding(groups, np.arange(16))
    drawn = specification_null.assignments(codes, n_permutations=99, rng=rng())
    assert drawn.codes.shape == (100, 16)
    assert (drawn.codes[0] == codes.codes).all()
    assert not drawn.enumerated
    with pytest.raises(DesignError, match="`rng` must be given"):
        specification_null.assignments(codes, n_permutations=99, rng=None)


def test_figures_without_the_claimed_lab_are_refused(four):
    others = four[four["lab"] != "EleutherAI"]
    with pytest.raises(DesignError, match="At least one specification must be estimable"):
        specification_curve(others, rng=rng())
    with pytest.raises(DesignError, match="must hold at least one gain"):
        specification_curve(four.iloc[:0], rng=rng())


def test_an_unknown_level_is_named(four):
    levels = specification_choices.choices(four)
    with pytest.raises(AnalysisError, match=r"levels\['unit'\]` must be one of"):
        specification_curve(four, rng=rng(), levels=levels | {"unit": ("modle",)})
    with pytest.raises(AnalysisError, match="`levels` must name every choice"):
        specification_curve(four, rng=rng(), levels={"unit": ("model",)})
