"""Growth beyond equal writes and the plane of writes; a stream that vanishes has no gain there."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.store import open_store
from collect.record.writer import write_table


def test_the_excess_is_that_of_lengths_taken_from_the_stream(shipped_store):
    tokens = shipped_store.query(
        """
        SELECT g.*, m.n_layers, first.norm AS x0, last.norm AS xl, d.norm AS d0
          FROM token_growth AS g
          JOIN model AS m USING (model_id)
          JOIN stream AS first
            ON first.run_id = g.run_id AND first.model_id = g.model_id
           AND first.prompt_id = g.prompt_id AND first.position = g.position AND first.layer = 0
          JOIN stream AS last
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


@pytest.mark.parametrize("view", ["prompt_gain", "prompt_gain_centred"])
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
