"""The claims on weights: figures read off, ratios counted by hand, and verdicts that turn."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import evidence
from analysis.audit.evidence import OURS
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.weights import claims_by_layer as by_layer
from analysis.heritage.weights import claims_mechanism as mechanism
from analysis.heritage.weights import claims_over_depth as over_depth
from analysis.heritage.weights import claims_spectral as spectral

ROOT = Path(__file__).parents[4]
PUBLISHED = ROOT / "data/published"


def test_the_clusters_of_fig_3_are_those_of_one_axis(published_store, judge):
    rows = claims.checks(published_store, 32, CLAIMS).set_index("condition")
    value = rows.loc["|W_V|, the vertical axis"]
    assert value["estimate"] == pytest.approx(16.925121 / 8.954094, rel=1e-6)
    # One of C(7, 3) = 35 ways to choose EleutherAI's models is as extreme.
    assert value["p_value"] == pytest.approx(1 / 35)
    assert not rows.loc["|W_O|, the horizontal axis", "holds"]
    assert rows.loc["|W_V|, without the outlier, read from the right rows", "holds"] is None
    assert rows["note"].iloc[-1] == "Next comes gpt2 with 2.17."
    assert judge(published_store, 32) == "depends on the reading"


def test_the_layers_read_off_average_to_the_published_means(published_store):
    row = claims.checks(published_store, 33, CLAIMS).iloc[0]
    assert row["holds"]
    assert row["estimate"] < 0.005
    assert row["n_models"] == 6
    layers = by_layer.layers(published_store)
    by_model = layers.groupby("model_id")["layer"].agg(["min", "max", "count"])
    depths = layers.groupby("model_id")["n_layers"].first()
    assert (by_model["min"] == 0).all()
    assert (by_model["max"] + 1 == depths).all()
    assert (by_model["count"] == depths).all()


def test_three_of_six_lines_are_of_the_value_matrix(published_store, facts, changed, judge, check):
    row = check(published_store, 33, "all six models")
    assert (row["holds"], row["estimate"]) == (False, 0.5)
    assert judge(published_store, 33) == "depends on the reading"
    store = changed(facts, "digitised_point", lambda points: points.assign(caveats=""))
    assert judge(store, 33) == "reproduced"


def test_the_factor_of_300_is_that_of_one_lab(published_store, judge):
    rows = claims.checks(published_store, 34, CLAIMS).set_index("condition")
    # The last quarter: 3 layers of 12, 6 of 24.
    eleuther = np.mean([np.mean([1334, 1847, 1481]), np.mean([2277, 872, 1451, 3887, 2734, 3511])])
    meta = np.mean([np.mean([2.3, 2.9, 4.0]), np.mean([9.2, 8.6, 7.9, 8.6, 6.4, 7.9])])
    ratio = rows.loc["Meta alone, last quarter of the layers"]
    assert ratio["estimate"] == pytest.approx(eleuther / meta)
    assert ratio["holds"]
    assert rows.loc["all others, last quarter of the layers", "estimate"] < 60
    assert rows.loc["every late layer of every model", "estimate"] == pytest.approx(872 / 119)
    assert judge(published_store, 34) == "depends on the reading"


def test_two_suites_cannot_tell_whether_norms_fall_with_depth(published_store, judge, check):
    row = check(published_store, 59, "published |W_V|, pairs of one suite")
    # Pythia falls from 22.1 to 16.9, OPT rises from 1.6 to 2.8.
    assert row["note"] == "The norm falls with depth in 1 of 2 pairs."
    assert row["holds"] is None
    assert judge(published_store, 59) == "undecided"


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


def test_our_small_models_are_shown_and_not_counted(shipped_store):
    row = claims.checks(shipped_store, 59, CLAIMS).iloc[2]
    assert row["holds"] is None
    assert row["n_obs"] == 6
    assert "These are not the paper's models: shown, not counted." in row["note"]
    # Two families have LayerNorm, whose mean over features is free in this map as well.
    assert row["note"].endswith(over_depth.OF_MEAN)


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
