"""Measured quantities: their signs, their invariant partners, and one network in four gauges."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.delia2026.measured import gauge, partners
from analysis.delia2026.measured import gauge as questions
from analysis.delia2026.measured.signs import MINIMUM_PROMPTS, signs
from analysis.store import open_store
from analysis.tidy.errors import AnalysisError
from tests.analysis.places import PUBLISHED


@pytest.fixture(scope="module")
def store():
    return open_store("data/published", "data/sample", "data/fleet")


def test_gauges_have_their_names_shapes_verdicts_and_one_centred_profile(store, shipped_store):
    result = partners.verdicts_by_gauge(store).set_index("gauge")
    chosen = result.loc[["shrinking", "flat", "growing"]]
    assert chosen["sign_published"].tolist() == ["dampen", "neutral", "expand"]
    assert len(set(chosen["sign_centred"])) == 1
    assert np.ptp(chosen["gain_centred"]) < 1e-9
    assert result["largest_logit_change"].max() < 1e-10
    layers = questions.profiles(shipped_store)
    gains = layers.dropna().pivot_table("log_gain", "layer", "gauge")
    assert (gains["shrinking"] < -0.1).all()
    assert gains["flat"].abs().max() < 1e-9
    assert (gains["growing"] > 0.1).all()
    centred = layers.dropna().pivot_table("log_gain_centred", "layer", "gauge")
    assert np.ptp(centred.to_numpy(), axis=1).max() < 1e-9
    assert layers["largest_logit_change"].max() < 1e-10


def test_centred_gains_follow_from_the_centred_lengths_of_the_stream(store):
    rows = store.query(
        """
        SELECT s.run_id, s.prompt_id, s.layer, s.position, s.norm_centred, t.n_tokens
          FROM raw.stream AS s JOIN next_token AS t USING (run_id, prompt_id)
         WHERE s.model_id = 'thermoscope/gpt2-l4-adamw'
        """
    )
    last = rows[rows["position"] == rows["n_tokens"] - 1].pivot_table(
        "norm_centred", "prompt_id", "layer"
    )
    whole = rows.assign(square=rows["norm_centred"] ** 2).pivot_table(
        "square", "prompt_id", "layer", aggfunc="sum"
    )
    others = rows[rows["position"] > 0].assign(square=rows["norm_centred"] ** 2)
    others = others.pivot_table("square", "prompt_id", "layer", aggfunc="sum")
    expected = {
        "gain_last_block": np.log(last[3] / last[2]),
        "gain_penultimate_block": np.log(last[2] / last[1]),
        "gain_embedding": np.log(last[0] / last[-1]),
        "gain_body": np.log(last[3] / last[0]) / 3,
        "gain_geometric_mean": np.log(last[3] / last[-1]) / 4,
        "total_amplification": np.log(last[3] / last[0]),
        "gain_maximum": np.log(last[[0, 1, 2, 3]]).diff(axis=1).max(axis=1),
        "gain_whole_matrix": np.log(whole[3] / whole[2]) / 2,
        "gain_without_first": np.log(others[3] / others[2]) / 2,
    }
    result = store.query(
        """
        SELECT * FROM primary_gain WHERE model_id = 'thermoscope/gpt2-l4-adamw'
        """
    ).pivot_table("log_gain_primary", "prompt_id", "metric")
    assert set(result.columns) == set(expected)
    for metric, values in expected.items():
        assert result[metric].to_numpy() == pytest.approx(values.to_numpy(), abs=1e-12), metric


def test_quantities_are_invariant_have_a_partner_or_are_conventions(store):
    result = store.query("FROM gauge_partner")
    assert set(result["standing"]) == {"invariant", "partner", "convention"}
    assert (result["partner"] == "convention").eq(result["standing"] == "convention").all()
    assert (result["moved_by"] == "").eq(result["standing"] == "invariant").all()
    assert partners.standings(store)["n_quantities"].sum() == len(result)
    read = result.set_index(["quantity", "norm_kind"])["partner"]
    assert read["gain_body", "LayerNorm"] == "gain_body_centred"
    assert read["gain_body", "RMSNorm"] == "gain_body"
    assert read["weight_spectral_ratio", "LayerNorm"] == "circuit_spectral"
    assert read["token_mean_cosine", "LayerNorm"] == "token_mean_cosine_centred"
    assert read["q_spectral", "RMSNorm"] == "convention"
    result = partners.signs(store)
    is_layer_norm = result["norm_kind"] == "LayerNorm"
    assert is_layer_norm.sum() == 8
    assert len(result) == 12
    expected = result["gain_centred"].where(is_layer_norm, result["gain_published"])
    assert result["gain_primary"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)
    assert (result["sign_published"] == result["sign_centred"])[is_layer_norm].all()


def test_the_share_of_the_mean_is_of_squared_lengths_behind_the_first_token(store):
    one = "model_id = 'thermoscope/gpt2-l4-adamw' AND layer = 1"
    tokens = store.query(f"SELECT norm, norm_centred FROM raw.stream WHERE {one} AND position > 0")
    shares = 1 - (tokens["norm_centred"] / tokens["norm"]).astype(float) ** 2
    row = store.query(f"FROM mean_share WHERE {one}").iloc[0]
    assert row["share"] == pytest.approx(shares.median(), rel=1e-6)
    assert row["share_upper"] == pytest.approx(shares.quantile(0.9), rel=1e-6)
    assert row["n_vectors"] == len(shares) > 100


def test_signs_and_freedom_in_practice_are_those_of_the_rows_as_stored(store):
    """From the lengths themselves, by no view: pairs that shrink are few, and most shares small."""
    raw = duckdb.sql(
        """
        WITH lengths AS (
            SELECT r.*, max(position) OVER (PARTITION BY run_id, prompt_id) AS last
              FROM 'data/sample/residual_norm/*.parquet' AS r
             WHERE (site = 'block_output' OR site = 'block_input' AND layer = 0)
               AND model_id NOT LIKE '%llama%')
        SELECT norm / lag(norm) OVER blocks AS gain,
               norm_centred / lag(norm_centred) OVER blocks AS gain_centred
          FROM lengths WHERE position = last
        WINDOW blocks AS (PARTITION BY run_id, prompt_id ORDER BY layer, site)
        """
    ).df()
    gains = raw.dropna()
    result = gauge.raw_against_centred(store).iloc[0]
    assert result["n_gains"] == len(gains) == 1200
    assert result["n_shrink"] == (gains["gain"] < 1).sum() == 48
    assert result["n_same_sign"] == ((gains["gain"] < 1) == (gains["gain_centred"] < 1)).sum()
    shares = gauge.largest_mean_share(store).set_index("place").loc["blocks"]
    assert shares["share"] == pytest.approx(0.000799, abs=1e-6)
    assert shares["share_upper"] == pytest.approx(0.002393, abs=1e-6)


def test_the_interval_is_students_and_a_band_can_hide_a_small_gain(shipped_store):
    rows = signs(shipped_store, "gain_last_block").set_index("model_id")
    model = "thermoscope/llama-l8-muon"
    gains = shipped_store.query(
        "SELECT log_gain FROM raw.prompt_gain "
        "WHERE metric = 'gain_last_block' AND model_id = $model",
        model=model,
    )["log_gain"]
    expected = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
    row = rows.loc[model]
    assert row["n_obs"] == 25
    assert (row["rendering"], row["special_tokens"]) == ("plain", "default")
    assert row[["conf_low", "conf_high"]].tolist() == pytest.approx([*expected], rel=1e-12)
    assert {"dampen", "expand", "not identified"} >= {*rows["sign"]}
    decided = rows["sign"] != "not identified"
    assert (np.sign(rows["conf_low"]) == np.sign(rows["conf_high"]))[decided].all()
    assert decided.any()
    rows = signs(shipped_store, "gain_body", band=0)
    expands = rows[rows["sign"] == "expand"].iloc[0]
    for band, sign in ((expands["estimate"] * 0.99, "expand"), (expands["estimate"], "not")):
        again = signs(shipped_store, "gain_body", band=band).set_index("model_id")
        assert again.loc[expands["model_id"], "sign"].startswith(sign)


def test_signs_are_of_enough_prompts_beyond_a_band_and_of_primary_runs(
    tiny_store, published_store, add_run
):
    # Gains of the last block are 3/6 and 4; block 0 doubles the last token of both prompts.
    row = signs(tiny_store, "gain_last_block").iloc[0]
    assert row["estimate"] == pytest.approx((np.log(0.5) + np.log(4)) / 2)
    assert row["n_obs"] == 2 < MINIMUM_PROMPTS
    row = signs(tiny_store, "gain_embedding").iloc[0]
    assert row[["conf_low", "conf_high"]].isna().all()
    assert row["sign"] == "not identified"
    with pytest.raises(AnalysisError, match="'gain_bdy'") as refusal:
        signs(tiny_store, "gain_bdy")
    assert "'gain_body'" in refusal.value.hint
    with pytest.raises(AnalysisError, match="'gain_body'"):
        signs(published_store, "gain_body")
    assert len(signs(open_store(add_run("chat", rendering="chat")), "gain_body")) == 1


@pytest.mark.parametrize("band", [-0.01, float("nan"), float("inf")])
def test_a_band_that_is_no_length_is_refused(tiny_store, band):
    with pytest.raises(AnalysisError, match="band"):
        signs(tiny_store, "gain_embedding", band=band)


def test_free_signs_count_the_norms_of_the_published_models(shipped_store):
    figures = pd.read_csv(PUBLISHED / "published_figure.csv")
    metrics = ("gain_last_block", "gain_penultimate_block")
    shown = figures.loc[figures["metric"].isin(metrics), "model_id"]
    models = pd.read_csv(PUBLISHED / "model.csv").set_index("model_id").loc[shown.unique()]
    layer_norm = models[models["norm_kind"] == "LayerNorm"]
    behind = layer_norm[layer_norm["norm_position"] == "post"]
    assert set(layer_norm["norm_position"]) == {"pre", "post"}
    # Its printed gain is of block 22 of 0 to 23, whose output a norm's bias shifts.
    assert list(behind.index) == ["facebook/opt-350m"]
    counted = questions.norm_kinds(shipped_store).iloc[0]
    assert counted[["n_free", "n_models", "n_behind"]].tolist() == [len(layer_norm), len(models), 1]


def test_numbers_of_blocks_turn_the_sign_of_every_gain_and_leave_logits_and_net_lengths(store):
    summary = gauge.scalar_summary(store).set_index("gauge")
    assert summary["n_shrink"].to_dict() == {"stored": 7, "level": 0, "folded": 0}
    assert summary["n_grow"].to_dict() == {"stored": 0, "level": 0, "folded": 7}
    assert summary["logit_change"].max() < 1e-13
    assert summary["logit_change_one_epsilon"].max() < 1e-5
    assert summary["logit_change_float32"].max() < 2e-5
    layers = gauge.profiles_of_scalars(store)
    net = layers.pivot_table("norm_net", "layer", "gauge")
    assert np.ptp(np.log(net), axis=1).max() < 1e-9
    gains = layers.dropna().pivot_table("log_gain", "layer", "gauge")
    numbers = layers.dropna().pivot_table("layer_scale", "layer", "gauge")
    assert numbers["folded"].to_numpy() == pytest.approx(1)
    assert (gains["stored"] - np.log(numbers["stored"])).to_numpy() == pytest.approx(
        gains["folded"].to_numpy()
    )
