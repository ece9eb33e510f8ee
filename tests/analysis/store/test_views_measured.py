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


def test_the_body_is_every_token_but_the_first_and_special_ones(tiny_store):
    rows = tiny_store.query("FROM token ORDER BY prompt_id, position")
    assert rows["is_last"].tolist() == [False, True, True]
    assert rows["is_body"].tolist() == [False, True, False]


def test_an_update_is_averaged_within_prompts_and_then_over_them(tiny_store):
    row = first(tiny_store, "FROM update_profile WHERE part = 'attention' AND layer = 1")
    # S:00 ends at position 1 (ratio 1/2, cosine 1/2), S:01 at position 0 (1/4 and -1/2).
    assert row["log_ratio_last"] == pytest.approx((math.log(0.5) + math.log(0.25)) / 2)
    assert row["cosine_last"] == pytest.approx(0.0)
    # Only S:00 has a body, its position 1.
    assert row["log_ratio_body"] == pytest.approx(math.log(0.5))
    assert row["cosine_body"] == pytest.approx(0.5)
    assert row["n_prompts"] == 2


def test_expansion_is_a_ratio_of_means_over_tokens(tiny_store):
    rows = tiny_store.query(
        "FROM expansion WHERE prompt_id = 'S:00' AND layer = 0 ORDER BY part"
    ).set_index("part")["expansion"]
    # The stream has norms 1 and 2; attention adds 1/4 and 1/2 of it, ffn all; they read 2 and 4.
    assert rows.to_dict() == pytest.approx({"attention": (0.25 + 1) / (2 + 4), "ffn": 3 / (2 + 4)})


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


def test_each_definition_of_attention_entropy(tiny_store):
    row = first(tiny_store, "FROM attention_layer WHERE prompt_id = 'S:00' AND layer = 0")
    assert row["row_entropy"] == pytest.approx(QUARTER / 2)
    assert row["relative_entropy"] == pytest.approx(QUARTER / 2 / math.log(2))
    assert row["first_head_entropy"] == pytest.approx(QUARTER / 2)
    assert row["mean_map_entropy"] == pytest.approx(math.log(2) / 2)
    # The averaged map over n = 2 holds 1/2, 0, 1/4, 1/4 as one distribution.
    flat = -0.5 * math.log(0.5) - 0.5 * math.log(0.25)
    assert row["flat_map_entropy"] == pytest.approx(flat)


def test_where_attention_goes(tiny_store):
    row = first(tiny_store, "FROM attention_layer WHERE prompt_id = 'S:00' AND layer = 0")
    # Mean over the heads: first column 1.5 of mass 2, diagonal 1.5, distance 0.5.
    assert row["sink_share"] == 0.75
    assert row["off_diagonal"] == 0.5
    assert row["sink_share_off_diagonal"] == 1.0
    assert row["distance"] == 0.25
    assert row["locality"] == 0.75
    # One of four entries lies above the diagonal: (n - 1) / 2n.
    assert row["sparsity"] == 0.25


def test_a_prompt_of_one_token_has_no_off_diagonal_and_no_relative_entropy(tiny_store):
    row = first(tiny_store, "FROM attention_layer WHERE prompt_id = 'S:01' AND layer = 0")
    undefined = ["relative_entropy", "off_diagonal", "sink_share_off_diagonal", "locality"]
    assert row[undefined].isna().all()
    assert row["sink_share"] == 1.0
    profile = first(tiny_store, "FROM attention_profile WHERE layer = 0")
    assert profile["off_diagonal"] == 0.5
    assert profile["sink_share"] == (0.75 + 1.0) / 2


def test_a_shared_value_matrix_is_counted_once(tiny_store):
    rows = tiny_store.query("FROM head_norm WHERE layer = 0 ORDER BY matrix, is_folded, head")
    counted = rows.groupby(["matrix", "is_folded", "slicing"])["n_sharing"].agg(list).to_dict()
    assert counted == {
        ("O", False, "correct"): [1, 1],
        ("OV", True, "correct"): [1, 1],
        ("V", False, "contiguous"): [1, 1],
        ("V", False, "correct"): [2],
        ("V", True, "correct"): [2],
    }


