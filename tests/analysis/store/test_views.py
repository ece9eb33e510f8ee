"""Gains, lengths and growth against numbers counted by hand from the norms in conftest.py."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.store import open_store
from analysis.tidy.defaults import BAND
from collect.record.writer import write_table

GAIN = "SELECT gain FROM raw.prompt_gain WHERE metric = '{}' ORDER BY prompt_id"
LENGTH = "SELECT {} FROM stream_length WHERE prompt_id = 'S:0{}' AND layer = 2"
BY_LENGTH = (
    "SELECT gain FROM length_gain WHERE prompt_id = 'S:00' AND layer = 1 AND reduction = '{}'"
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # The last token of S:00 has norms 2 (input), 4, 6, 3 and 9 after the final norm.
        # The only token of S:01 has norms 1 (input), 2, 1, 4 and 7 after the final norm.
        (GAIN.format("gain_last_block"), [3 / 6, 4 / 1]),
        (GAIN.format("gain_penultimate_block"), [6 / 4, 1 / 2]),
        (GAIN.format("gain_embedding"), [4 / 2, 2 / 1]),
        (GAIN.format("gain_with_final_norm"), [9 / 6, 7 / 1]),
        (GAIN.format("gain_geometric_mean"), [(3 / 2) ** (1 / 3), 4 ** (1 / 3)]),
        (GAIN.format("gain_body"), [(3 / 4) ** (1 / 2), (4 / 2) ** (1 / 2)]),
        (GAIN.format("gain_maximum"), [6 / 4, 4 / 1]),
        (GAIN.format("total_amplification"), [3 / 4, 4 / 2]),
        # Over both tokens: sqrt(8^2 + 3^2) after the last block, sqrt(8^2 + 6^2) = 10 before.
        (GAIN.format("gain_whole_matrix"), [math.sqrt(73) / 10, 4 / 1]),
        # sqrt(4^2 + 4^2) after block 0; looked up were 0.6 and 0.8, sqrt(0.36 + 0.64) = 1.
        (GAIN.format("gain_embedding_whole_matrix"), [math.sqrt(32), 2 / 0.5]),
        # Without the first token none is left of a prompt of one.
        (GAIN.format("gain_without_first"), [3 / 6]),
        ("SELECT gain FROM matrix_gain_from(1) WHERE layer > 0 ORDER BY layer", [6 / 4, 3 / 6]),
        ("SELECT DISTINCT prompt_id = 'S:00' FROM matrix_gain_from(1)", [True]),
        ("SELECT sum(log_gain) FROM block_gain GROUP BY prompt_id, position "
         "ORDER BY prompt_id, position", [math.log(8 / 1), math.log(3 / 2), math.log(4 / 1)]),
        # The two tokens have norms 8 and 3; a prompt of one token has no body.
        (LENGTH.format("last_token", 0), [3]),
        (LENGTH.format("whole_matrix", 0), [math.sqrt(73)]),
        (LENGTH.format("token_mean", 0), [5.5]),
        (LENGTH.format("body_median", 0), [3]),
        (LENGTH.format("largest", 0), [8]),
        (LENGTH.format("token_median", 0), [5.5]),
        (LENGTH.format("body_median IS NULL", 1), [True]),
        # Block 1 of S:00 takes the norms 4, 4 to 8, 6.
        (BY_LENGTH.format("last_token"), [6 / 4]),
        (BY_LENGTH.format("whole_matrix"), [10 / math.sqrt(32)]),
        (BY_LENGTH.format("token_mean"), [7 / 4]),
        (BY_LENGTH.format("body_median"), [6 / 4]),
        # Means of ratios over prompts: 1/2 and 4.
        ("UNPIVOT (SELECT gain_mean, gain_sd, gain_sd_population, log_gain_mean, log_gain_sd, "
         "n_prompts::DOUBLE AS n FROM raw.model_gain WHERE metric = 'gain_last_block') "
         "ON COLUMNS(*)",
         [4.5 / 2, 3.5 / math.sqrt(2), 3.5 / 2, math.log(2) / 2, math.log(8) / math.sqrt(2), 2]),
        # What has no sign is not called neutral.
        ("SELECT gain_sign(NULL, 0.01) IS NULL", [True]),
        ("SELECT gain_sign('NaN'::DOUBLE, 0.01) IS NULL", [True]),
        ("SELECT gain_sign('Infinity'::DOUBLE, 0.01) = 'expand'", [True]),
        ("SELECT gain_bound(10)", [1.2589254117941673]),
        ("SELECT head_density(32, 128)", [0.25]),
        ("SELECT DISTINCT log_parameters FROM gain_by_model", [3]),  # of 1,000 parameters
    ],
)  # fmt: skip
def test_a_number_is_that_counted_by_hand(tiny_store, query, expected):
    assert tiny_store.query(query).iloc[:, -1].tolist() == pytest.approx(expected, rel=1e-14)


def test_the_gain_of_a_last_token_is_that_of_its_block(shipped_store):
    of_block = """
        SELECT g.run_id, g.model_id, g.prompt_id, g.layer, g.gain, g.log_gain, g.log_gain_centred
          FROM block_gain AS g
          JOIN next_token AS t USING (run_id, model_id, prompt_id)
         WHERE t.n_tokens - 1 = g.position
    """
    both = (of_block, "SELECT * FROM last_token_gain")
    left = [shipped_store.query(f"{one} EXCEPT ALL {other}") for one, other in (both, both[::-1])]
    assert [len(rows) for rows in left] == [0, 0]
    assert shipped_store.query("SELECT count(*) AS n FROM last_token_gain")["n"].item() > 1000


def test_no_gain_is_made_from_a_block_that_is_missing_or_a_length_of_zero(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    norms = pd.read_parquet(path)
    at = (norms["layer"] == 1) & (norms["site"] == "block_output")
    is_first = norms["prompt_id"] == "S:00"
    norms.loc[at & ~is_first, ["norm", "norm_centred"]] = 0.0
    write_table("residual_norm", norms[~(at & is_first)], path)
    store = open_store(tiny_copy)
    for view in ("block_gain", "last_token_gain"):
        assert set(store.query(f"SELECT layer FROM {view}")["layer"]) == {0}, view


def test_a_special_token_is_no_body(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    write_table("residual_norm", pd.read_parquet(path).assign(is_special=True), path)
    store = open_store(tiny_copy)
    assert store.query("SELECT body_median FROM stream_length")["body_median"].isna().all()
    assert not store.query("SELECT is_body FROM token")["is_body"].any()


def test_the_gain_of_the_whole_matrix_is_that_of_its_length(tiny_store):
    columns = "run_id, model_id, prompt_id, layer, gain"
    lengths = tiny_store.query(
        f"SELECT {columns} FROM length_gain WHERE reduction = 'whole_matrix' ORDER BY ALL"
    )
    matrices = tiny_store.query(f"SELECT {columns} FROM matrix_gain ORDER BY ALL")
    assert len(matrices) > 3
    pd.testing.assert_frame_equal(matrices, lengths, check_exact=True)
    signs = tiny_store.query(
        "SELECT DISTINCT sign_strict FROM gain_by_model WHERE metric IN "
        "('gain_last_block', 'gain_body', 'gain_penultimate_block')"
    )
    assert set(signs["sign_strict"]) == {"expand", "neutral"}
    printed = tiny_store.query(
        "SELECT comment FROM duckdb_columns() WHERE (table_name, column_name) = "
        "('gain_by_model', 'sign_strict')"
    )["comment"].item()
    assert [sign for sign in ("dampen", "neutral", "expand") if sign not in printed] == []


def test_gains_within_the_band_are_neutral_and_others_keep_their_sign(tiny_store, shipped_store):
    rows = tiny_store.query(
        "SELECT gain_sign(x * rounding_band(), rounding_band()) AS sign, rounding_band() AS band "
        "FROM (VALUES (-2), (-1), (0), (1), (2)) t(x)"
    )
    assert set(rows["band"]) == {BAND}  # what Python calls the band
    assert rows["sign"].tolist() == ["dampen", "neutral", "neutral", "neutral", "expand"]
    rows = shipped_store.query("SELECT log_gain, sign_strict, sign_banded FROM gain_by_model")
    is_near = rows["log_gain"].abs() <= BAND
    assert 0 < is_near.sum() < len(rows)
    assert (rows["sign_banded"] == rows["sign_strict"].mask(is_near, "neutral")).all()
    assert (rows["sign_strict"] == "neutral").sum() < is_near.sum()


def test_the_published_density_ignores_the_width_of_the_heads(tiny_store, published_store):
    # Gemma 7B: 16 heads of 256 in a stream of 3072; the notebooks take 3072 // 16 = 192.
    row = tiny_store.query(
        "SELECT head_density_published(16, 3072) AS r, head_density(16, 256) AS c"
    )
    assert (row["r"].item(), row["c"].item()) == (16 / 192, 16 / 256)
    # A width that the heads do not divide is rounded down: 100 // 3 = 33.
    rounded = tiny_store.query("SELECT head_density_published(3, 100) AS r")
    assert rounded["r"].item() == 3 / 33
    rho = published_store.query(
        "SELECT DISTINCT rho FROM gain_by_model WHERE model_id = 'google/gemma-7b'"
    )
    assert rho["rho"].item() == 16 / 256
    densities = tiny_store.query("FROM density").iloc[0]
    assert densities[["rho", "rho_published", "rho_kv"]].tolist() == [1.0, 1.0, 0.5]


def test_every_view_and_metric_of_a_gain_is_described(tiny_store, shipped_store):
    views = tiny_store.query(
        "SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL"
    )
    macros = tiny_store.query(
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal AND comment IS NULL"
    )
    assert views["view_name"].tolist() == []
    assert macros["function_name"].tolist() == []
    missing = shipped_store.query(
        "SELECT DISTINCT metric FROM raw.prompt_gain ANTI JOIN gain_definition USING (metric)"
    )["metric"].tolist()
    printed = shipped_store.query(
        "SELECT comment FROM duckdb_views() WHERE view_name = 'gain_definition'"
    )["comment"].item()
    assert missing
    assert [metric for metric in missing if metric not in printed] == []
    rows = shipped_store.query(
        "SELECT metric, count(DISTINCT source) AS sources FROM gain_by_model GROUP BY metric"
    ).set_index("metric")["sources"]
    shared = ["gain_last_block", "gain_penultimate_block", "gain_with_final_norm", "gain_body"]
    assert rows[shared].tolist() == [2, 2, 2, 2]


def test_a_massive_token_is_named_with_its_blocks(tiny_copy):
    # Token 0 is 100 after blocks 0 and 1 where four others are 5, and 2 after the last block.
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    rows = pd.read_parquet(path)
    row = rows[(rows["prompt_id"] == "S:00") & (rows["site"] == "block_output")].iloc[0]
    made = pd.DataFrame([row] * 15).assign(
        layer=[layer for layer in (0, 1, 2) for _ in range(5)], position=[*range(5)] * 3, norm=5.0
    )
    massive = (made["position"] == 0) & (made["layer"] < 2)
    made["norm"] = made["norm"].mask(massive, 100.0 * (1 + made["layer"]))
    write_table("residual_norm", made, path)
    [token] = open_store(tiny_copy).query("FROM raw.outlier_token").to_dict("records")
    assert [token[c] for c in ("position", "first_layer", "last_layer", "largest_layer")] == [
        0,
        0,
        1,
        1,
    ]
    assert (token["n_layers_massive"], token["times_median"]) == (2, 40.0)


def test_the_excess_is_that_of_lengths_taken_from_the_stream(shipped_store):
    tokens = shipped_store.query(
        """
        SELECT g.*, m.n_layers, first.norm AS x0, last.norm AS xl, d.norm AS d0
          FROM token_growth AS g
          JOIN raw.model AS m USING (model_id)
          JOIN raw.stream AS first
            ON first.run_id = g.run_id AND first.model_id = g.model_id
           AND first.prompt_id = g.prompt_id AND first.position = g.position AND first.layer = 0
          JOIN raw.stream AS last
            ON last.run_id = g.run_id AND last.model_id = g.model_id
           AND last.prompt_id = g.prompt_id AND last.position = g.position
           AND last.layer = m.n_layers - 1
          JOIN residual_update AS d
            ON d.run_id = g.run_id AND d.model_id = g.model_id AND d.prompt_id = g.prompt_id
           AND d.position = g.position AND d.layer = 0 AND d.part = 'block'
         LIMIT 500
        """
    )
    tokens = tokens.astype(dict.fromkeys(("x0", "xl", "d0"), "float64"))
    growth = np.log(tokens["xl"] / tokens["x0"])
    writes = np.log(1 + (tokens["n_layers"] - 1) * (tokens["d0"] / tokens["x0"]) ** 2) / 2
    assert len(tokens) == 500
    assert tokens["later_log_gain"].to_numpy() == pytest.approx(growth.to_numpy(), abs=1e-6)
    assert tokens["excess"].to_numpy() == pytest.approx((growth - writes).to_numpy(), abs=1e-6)
    simple = growth - np.log(tokens["n_layers"]) / 2
    assert tokens["excess_simple"].to_numpy() == pytest.approx(simple.to_numpy(), abs=1e-6)


def test_growth_of_a_model_is_the_mean_over_prompts_of_the_last_or_of_body_tokens(shipped_store):
    # No token of the sample is special, so the body is all but the first.
    tokens = shipped_store.query(
        """
        SELECT g.*, position = t.n_tokens - 1 AS is_last
          FROM token_growth AS g
          JOIN next_token AS t USING (run_id, model_id, prompt_id)
         WHERE model_id = 'thermoscope/gpt2-l4-adamw' AND position > 0 AND t.n_special = 0
        """
    )
    last, body = tokens[tokens["is_last"]].mean(numeric_only=True), tokens.groupby("prompt_id")
    row = shipped_store.query(
        "FROM model_growth WHERE model_id = 'thermoscope/gpt2-l4-adamw'"
    ).iloc[0]
    assert row["n_prompts"] == len(body) == 25
    assert row["excess_body"] == pytest.approx(body["excess"].mean().mean(), abs=1e-9)
    assert row["excess_last"] == pytest.approx(last["excess"], abs=1e-9)
    for name in ("excess_simple", "later_log_gain", "equal_writes"):
        assert row[name] == pytest.approx(last[name], abs=1e-9), name


def test_a_write_shrinks_a_token_exactly_below_the_curve(shipped_store):
    result = shipped_store.query(
        """
        SELECT w.model_id, w.layer, w.share_shrinking,
               avg(CASE WHEN g.log_gain < 0 THEN 1 ELSE 0 END) AS share
          FROM block_write AS w
          JOIN block_gain AS g USING (run_id, model_id, layer)
          JOIN token AS t USING (run_id, model_id, prompt_id, position)
         WHERE w.part = 'block' AND t.is_body
         GROUP BY ALL
        """
    )
    assert len(result) > 50
    assert result["share_shrinking"].to_numpy() == pytest.approx(result["share"].to_numpy())


def test_writes_are_averaged_within_prompts_for_profiles_and_pooled_for_medians(shipped_store):
    one = "model_id = 'thermoscope/gpt2-l4-adamw' AND layer = 1 AND part = 'ffn'"
    tokens = shipped_store.query(f"FROM residual_update WHERE {one}").astype({"ratio": float})
    # No token of the sample is special, so the body is all but the first.
    body = tokens[tokens["position"] > 0].assign(log_ratio=lambda rows: np.log(rows["ratio"]))
    means = body.groupby("prompt_id")[["log_ratio", "cosine"]].mean()
    last = body.sort_values("position").groupby("prompt_id")[["log_ratio", "cosine"]].last()
    row = shipped_store.query(f"FROM update_profile WHERE {one}").iloc[0]
    for name in ("log_ratio", "cosine"):
        assert row[f"{name}_body"] == pytest.approx(means[name].mean(), abs=1e-6), name
        assert row[f"{name}_last"] == pytest.approx(last[name].mean(), abs=1e-6), name
    row = shipped_store.query(f"FROM block_write WHERE {one}").iloc[0]
    assert row["ratio"] == pytest.approx(body["ratio"].median(), rel=1e-6)
    assert row["cosine"] == pytest.approx(body["cosine"].median(), abs=1e-6)
    assert row["n_tokens"] == len(body)


def test_published_totals_and_profiles_are_gains_of_the_blocks_after_block_0(shipped_store):
    rows = shipped_store.query("FROM published_growth")
    assert not rows.duplicated(["model_id", "file"]).any()
    xl = rows[rows["model_id"] == "openai-community/gpt2-xl"].iloc[0]
    assert xl["n_blocks"] == 47
    assert xl["excess_simple"] == pytest.approx(np.log(37.543584 / np.sqrt(48)), abs=1e-6)
    small = rows[rows["model_id"] == "EleutherAI/pythia-70m"].iloc[0]
    assert small["n_blocks"] == 4
    assert small["equal_writes"] == pytest.approx(np.log(5) / 2)
    gains = shipped_store.query(
        "SELECT metric, gain_mean FROM published_gain_by_file "
        "WHERE (model_id, metric) IN (('openai-community/gpt2-xl', 'gain_body'), "
        "('EleutherAI/pythia-70m', 'gain_maximum'))"
    ).set_index("metric")["gain_mean"]
    # 48 blocks; the printed profile is 12.0, 1.28, 1.40, 1.07, 1.20.
    assert gains["gain_body"] ** 47 == pytest.approx(37.543584, rel=1e-6)
    assert gains["gain_maximum"] == pytest.approx(1.402681, rel=1e-6)
    grown = shipped_store.query("SELECT equal_writes(3, 2.0, 2.0) AS log_gain")["log_gain"].item()
    assert np.exp(grown) == pytest.approx(2)


#: Gains that go over several blocks, and the layers they go over in a model of three.
OVER = ("gain_geometric_mean", "gain_body", "gain_maximum", "total_amplification")


def without(directory, layer):
    """Return a store whose stream of S:00 is zero after a block, or enters the first as zero."""
    path = directory / "residual_norm" / "test--tiny@S.parquet"
    norms = pd.read_parquet(path)
    site = "block_input" if layer == -1 else "block_output"
    at = (norms["prompt_id"] == "S:00") & (norms["site"] == site)
    norms.loc[at & (norms["layer"] == max(layer, 0)), ["norm", "norm_centred"]] = 0.0
    write_table("residual_norm", norms, path)
    return open_store(directory)


@pytest.mark.parametrize("view", ["raw.prompt_gain", "prompt_gain_centred"])
@pytest.mark.parametrize(("layer", "kept"), [(-1, OVER[1:]), (0, ()), (1, ()), (2, ())])
def test_there_is_no_gain_over_blocks_of_which_one_has_none(tiny_copy, view, layer, kept):
    store = without(tiny_copy, layer)
    rows = store.query(
        f"SELECT prompt_id, metric FROM {view} WHERE list_contains($over, metric)", over=list(OVER)
    )
    result = rows.groupby("prompt_id")["metric"].apply(set)
    assert result["S:01"] == set(OVER)
    assert result.get("S:00", set()) == set(kept)


def test_growth_is_of_tokens_whose_stream_never_vanishes(tiny_copy):
    path = tiny_copy / "residual_update" / "test--tiny@S.parquet"
    updates = pd.read_parquet(path)
    whole = updates[updates["part"] == "ffn"].assign(part="block", input_norm=math.nan)
    write_table("residual_update", pd.concat([updates, whole]), path)
    asked = "SELECT DISTINCT prompt_id FROM token_growth ORDER BY 1"
    assert open_store(tiny_copy).query(asked)["prompt_id"].tolist() == ["S:00", "S:01"]
    assert without(tiny_copy, 2).query(asked)["prompt_id"].tolist() == ["S:01"]


def test_a_ratio_to_a_matrix_of_nothing_is_no_number_and_no_band_gives_no_sign(
    tiny_copy, tiny_store
):
    rows = without(tiny_copy, 0).query(
        "SELECT gain FROM matrix_gain_from(0) WHERE prompt_id = 'S:00' ORDER BY layer"
    )
    assert rows["gain"].isna().tolist() == [True, False, True, False]
    rows = tiny_store.query("SELECT gain_sign(x, NULL) AS sign FROM (VALUES (-1.0), (1.0)) t(x)")
    assert rows["sign"].isna().all()


def test_a_prompt_without_a_legacy_value_is_not_counted(tiny_copy):
    path = tiny_copy / "residual_norm" / "test--tiny@S.parquet"
    of_prompts = pd.read_parquet(path)[["run_id", "model_id", "prompt_id"]].drop_duplicates()
    rows = of_prompts.assign(layer=0, metric="legacy_graph_lambda_2", value=[0.5, math.nan])
    (tiny_copy / "legacy_value").mkdir(exist_ok=True)
    write_table("legacy_value", rows, tiny_copy / "legacy_value" / "test--tiny@S.parquet")
    result = open_store(tiny_copy).query("FROM depth_profile WHERE metric LIKE 'legacy%'")
    assert result[["value", "n_prompts"]].to_numpy().tolist() == [[0.5, 1]]


def test_published_figures_of_two_prompt_sets_are_not_taken_for_one(made_store):
    model = {"model_id": "EleutherAI/pythia-70m", "file": "a.json"}
    sets = [("S", 2.0, 5), ("T", 4.0, 7)]
    figures = [
        {**model, "metric": "gain_penultimate_block", "prompt_set": name, "mean": 1.0, "n": n}
        for name, _, n in sets
    ]
    profiles = [
        {**model, "metric": "gain_block", "prompt_set": name, "layer": layer, "value": gain}
        for name, gain, _ in sets
        for layer in range(4)
    ]
    store = made_store(published_figure=figures, published_profile=profiles)
    largest = store.query(
        "SELECT prompt_set, gain_mean, n_prompts FROM published_gain_by_file "
        "WHERE metric = 'gain_maximum' ORDER BY ALL"
    )
    assert largest.to_numpy().tolist() == [["S", 2.0, 5], ["T", 4.0, 7]]
    growth = store.query("SELECT prompt_set, later_log_gain FROM published_growth ORDER BY ALL")
    assert growth["later_log_gain"].tolist() == pytest.approx([3 * math.log(2), 3 * math.log(4)])
