"""Published quantities beside their invariant partners: signs, verdicts, the freedom used."""

import duckdb
import numpy as np
import pytest

from analysis.heritage.measured import gauge, partners
from analysis.store import open_store


@pytest.fixture(scope="module")
def store():
    return open_store("data/published", "data/sample", "data/fleet")


def test_the_same_weights_in_three_gauges_have_three_verdicts_and_one_centred_one(store):
    result = partners.verdicts_by_gauge(store).set_index("gauge")
    chosen = result.loc[["shrinking", "flat", "growing"]]
    assert chosen["sign_published"].tolist() == ["dampen", "neutral", "expand"]
    assert chosen["sign_centred"].nunique() == 1
    assert np.ptp(chosen["gain_centred"]) < 1e-9
    assert result["largest_logit_change"].max() < 1e-10


def test_the_primary_gain_is_centred_under_layer_norm_and_raw_under_rms_norm(store):
    result = partners.signs(store)
    is_layer_norm = result["norm_kind"] == "LayerNorm"
    assert is_layer_norm.sum() == 8
    assert len(result) == 12
    expected = result["gain_centred"].where(is_layer_norm, result["gain_published"])
    assert result["gain_primary"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)
    assert (result["sign_published"] == result["sign_centred"])[is_layer_norm].all()


def test_centred_gains_follow_from_the_centred_lengths_of_the_stream(store):
    rows = store.query(
        """
        SELECT s.run_id, s.prompt_id, s.layer, s.position, s.norm_centred, t.n_tokens
          FROM stream AS s JOIN next_token AS t USING (run_id, prompt_id)
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


def test_every_quantity_is_invariant_has_a_partner_or_is_named_a_convention(store):
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


def test_the_share_of_the_mean_is_of_squared_lengths_behind_the_first_token(store):
    one = "model_id = 'thermoscope/gpt2-l4-adamw' AND layer = 1"
    tokens = store.query(f"SELECT norm, norm_centred FROM stream WHERE {one} AND position > 0")
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