def test_the_stable_rank_is_the_squared_ratio_of_the_norms(tiny_store):
    rows = tiny_store.query("FROM head_norm WHERE matrix = 'V' AND slicing = 'correct'")
    assert rows["stable_rank"].tolist() == [(10 / 8) ** 2] * 6


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


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        # Off the diagonal, head 0 has 0.25, head 1 has 0.75, their mean has 0.5.
        ("trace_folded", (0.25 + 0.75) * 20**2),
        ("trace_normalised", (0.25 + 0.75) * 20**2 / ((2 - 1) * 2)),
        ("trace_multi_head", (0.25 + 0.75) * 10**2),
        ("trace_equation_4", 0.0),
        ("trace_multi_head_contiguous", 0.25 * 1**2 + 0.75 * 3**2),
        ("trace_first_head", 0.5 * 10**2),
        ("trace_first_head_contiguous", 0.5 * 1**2),
        ("trace_mean_map_contiguous", 0.5 * 4**2),
        ("trace_equation_4_mean_map", 0.0),
        ("trace_spectral_proxy", 8**2),
        ("trace_spectral_proxy_contiguous", 3**2),
        ("attention_factor", 1.0),
        ("weight_factor", 2 * 10**2),
        ("weight_factor_folded", 2 * 20**2),
    ],
)
def test_every_definition_of_the_trace(tiny_store, definition, expected):
    row = first(tiny_store, "FROM layer_trace WHERE prompt_id = 'S:00' AND layer = 0")
    assert row[definition] == pytest.approx(expected, rel=1e-14)


def test_a_trace_grows_with_the_square_of_the_weights(tiny_store):
    rows = tiny_store.query("FROM trace_profile WHERE metric = 'trace_folded' ORDER BY layer")
    # S:00 has 400 (l + 1)^2, S:01 of one token has nothing off the diagonal.
    assert rows["trace"].tolist() == [200.0, 800.0, 1800.0]
    assert rows["n_prompts"].tolist() == [2, 2, 2]


def test_every_trace_has_a_profile(tiny_store):
    profiles = set(tiny_store.query("SELECT DISTINCT metric FROM trace_profile")["metric"])
    columns = tiny_store.query("FROM layer_trace LIMIT 0").columns
    assert profiles == {name for name in columns if name.startswith("trace_")}


def test_a_model_without_contiguous_rows_reads_its_own_v(tiny_copy):
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


def test_without_a_gain_to_fold_the_primary_trace_is_null(tiny_copy):
    path = tiny_copy / "weight_norm" / "test--tiny.parquet"
    weights = pd.read_parquet(path)
    half = weights["is_folded"] & (weights["matrix"] == "V") & (weights["head"] == 1)
    write_table("weight_norm", weights[~half], path)
    rows = open_store(tiny_copy).query("FROM layer_trace")
    assert rows["trace_folded"].isna().all()
    assert rows["weight_factor_folded"].isna().all()
    assert rows["trace_multi_head"].notna().all()


def test_geometry_is_averaged_over_the_prompts_that_have_it(tiny_store):
    row = first(tiny_store, "FROM geometry_profile WHERE layer = 2")
    assert row["mean_cosine"] == 0.5
    assert row["mean_cosine_body"] == 0.25
    assert row["effective_rank"] == 1.25
    # 1.5 of 2 tokens, 1 of 1 token.
    assert row["relative_rank"] == 0.875
    assert row[["prompt_cosine", "prompt_uniformity", "prompt_rank"]].tolist() == [-0.5, -4.0, 2.0]
    assert row["n_prompts"] == 2


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


def test_a_profile_is_the_mean_over_prompts_of_locality_and_of_expansions(tiny_store):
    rows = tiny_store.query("FROM depth_profile WHERE layer = 0").set_index("metric")
    # S:00: (1 + 2) / (2 + 4) and (0.25 + 1) / (2 + 4); S:01: 1 / 2 and 0.25 / 2.
    assert rows.loc["gain_sublayer_ffn", "value"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert rows.loc["gain_sublayer_attention", "value"] == pytest.approx((1.25 / 6 + 1 / 8) / 2)
    # The averaged map of S:00 looks half a token back; one token looks nowhere.
    assert rows.loc["locality", "value"] == pytest.approx(1 - 0.5 / 2)
    assert rows.loc["gain_sublayer_ffn", "n_prompts"] == 2
