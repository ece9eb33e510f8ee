"""Updates, attention, weights, traces and geometry against rows counted by hand in conftest.py."""

import math

import pandas as pd
import pytest

from analysis.store import open_store
from collect.record.writer import write_table

#: Entropy of a row [1/4, 3/4], in either order.
QUARTER = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)


def first(store, query):
    return store.query(query).iloc[0]


EXPANSION = "FROM expansion WHERE prompt_id = 'S:00' AND layer = 0 AND part = '{}'"
DEPTH = "SELECT value FROM depth_profile WHERE layer = 0 AND metric = '{}'"
#: One head's V of a layer, all of whose maps look back by a quarter and by three quarters.
TRACES = {
    # Off the diagonal, head 0 has 0.25, head 1 has 0.75, their mean has 0.5.
    "trace_folded": (0.25 + 0.75) * 20**2,
    "trace_normalised": (0.25 + 0.75) * 20**2 / ((2 - 1) * 2),
    "trace_multi_head": (0.25 + 0.75) * 10**2,
    "trace_equation_4": 0.0,
    "trace_multi_head_contiguous": 0.25 * 1**2 + 0.75 * 3**2,
    "trace_first_head": 0.5 * 10**2,
    "trace_first_head_contiguous": 0.5 * 1**2,
    "trace_mean_map_contiguous": 0.5 * 4**2,
    "trace_equation_4_mean_map": 0.0,
    "trace_spectral_proxy": 8**2,
    "trace_spectral_proxy_contiguous": 3**2,
    "attention_factor": 1.0,
    "weight_factor": 2 * 10**2,
    "weight_factor_folded": 2 * 20**2,
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # S:00 ends at position 1 (ratio 1/2, cosine 1/2), S:01 at position 0 (1/4 and -1/2); only
        # S:00 has a body, its position 1.
        ("FROM update_profile WHERE part = 'attention' AND layer = 1",
         {"log_ratio_last": (math.log(0.5) + math.log(0.25)) / 2, "cosine_last": 0.0,
          "log_ratio_body": math.log(0.5), "cosine_body": 0.5, "n_prompts": 2}),
        # The stream has norms 1 and 2; attention adds 1/4 and 1/2 of it, ffn all; read are 2, 4.
        (EXPANSION.format("attention"), {"expansion": (0.25 + 1) / (2 + 4)}),
        (EXPANSION.format("ffn"), {"expansion": 3 / (2 + 4)}),
        # S:00: (1 + 2) / (2 + 4) and (0.25 + 1) / (2 + 4); S:01: 1 / 2 and 0.25 / 2.
        (DEPTH.format("gain_sublayer_ffn"), {"value": (1 / 2 + 1 / 2) / 2}),
        (DEPTH.format("gain_sublayer_attention"), {"value": (1.25 / 6 + 1 / 8) / 2}),
        # The averaged map of S:00 looks half a token back; one token looks nowhere.
        (DEPTH.format("locality"), {"value": 1 - 0.5 / 2}),
        # The averaged map over n = 2 holds 1/2, 0, 1/4, 1/4 as one distribution. Mean over the
        # heads: first column 1.5 of mass 2, diagonal 1.5, distance 0.5; one of four entries lies
        # above the diagonal, (n - 1) / 2n.
        ("FROM attention_layer WHERE prompt_id = 'S:00' AND layer = 0",
         {"row_entropy": QUARTER / 2, "relative_entropy": QUARTER / 2 / math.log(2),
          "first_head_entropy": QUARTER / 2, "mean_map_entropy": math.log(2) / 2,
          "flat_map_entropy": -0.5 * math.log(0.5) - 0.5 * math.log(0.25),
          "sink_share": 0.75, "off_diagonal": 0.5, "sink_share_off_diagonal": 1.0,
          "distance": 0.25, "locality": 0.75, "sparsity": 0.25}),
        # A prompt of one token has no off-diagonal.
        ("FROM attention_layer WHERE prompt_id = 'S:01' AND layer = 0",
         dict.fromkeys(["relative_entropy", "off_diagonal", "sink_share_off_diagonal", "locality"],
                       math.nan) | {"sink_share": 1.0}),
        ("FROM attention_profile WHERE layer = 0",
         {"off_diagonal": 0.5, "sink_share": (0.75 + 1.0) / 2}),
        # 1.5 of 2 tokens, 1 of 1 token.
        ("FROM geometry_profile WHERE layer = 2",
         {"mean_cosine": 0.5, "mean_cosine_body": 0.25, "effective_rank": 1.25,
          "relative_rank": 0.875, "prompt_cosine": -0.5, "prompt_uniformity": -4.0,
          "prompt_rank": 2.0, "n_prompts": 2}),
        ("FROM layer_trace WHERE prompt_id = 'S:00' AND layer = 0", TRACES),
        # S:00 has 400 (l + 1)^2, S:01 of one token has nothing off the diagonal.
        *((f"FROM trace_profile WHERE metric = 'trace_folded' AND layer = {layer}",
           {"trace": 200.0 * (layer + 1) ** 2, "n_prompts": 2}) for layer in range(3)),
        *((f"FROM head_norm WHERE matrix = 'V' AND slicing = 'correct' OFFSET {place}",
           {"stable_rank": (10 / 8) ** 2}) for place in range(6)),
    ],
)  # fmt: skip
def test_a_row_is_that_counted_by_hand(tiny_store, query, expected):
    row = first(tiny_store, query)[list(expected)].astype(float).to_dict()
    assert row == pytest.approx(expected, rel=1e-14, abs=1e-15, nan_ok=True)


