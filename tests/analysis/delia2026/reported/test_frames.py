"""Real models by lab, the spread over prompts, conventions, and the hierarchy again."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.delia2026.reported import (
    again,
    charts,
    conventions,
    every_model,
    models,
    predictions,
    words,
)
from analysis.store import open_store
from tests.analysis.places import ROOT


@pytest.fixture(scope="module")
def store():
    return open_store(*(ROOT / "data" / name for name in ("published", "public", "reported")))


def test_every_model_has_a_row_for_each_source(store):
    rows = every_model.every_model(store)
    assert not rows.duplicated(["source", "file", "model_id"]).any()
    reported = rows[rows["source"] == "reported"]
    assert reported["model_id"].nunique() == 22
    assert reported.groupby("file").size().to_dict() == {
        "llama_scope": 2,
        "logos_in_layers": 10,
        "riskaverse": 4,
        "social_intuition": 9,
        "what_lights_up": 1,
    }
    assert rows.loc[rows["is_without_last"], "suite"].tolist() == ["Qwen3.6", "Qwen3.6"]
    google = rows[(rows["lab"] == "Google") & (rows["gain"] < 1)]
    assert (google["suite"] == "Gemma 4").all()
    assert len(google) == 3
    assert "thermoscope" not in set(rows["lab"])


def test_the_band_of_one_prompt_is_the_spread_over_prompts_of_other_models(store):
    spread = every_model.prompt_spread(store)
    band = every_model.prompt_band(spread).set_index("metric")["estimate"]
    for metric, estimate in band.items():
        of_models = spread.loc[spread["metric"] == metric, "estimate"]
        assert estimate == pytest.approx(float(np.sqrt((of_models**2).mean())))
    rows = every_model.every_model(store)
    single = rows[rows["n_prompts"].eq(1).fillna(False)]
    reach = np.exp(every_model.REACH * band["gain_body"])
    assert (single["conf_high"] / single["gain"]).astype(float).to_numpy() == pytest.approx(reach)
    assert rows.loc[~rows.index.isin(single.index), "conf_low"].isna().all()
    by_prompt = store.query(
        """
        SELECT ln(gain_body) AS log_gain FROM prompt_gain
         WHERE model_id LIKE 'local/SmolLM2%' AND prompt_set = 'A_grand_unified'
        """
    )
    ours = spread[spread["model_id"].str.contains("SmolLM2") & (spread["metric"] == "gain_body")]
    assert ours["estimate"].item() == pytest.approx(by_prompt["log_gain"].std())


def test_sources_agree_best_where_no_block_is_moved(store):
    table = conventions.best(conventions.shipped(store))
    assert len(table) == 7
    assert (table["best"] == 0).all()
    lengths = store.query("FROM reported_norm")
    is_one = lengths["source_id"] == "logos_in_layers"
    moved = lengths.assign(layer=lengths["layer"] + is_one.astype(int))
    table = conventions.best(conventions.agreement(moved))
    named = table["first"].str.startswith("logos") | table["second"].str.startswith("logos")
    assert (table.loc[named, "best"] != 0).all()
    assert named.sum() == 4


def test_agreement_is_spearmans_of_the_blocks_that_both_have(store):
    pair = conventions.agreement(store.query("FROM reported_norm")).query("shift == 1").iloc[0]
    lengths = store.query("FROM reported_block WHERE layer > 0")
    names = [it.split(": ") for it in (pair["first"], pair["second"])]
    logs = [
        lengths[(lengths["source_id"] == source) & (lengths["model_id"] == model)]
        .groupby("layer")["log_gain"]
        .mean()
        for source, model in names
    ]
    both = pd.DataFrame({"x": logs[0], "y": logs[1].shift(1)}).dropna()
    assert pair["estimate"] == pytest.approx(stats.spearmanr(both["x"], both["y"]).statistic)


def test_a_model_of_the_papers_files_is_within_its_prompts(store):
    rows = conventions.beside_paper(store)
    of_last = rows[(rows["pooling"] == models.AS_PUBLISHED) & (rows["metric"] == "gain_last_block")]
    distance = np.log(of_last["estimate"] / of_last["published"]).abs()
    assert (distance < 2 * of_last["log_sd"]).all()
    body = rows[(rows["metric"] == "gain_body") & (rows["pooling"] != "mean_of_lengths")]
    assert (np.log(body["estimate"] / body["published"]).abs() < 0.01).all()


def test_a_body_gain_hardly_tells_whether_blocks_were_counted_alike(store):
    lengths = store.query(
        """
        SELECT layer, norm FROM reported_norm
         WHERE source_id = 'logos_in_layers' AND model_id = 'mistralai/Mistral-7B-v0.1'
        """
    ).set_index("layer")["norm"]
    ours, moved = (
        float(lengths[last] / lengths[last - 31]) ** (1 / 31) for last in (31, 30)
    )  # blocks 1 to 31, and 0 to 30
    rows = conventions.beside_paper(store).query("metric == 'gain_body'").set_index("model_id")
    theirs = rows.loc["mistralai/Mistral-7B-v0.1", "published"]
    assert rows.loc["mistralai/Mistral-7B-v0.1", "estimate"] == pytest.approx(ours)
    assert abs(ours - theirs) < abs(moved - theirs) < 0.01


def test_the_hierarchy_on_the_papers_models_is_that_of_its_own_page(store):
    joint = models.joint(store)
    assert joint["source"].value_counts().to_dict() == {"published": 22, "reported": 9}
    table = again.coefficients(joint)
    first = table[(table["models"] == again.PAPER_ALONE) & (table["block"] == "geometry")]
    row = first.set_index("term").loc["depth"]
    # By lme4 and Kenward and Roger on the hierarchy's page: -.094 per doubling [-.143, -.046].
    assert row["estimate"] == pytest.approx(-0.094, abs=5e-4)
    assert row["conf_low"] == pytest.approx(-0.143, abs=1e-3)
    signs = again.signs(joint).set_index("models")
    dampens, ours = joint["log_gain"] < 0, joint["heritage"] == 1
    assert signs.loc[again.WITH_REPORTED, "p_value"] == pytest.approx(
        stats.fisher_exact(pd.crosstab(ours, dampens).to_numpy()).pvalue
    )
    left = table[table["level"] != ""]
    assert {*left["level"]} == {*joint["lab"]}
    assert left.groupby("level")["n_models"].first().to_dict() == {
        lab: 31 - n for lab, n in joint["lab"].value_counts().items()
    }
    shares = again.shares(joint).query("term == 'alone'")
    scale = shares[(shares["block"] == "scale") & (shares["models"] == again.WITH_REPORTED)]
    assert scale["share"].item() == pytest.approx(joint["size"].corr(joint["log_gain"]) ** 2)


def test_the_power_of_no_difference_is_the_size_of_the_test(store, monkeypatch):
    monkeypatch.setattr(again, "SIMULATIONS", 200)
    table = again.power(models.joint(store))
    assert table.groupby("models")["n_labs"].first().to_dict() == {
        again.PAPER_ALONE: 5,
        again.WITH_REPORTED: 10,
    }
    none = table[table["true_value"] == 0]
    assert (none["conf_low"] < 0.05).all()
    assert (none["conf_high"] > 0.03).all()
    for _, some in table.groupby("models"):
        assert some["power"].is_monotonic_increasing  # effects go down from 0


def test_words_and_the_figure_say_what_the_frames_hold(store):
    rows = every_model.every_model(store)
    assert "of the others, Gemma 4, the sign depends on how" in words.finding(rows)
    assert words.finding(rows).startswith("31 of 34 ")
    grown = rows.assign(gain=rows["gain"].clip(lower=1.01))
    assert words.finding(grown) == "34 of 34 real models lengthen their vectors."
    other = rows.assign(suite=rows["suite"].replace("Gemma 4", "Pythia"))
    assert words.finding(other).endswith("Pythia shortens them.")
    assert words.lengthening(rows, "Google") == "Gemma, Gemma 2 and Gemma 3"
    low = rows.assign(gain=rows["gain"].mask(rows["model_id"] == "google/gemma-2-9b", 0.9))
    assert words.lengthening(low, "Google") == "Gemma and Gemma 3"
    by = words.counts(rows).set_index("by")["n"].astype(int)
    also = words.counts(rows)["also"].iloc[:3].astype(int).sum()
    assert by.iloc[:3].tolist() == [22, 4, 11]
    assert by[words.EVERY] == by.iloc[:3].sum() - also == 34
    assert "are not shown to be related. Their rank correlation is −" in words.depth(rows)
    assert "25 models" in words.depth(rows)
    assert words.front(store) == {"lengthen": "31 of 34", "rest": "3", "suites": "Gemma 4"}
    spec = charts.chart_every_model(rows).to_dict()
    text = json.dumps(spec)
    assert words.finding(rows)[:20] in text
    table = words.sources(store).set_index("n_models")
    assert (table.loc[9, "licence"], table.loc[10, "licence"]) == ("none stated", "MIT")
    by_tokens = words.by_tokens(store, "Qwen/Qwen3-14B")
    assert [by_tokens.count(it) for it in ("1.14 by", "1.04 by", "0.91 by")] == [1, 1, 1]
    outcomes = predictions.outcomes(store)
    scores = words.scores(outcomes)
    assert scores["law"].is_unique
    n = [
        int(it.split(" of ")[1]) for it in scores[["paper", "ours"]].to_numpy().ravel() if it != "–"
    ]
    assert sum(n) == int((~outcomes["seen"]).sum())
    assert len(words.predictions(outcomes)) == outcomes["prediction"].nunique()
    fits = again.coefficients(models.joint(store))
    assert len(words.coefficients(fits)) == 6
    assert words.found(fits.assign(p_value=0.5)).startswith(
        "Fitted singly, with both sets of models, p is below .05 for no coefficient; fitted "
    )
    assert "the lab" not in words.found(fits.assign(estimate=1.0))
    assert words.found(fits.assign(estimate=1.0)).endswith("sign of no coefficient.")
    intervals = pd.DataFrame(
        {"models": "all", "term": "alone", "conf_low": [0, 1, 4], "conf_high": [2, 3, 5]}
    )
    assert words.overlapping(intervals) == "1 of 3"
