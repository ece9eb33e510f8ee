"""Units left out against lme4, known errors against metafor, the joint order by other means."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.delia2026.hierarchy import (
    joint_order,
    meta_regression,
    models_page,
    rules_left_out,
    sensitivity,
)
from analysis.delia2026.sign import calibrated, sources
from analysis.delia2026.suites.models import base_models
from analysis.tidy.columns import texts
from tests.analysis.places import R


@pytest.fixture(scope="module")
def models(shipped_store):
    return sensitivity.models(shipped_store)


@pytest.fixture(scope="module")
def left(models):
    return sensitivity.leave_out(models)


@pytest.fixture(scope="module")
def meta(models):
    return meta_regression.meta_regression(models)


@pytest.fixture(scope="module")
def orders(shipped_store):
    return joint_order.orders(base_models(shipped_store))


def test_one_lab_has_several_suites(models):
    counted = sensitivity.identification(models).set_index("level")
    assert counted["n_suites"].to_dict() == {
        "EleutherAI": 3, "BigScience": 1, "Meta": 1, "StabilityAI": 1, "TII": 1,
    }  # fmt: skip
    assert counted.loc["EleutherAI", "n_models"] == 12
    assert counted["n_models"].sum() == len(models) == 22


def test_errors_are_those_of_prompts_counted_by_hand(models):
    known = models.set_index("model_id")["std_error"]
    assert known["tiiuae/falcon-7b"] == pytest.approx(0.030088 / 1.027490 / 5**0.5, rel=1e-3)
    assert known["EleutherAI/gpt-j-6b"] == pytest.approx(0.015257 / 1.135854 / 5**0.5, rel=1e-3)


def test_a_model_has_one_gain_on_all_of_the_page(models, shipped_store):
    """Two models are in several files; script, shares and rules take the same of them."""
    gains = base_models(shipped_store).set_index("model_id")["log_gain"]
    assert models["log_gain"].to_numpy() == pytest.approx(gains[models["model_id"]].to_numpy())


def test_coefficients_without_each_unit_are_those_of_lme4(left):
    expected = pd.read_csv(R / "hierarchy_left_out.csv", keep_default_na=False)
    found = left.dropna(subset=["estimate"]).merge(
        expected, on=["level", "block", "term"], suffixes=("", "_r"), how="left"
    )
    assert len(found) == 9 * 6 - 2  # without EleutherAI heritage has no coefficient, twice
    for name in ("estimate", "std_error", "df"):
        assert np.allclose(found[name], found[f"{name}_r"], rtol=1e-4, atol=1e-6), name
    tested = found.dropna(subset=["p_value"])
    assert np.allclose(tested["p_value"], tested["p_value_r"], rtol=1e-4)
    assert (found.loc[found["p_value"].isna(), "df_r"] < 1).all()


def test_causes_at_a_time_and_in_one_model_are_those_of_lme4(models):
    expected = pd.read_csv(R / "hierarchy_left_out.csv", keep_default_na=False)
    expected = expected[expected["level"] == ""].set_index(["block", "term"])["estimate"]
    table = sensitivity.at_once(models)
    found = table.set_index(["block", "term"])["estimate"]
    assert len(found) == 8
    for (block, term), estimate in found.items():
        step = sensitivity.STEP if term == "rho" else 1
        assert estimate == pytest.approx(step * expected[block, term], abs=1e-6)
    assert len(sensitivity.answer_rows(table)) == 4


def test_changes_are_counted_against_all_models(left):
    expected = pd.read_csv(R / "hierarchy_left_out.csv", keep_default_na=False)
    by_term = expected.set_index(["level", "block", "term"])
    assert not left.loc[left["unit"] == "all", ["sign_changes", "significance_changes"]].any(
        axis=None
    )
    for row in left[left["estimate"].notna()].itertuples():
        full, part = (by_term.loc[(it, row.block, row.term)] for it in ("", row.level))
        assert row.sign_changes == (full["estimate"] * part["estimate"] < 0)
    assert set(left.loc[left["sign_changes"], "block"]) == {"all"}


def test_meta_regression_is_that_of_metafor(meta):
    expected = pd.read_csv(R / "hierarchy_meta.csv")
    own = meta[meta["method"] == meta_regression.OWN]
    found = own.merge(expected, on=["block", "term"], suffixes=("", "_r"))
    assert len(found) == len(expected) == 12
    for name in ("estimate", "std_error", "p_value", "conf_low", "tau_squared", "i_squared"):
        assert np.allclose(found[name], found[f"{name}_r"], rtol=1e-4, atol=1e-5), name


def test_without_known_errors_it_is_the_mixed_model(meta):
    expected = pd.read_csv(R / "hierarchy_left_out.csv", keep_default_na=False)
    everyone = expected[expected["level"] == ""]
    alike = meta[meta["method"] == meta_regression.ALIKE]
    found = alike.merge(everyone, on=["block", "term"], suffixes=("", "_r"))
    assert len(found) == 8
    assert np.allclose(found["estimate"], found["estimate_r"], atol=1e-6)


def test_a_gain_of_large_error_counts_little(models):
    far = models.copy()
    far.loc[0, ["log_gain", "std_error"]] = [5.0, 100.0]
    without = meta_regression.meta_regression(models.drop(index=0))
    beside = meta_regression.meta_regression(far)
    own = [it[it["method"] == meta_regression.OWN]["estimate"] for it in (without, beside)]
    assert np.allclose(own[0], own[1], atol=1e-3)


def test_orders_are_disjoint_and_exhaustive(orders):
    assert set(orders["ranking"]) == {" > ".join(it) for it in permutations(joint_order.PLACES)}
    total = orders.groupby(["prior_scale", "stage"])["probability"].sum()
    assert len(total) == 6
    assert np.allclose(total, 1)


def test_a_prior_of_ratios_has_the_same_order_at_every_width(orders):
    """The order is free of the width before the data; by draws of its own it is .16."""
    before = orders[(orders["stage"] == "prior") & (orders["ranking"] == joint_order.CLAIMED)]
    draws = np.abs(np.random.default_rng(1).standard_cauchy((4, 400_000)))
    lab, shape, depth, scale = draws
    expected = ((lab > np.hypot(shape, depth)) & (np.hypot(shape, depth) > scale)).mean()
    assert np.allclose(before["probability"], expected, atol=0.005)


def test_posterior_is_that_of_importance_sampling(shipped_store, orders):
    """Draws from the prior, weighted by the density of the multivariate t of scipy."""
    models = base_models(shipped_store)
    gains = models["log_gain"].to_numpy()
    y = (gains - gains.mean()) / gains.std()
    design = sources.design(models)
    rng = np.random.default_rng(5)
    ratios = np.abs(rng.standard_cauchy((20_000, 5)))
    z = design.columns[:, 1:]
    logs = []
    for ratio in ratios:
        spread = (z * ratio[list(design.source)] ** 2) @ z.T + 100 + np.eye(len(y))
        logs.append(stats.multivariate_t.logpdf(y, None, 0.05**2 * spread, df=2))
    weights = np.exp(np.array(logs) - max(logs))
    lab, _, shape, depth, scale = ratios.T
    assert design.names == ("lab", "suite", "shape", "depth", "scale")
    holds = (lab > np.hypot(shape, depth)) & (np.hypot(shape, depth) > scale)
    found = orders.set_index(["prior_scale", "stage", "ranking"])["probability"]
    after = found[1.0, "posterior", joint_order.CLAIMED]
    assert after == pytest.approx(weights @ holds / weights.sum(), abs=0.025)


def test_sentences_say_what_the_frames_hold(models, left, meta, orders):
    assert "5 labs" in sensitivity.identified(sensitivity.identification(models))
    size = left[(left["term"] == "size") & (left["block"] == "all")]
    changed = int(size["sign_changes"].sum())
    assert f"{changed} of {len(size) - 1}" in sensitivity.left_out(left)
    assert "22 of 22" in meta_regression.said(models, meta)
    after = orders.set_index(["prior_scale", "stage", "ranking"])["probability"]
    said = joint_order.said(orders)
    assert f"{after[1.0, 'posterior', joint_order.CLAIMED]:.0%}"[:-1] in said
    odds = [after[1.0, stage, joint_order.CLAIMED] for stage in ("posterior", "prior")]
    posterior, prior = (share / (1 - share) for share in odds)
    assert f"by a factor of {posterior / prior:.1f}." in said


def test_the_picture_has_every_model_twice(models):
    drawn = models_page.chart(models).to_dict()
    points = [
        layer for panel in drawn["vconcat"] for layer in panel["layer"]
        if layer["mark"]["type"] == "point"
    ]  # fmt: skip
    assert [len(drawn["datasets"][it["data"]["name"]]) for it in points] == [22, 22]
    table = texts(models_page.sort_models(models), models_page.COLUMNS)
    assert table.set_index("name").loc["falcon-7b", "gain"] == "+3\N{NO-BREAK SPACE}%"


def test_pairs_are_those_of_independent_half_cauchys_and_of_the_orders(shipped_store, orders):
    """Before the data two single sources are alike; the pair with all of geometry sums orders."""
    pairs = joint_order.pairs(base_models(shipped_store))
    found = pairs.set_index(["prior_scale", "stage", "ranking"])["probability"]
    for width in joint_order.WIDTHS:
        for part in ("shape", "depth"):
            assert found[width, "prior", f"{part} > scale"] == pytest.approx(0.5, abs=0.005)
        for stage in ("prior", "posterior"):
            chosen = orders[(orders["prior_scale"] == width) & (orders["stage"] == stage)]
            is_ahead = chosen["ranking"].str.fullmatch(".*geometry.*scale.*")
            expected = chosen.loc[is_ahead, "probability"].sum()
            assert found[width, stage, "shape and depth > scale"] == pytest.approx(expected)
    said = joint_order.parted(pairs)
    for ranking in ("depth > scale", "shape > scale"):
        assert f"{found[1.0, 'posterior', ranking]:.0%}"[:-1] in said


def test_rules_without_a_lab_are_the_rules_of_the_models_that_are_left(shipped_store):
    models, rules = base_models(shipped_store), calibrated.rules(shipped_store)
    table = rules_left_out.leave_out(models, rules)
    assert table.groupby("unit")["level"].nunique().to_dict() == {"all": 1, "lab": 5, "suite": 3}
    found = table.set_index(["level", "statement"])
    for level, column in (("", "lab"), ("Meta", "lab"), ("Pythia", "suite")):
        for statement, judged in rules.judge(models[models[column] != level]).items():
            row = found.loc[level, statement]
            assert (row["p_yes"], row["p_no"]) == (judged.p_yes, judged.p_no)
            assert row["answer"] == rules_left_out.ANSWERS[judged.holds]
    parts = table[table["unit"] != "all"]
    assert f"{parts['p_yes'].min():.2f}" in rules_left_out.said(table)
    changed = table.assign(answer=table["answer"].where(table["level"] != "TII", "holds"))
    assert "geometry over scale without TII (holds)" in rules_left_out.said(changed)
