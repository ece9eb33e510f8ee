"""The claims on blocks, cost, trace, rho and weights: hand algebra, counts, verdicts that turn."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from analysis import audit as claims
from analysis.audit import evidence
from analysis.audit.claim import verdict
from analysis.audit.evidence import OURS
from analysis.delia2026.pages.register import CLAIMS
from analysis.delia2026.sign import threshold
from analysis.delia2026.weights import claims_by_layer as by_layer
from analysis.delia2026.weights import claims_mechanism as mechanism
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.delia2026.weights import claims_structure as structure
from analysis.delia2026.weights import claims_trace as trace
from analysis.store import open_store
from collect.record.writer import write_table
from tests.analysis.places import PUBLISHED


def with_heads(folder, whole):
    """Give the tiny model two value heads of norm 8 and a whole matrix of the given norm."""
    path = folder / "weight_norm/test--tiny.parquet"
    heads = pd.read_parquet(path)
    heads["kv_head"] = heads["head"]
    write_table("weight_norm", heads, path)
    path = folder / "matrix_norm/test--tiny.parquet"
    matrices = pd.read_parquet(path)
    grows = matrices["layer"] + 1
    matrices["sigma_max"] = whole * grows
    write_table("matrix_norm", matrices, path)
    return open_store(folder)


@pytest.mark.parametrize(("whole", "holds"), [(8.0, True), (9.0, False)])
def test_blocks_are_asked_of_the_measured_weights(tiny_copy, whole, holds):
    store = with_heads(tiny_copy, whole)
    shown = [row for row in structure.blocks(store) if not row.decides]
    assert shown[0].holds is holds
    assert shown[0].estimate == pytest.approx(whole / 8)
    assert shown[0].n_obs == 3


def test_algebra_decides_about_blocks_whatever_was_measured(tiny_store):
    decided = [row for row in structure.blocks(tiny_store) if row.decides]
    assert [row.holds for row in decided] == [False, False]
    assert verdict(decided) == "contradicted"
    # Directions at right angles do make blocks, and the trace is 2 (1 + 2) whatever the angle.
    assert structure.head_coupling(structure.two_heads(0.0)) == 0
    assert structure.head_coupling(structure.two_heads(0.6)) == pytest.approx(0.96 / 1.72)
    for overlap in (0.0, 0.6):
        assert np.trace(structure.two_heads(overlap)) == pytest.approx(6)
    sums, traces = trace.causal_maps(np.random.default_rng(5))
    assert np.abs(sums).max() < 1e-12
    assert traces.min() > 1
    assert {row.holds for row in structure.blocks(tiny_store) if not row.decides} == {None}


def test_operations_are_those_counted_by_hand():
    models = pd.DataFrame(
        {"model_id": ["m"], "n_heads": [2], "n_kv_heads": [2], "d_head": [2], "d_model": [4]}
    )
    counts = structure.operations(models, [16]).set_index("way")["operations"]
    # 16^2 entries and 16 on the diagonal; 4 * 4 weights squared and added; one product.
    assert counts["whole"] == 256 + 16 + 2 * 16 + 1
    assert counts["heads"] == 2 * (256 + 16) + 2 * 16 + 2
    # Queries and keys of 2 + 2 heads, then their products, on top.
    assert counts["attention"] == counts["heads"] + 2 * (4 * 2 * 4 * 16) + 2 * 2 * 256 * 2
    assert counts["sufficient"] == 2 * 16 + 2
    ratios = structure.operations(models, [16]).set_index("way")["ratio"]
    assert ratios["whole"] == pytest.approx(305 / (256 + 16))
    models = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "dampens": [True, True, False, False]})
    assert threshold.best_cut(models) == 1
    assert threshold.best_cut(models.assign(dampens=~models["dampens"])) == 1
    mixed = models.assign(dampens=[False, True, True, False])
    assert threshold.best_cut(mixed) == 0.75


def test_the_cost_is_as_claimed_for_one_map_and_not_for_many(
    published_store, facts, changed, judge
):
    assert [row.holds for row in structure.cost(published_store)] == [True, False, False]
    assert judge(published_store, 15) == "depends on the reading"
    one_head = changed(facts, "model", lambda models: models.assign(n_heads=1, n_kv_heads=1))
    assert [row.holds for row in structure.cost(one_head)] == [True, True, False]


def test_verdicts_turn_with_labels_points_and_heads(facts, published_store, changed, judge):
    assert judge(published_store, 13) == "contradicted"

    def relabelled(models):
        is_gpt2 = models["model_id"] == "openai-community/gpt2"
        return models.assign(lab=models["lab"].where(~is_gpt2, "EleutherAI"))

    assert judge(changed(facts, "model", relabelled), 13) == "depends on the reading"
    store = changed(facts, "digitised_point", lambda points: points.assign(caveats=""))
    assert judge(store, 33) == "reproduced"


def gains(rule):
    """Return a change that gives every published gain the value of a rule on rho."""
    models = pd.read_csv(PUBLISHED / "model.csv").set_index("model_id")
    density = models["n_heads"] / models["d_head"]

    def change(figures):
        given = figures["model_id"].map(density.map(rule))
        is_gain = figures["metric"] == "gain_penultimate_block"
        return figures.assign(mean=figures["mean"].where(~is_gain, given))

    return change


def test_the_explanation_by_rho_turns_with_the_gains(facts, changed, judge):
    store = changed(facts, "published_figure", gains(lambda rho: 1.185 - rho + 0.3 * rho**2))
    rows = claims.checks(store, 16, CLAIMS)
    assert rows["holds"].tolist()[:3] == [True] * 3
    assert rows["decides"].tolist() == [True, False, False, False]
    # The author's own reading and what his file concludes stand beside the verdict.
    assert rows["beside"].astype(bool).tolist() == [False, True, False, True]
    assert "FALSIFIED" in rows["beside"].tolist()[3]
    store = changed(facts, "published_figure", gains(lambda rho: 0.815 + rho - 0.3 * rho**2))
    assert judge(store, 16) == "contradicted"
    rows = claims.checks(store, 16, CLAIMS)
    assert rows["holds"].tolist() == [False] * 4


def test_rho_beside_suites_is_least_squares_and_layers_read_off_are_whole(published_store):
    row = claims.checks(published_store, 16, CLAIMS).iloc[0]
    gains = evidence.base_gains(published_store, "gain_penultimate_block")
    models = evidence.without_post_norm(gains).astype({"n_layers": float, "rho": float})
    fitted = smf.ols("log_gain ~ rho + np.log(n_layers) + C(suite)", models).fit()
    assert fitted.params["rho"] < 0
    assert row["p_value"] == pytest.approx(fitted.pvalues["rho"] / 2)
    assert row["n_obs"] == len(models) == 22
    layers = by_layer.layers(published_store)
    by_model = layers.groupby("model_id")["layer"].agg(["min", "max", "count"])
    depths = layers.groupby("model_id")["n_layers"].first()
    assert (by_model["min"] == 0).all()
    assert (by_model["max"] + 1 == depths).all()
    assert (by_model["count"] == depths).all()


@pytest.mark.parametrize(("factor", "expected"), [(0.001, "reproduced"), (1000.0, "contradicted")])
def test_many_pairs_that_agree_decide(facts, factor, expected, changed, judge):
    """Eight suites of two depths in place of the published models."""

    def deeper(figures):
        is_norm = figures["metric"].isin(["weight_spectral_v", "weight_spectral_o"])
        norms = figures[is_norm & (figures["file"] == spectral.SUMMARY)]
        given = norms["mean"].where(norms["metric"] != "weight_spectral_v", 1.0)
        copies = [
            norms.assign(
                model_id=f"lab/{suite}-{depth}", mean=given * (factor if depth == 24 else 1.0)
            ).drop_duplicates(["model_id", "metric"])
            for suite in range(8)
            for depth in (12, 24)
        ]
        return pd.concat(copies)

    models = pd.read_csv(facts / "model.csv", keep_default_na=False)
    new = [
        models.iloc[[0]].assign(model_id=f"lab/{suite}-{depth}", suite=str(suite), n_layers=depth)
        for suite in range(8)
        for depth in (12, 24)
    ]
    pd.concat([models, *new]).to_csv(facts / "model.csv", index=False)
    assert judge(changed(facts, "published_figure", deeper), 59) == expected


def test_a_model_measured_on_two_prompt_sets_is_one_model(shipped_store, monkeypatch):
    measured = evidence.measured_gains

    def on_two_sets(store, metric):
        rows = measured(store, metric)
        renamed = {name: rows[name] + "-again" for name in ("run_id", "file")}
        again = rows.assign(prompt_set="B", **renamed)
        return pd.concat([rows, again], ignore_index=True)

    def ours(store):
        return [check for check in mechanism.discrimination(store) if OURS in check.evidence]

    once = ours(shipped_store)
    monkeypatch.setattr(evidence, "measured_gains", on_two_sets)
    assert [check.n_obs for check in once] == [12, 12]
    assert repr(ours(shipped_store)) == repr(once)  # NaN included