def test_a_massive_activation_is_ten_times_the_median_of_its_prompt(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    norms = pd.read_parquet(path)
    at = (norms["prompt_id"] == "S:00") & (norms["layer"] == 1) & (norms["site"] == "block_output")
    third = norms[at & (norms["position"] == 1)].assign(position=2)
    norms.loc[at & (norms["position"] == 0), ["norm", "top_share"]] = [60.0, 0.9]
    write_table("residual_norm", pd.concat([norms, third]), path)
    assert open_store(tiny_copy).query("FROM massive_activation").empty

    norms.loc[at & (norms["position"] == 0), "norm"] = 60.1
    write_table("residual_norm", pd.concat([norms, third]), path)
    row = open_store(tiny_copy).query("FROM massive_activation").iloc[0]
    # The median of 60.1, 6 and 6 is 6.
    assert row[["prompt_id", "layer", "position"]].tolist() == ["S:00", 1, 0]
    assert row["times_median"] == pytest.approx(60.1 / 6)
    assert row["top_share"] == pytest.approx(0.9)


def test_a_shared_value_matrix_is_counted_once_and_every_trace_has_a_profile(tiny_store):
    rows = tiny_store.query("FROM head_norm WHERE layer = 0 ORDER BY matrix, is_folded, head")
    counted = rows.groupby(["matrix", "is_folded", "slicing"])["n_sharing"].agg(list).to_dict()
    assert counted == {
        ("O", False, "correct"): [1, 1],
        ("OV", True, "correct"): [1, 1],
        ("V", False, "contiguous"): [1, 1],
        ("V", False, "correct"): [2],
        ("V", True, "correct"): [2],
    }
    profiles = set(tiny_store.query("SELECT DISTINCT metric FROM trace_profile")["metric"])
    columns = tiny_store.query("FROM layer_trace LIMIT 0").columns
    assert profiles == {name for name in columns if name.startswith("trace_")}
    rows = tiny_store.query("FROM token ORDER BY prompt_id, position")
    assert rows["is_last"].tolist() == [False, True, True]
    assert rows["is_body"].tolist() == [False, True, False]


def test_a_layer_is_summarised_by_the_median_over_its_heads(tiny_copy):
    path = tiny_copy / "weight_norm" / "test--tiny.parquet"
    weights = pd.read_parquet(path)
    third = weights.query("matrix == 'OV' and head == 0").assign(head=2)
    third[["sigma_max", "frobenius"]] = 1.0
    write_table("weight_norm", pd.concat([weights, third]), path)
    row = first(open_store(tiny_copy), "FROM layer_head WHERE matrix = 'OV' AND layer = 1")
    # At layer 0 sigma_max is 10 and 4, |.|_F 10 and 5; layer 1 has twice that, the third head 1.
    assert row["sigma_max"] == 8
    assert row["sigma_max_largest"] == 20
    assert row["frobenius"] == 10
    assert row["stable_rank"] == 1
    assert row["n_matrices"] == 3


def test_without_some_weights_a_trace_reads_its_own_or_is_null(tiny_copy):
    path = tiny_copy / "weight_norm" / "test--tiny.parquet"
    weights = pd.read_parquet(path)
    weights.loc[weights["head"] == 1, "frobenius"] *= 3
    write_table("weight_norm", weights[weights["slicing"] == "correct"], path)
    traces = open_store(tiny_copy).query("FROM layer_trace ORDER BY prompt_id, layer")
    row = traces.iloc[0]
    assert row["trace_multi_head"] == 0.25 * 10**2 + 0.75 * 30**2
    assert row["trace_first_head"] == 0.5 * 10**2
    assert row["trace_multi_head_contiguous"] == row["trace_multi_head"]
    assert row["trace_first_head_contiguous"] == row["trace_first_head"]
    half = weights["is_folded"] & (weights["matrix"] == "V") & (weights["head"] == 1)
    write_table("weight_norm", weights[~half], path)
    rows = open_store(tiny_copy).query("FROM layer_trace")
    assert rows["trace_folded"].isna().all()
    assert rows["weight_factor_folded"].isna().all()
    assert rows["trace_multi_head"].notna().all()


def test_tokens_can_span_no_more_than_the_width(tiny_copy):
    path = tiny_copy / "token_geometry" / "test--tiny@S.parquet"
    write_table("token_geometry", pd.read_parquet(path).assign(n_tokens=8), path)
    path = tiny_copy / "prompt_geometry" / "test--tiny@S.parquet"
    across = pd.read_parquet(path)
    final = across.assign(site="final_norm", mean_cosine=0.9)
    write_table("prompt_geometry", pd.concat([across, final]), path)
    rows = open_store(tiny_copy).query("FROM geometry_profile WHERE layer = 2")
    assert rows["relative_rank"].tolist() == [(1.5 / 4 + 1 / 4) / 2]  # d_model is 4
    assert rows["prompt_cosine"].tolist() == [-0.5]


def test_a_map_whose_rows_do_not_sum_to_one_is_averaged_over_what_there_is(tiny_copy):
    path = tiny_copy / "attention_mean" / "test--tiny@S.parquet"
    # [[1, 0], [1/4, 1/4]]: the second token leaves half of its attention to a sink outside.
    sums = {"mass": 1.5, "diagonal": 1.25, "distance": 0.25, "entropy": 0.5 * math.log(4)}
    maps = pd.read_parquet(path).query("prompt_id == 'S:00'").assign(**sums)
    write_table("attention_mean", maps, path)
    path = tiny_copy / "attention" / "test--tiny@S.parquet"
    heads = pd.read_parquet(path).query("prompt_id == 'S:00'")
    heads = heads.assign(**sums, first_column=1.25)
    # Another head with another entropy, which is not that of head 0.
    heads.loc[heads["head"] == 1, "entropy"] = 2.0
    write_table("attention", heads, path)
    store = open_store(tiny_copy)
    row = first(store, "FROM attention_layer WHERE prompt_id = 'S:00'")
    # Over n = 2 it holds 1/2, 0, 1/8 and 1/8.
    flat = -0.5 * math.log(1 / 2) - 2 / 8 * math.log(1 / 8)
    assert row["flat_map_entropy"] == pytest.approx(flat)
    assert row["locality"] == pytest.approx(1 - 0.25 / 1.5)
    assert row["sink_share"] == pytest.approx(1.25 / 1.5)
    assert row["off_diagonal"] == pytest.approx(1.5 - 1.25)
    assert row["distance"] == pytest.approx(0.25 / 1.5)
    assert row["first_head_entropy"] == pytest.approx(0.5 * math.log(4) / 2)
    traces = store.query("FROM layer_trace WHERE prompt_id = 'S:00' AND layer = 0")
    assert traces["trace_equation_4_mean_map"].item() == (2 - 1.5) * 4**2


@pytest.fixture
def mirrored(tiny_copy):
    """Return the tiny model as one with LayerNorm whose centred gains are 1 over the raw ones."""
    norms = pd.read_parquet(path := tiny_copy / "residual_norm" / "test--tiny@S.parquet")
    write_table("residual_norm", norms.assign(norm_centred=0.25 / norms["norm"]), path)
    model = pd.read_parquet(path := tiny_copy / "model" / "test--tiny.parquet")
    write_table("model", model.assign(norm_kind="LayerNorm", norm_position="pre"), path)
    return open_store(tiny_copy)


def test_under_layer_norm_the_sign_is_that_of_the_centred_gain(mirrored):
    row = mirrored.query("FROM primary_sign WHERE metric = 'gain_last_block'").iloc[0]
    # The raw gains of the last block are 1/2 and 4, so the centred ones are 2 and 1/4.
    signs = row[["sign_published", "sign_centred", "sign_primary"]].tolist()
    assert signs == ["expand", "dampen", "dampen"]
    gains = row[["gain_published", "gain_centred", "gain_primary"]].tolist()
    assert gains == pytest.approx([math.sqrt(2), math.sqrt(1 / 2), math.sqrt(1 / 2)])
    assert row["gain_mean_primary"] == pytest.approx((2 + 1 / 4) / 2)
    assert row["gain_sd_primary"] == pytest.approx((2 - 1 / 4) / math.sqrt(2))
