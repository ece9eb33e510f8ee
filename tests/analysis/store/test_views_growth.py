"""Growth beyond equal writes and the plane of writes, against sums by hand."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def store(shipped_store):
    return shipped_store


def test_the_excess_is_that_of_lengths_taken_from_the_stream(store):
    tokens = store.query(
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


def test_growth_of_a_model_is_the_mean_over_prompts_of_the_last_or_of_body_tokens(store):
    # No token of the sample is special, so the body is all but the first.
    tokens = store.query(
        """
        SELECT g.*, position = t.n_tokens - 1 AS is_last
          FROM token_growth AS g
          JOIN next_token AS t USING (run_id, model_id, prompt_id)
         WHERE model_id = 'thermoscope/gpt2-l4-adamw' AND position > 0 AND t.n_special = 0
        """
    )
    last, body = tokens[tokens["is_last"]].mean(numeric_only=True), tokens.groupby("prompt_id")
    row = store.query("FROM model_growth WHERE model_id = 'thermoscope/gpt2-l4-adamw'").iloc[0]
    assert row["n_prompts"] == len(body) == 25
    assert row["excess_body"] == pytest.approx(body["excess"].mean().mean(), abs=1e-9)
    assert row["excess_last"] == pytest.approx(last["excess"], abs=1e-9)
    for name in ("excess_simple", "later_log_gain", "equal_writes"):
        assert row[name] == pytest.approx(last[name], abs=1e-9), name


def test_a_write_shrinks_a_token_exactly_below_the_curve(store):
    result = store.query(
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


def test_writes_are_averaged_within_prompts_for_profiles_and_pooled_for_medians(store):
    one = "model_id = 'thermoscope/gpt2-l4-adamw' AND layer = 1 AND part = 'ffn'"
    tokens = store.query(f"FROM residual_update WHERE {one}").astype({"ratio": float})
    # No token of the sample is special, so the body is all but the first.
    body = tokens[tokens["position"] > 0].assign(log_ratio=lambda rows: np.log(rows["ratio"]))
    means = body.groupby("prompt_id")[["log_ratio", "cosine"]].mean()
    last = body.sort_values("position").groupby("prompt_id")[["log_ratio", "cosine"]].last()
    row = store.query(f"FROM update_profile WHERE {one}").iloc[0]
    for name in ("log_ratio", "cosine"):
        assert row[f"{name}_body"] == pytest.approx(means[name].mean(), abs=1e-6), name
        assert row[f"{name}_last"] == pytest.approx(last[name].mean(), abs=1e-6), name
    row = store.query(f"FROM block_write WHERE {one}").iloc[0]
    assert row["ratio"] == pytest.approx(body["ratio"].median(), rel=1e-6)
    assert row["cosine"] == pytest.approx(body["cosine"].median(), abs=1e-6)
    assert row["n_tokens"] == len(body)


def test_three_equal_writes_after_block_0_double_the_length(store):
    grown = store.query("SELECT equal_writes(3, 2.0, 2.0) AS log_gain")["log_gain"].item()
    assert np.exp(grown) == pytest.approx(2)


def test_published_totals_and_profiles_give_one_row_a_file(store):
    rows = store.query("FROM published_growth")
    assert not rows.duplicated(["model_id", "file"]).any()
    xl = rows[rows["model_id"] == "openai-community/gpt2-xl"].iloc[0]
    assert xl["n_blocks"] == 47
    assert xl["excess_simple"] == pytest.approx(np.log(37.543584 / np.sqrt(48)), abs=1e-6)
    small = rows[rows["model_id"] == "EleutherAI/pythia-70m"].iloc[0]
    assert small["n_blocks"] == 4
    assert small["equal_writes"] == pytest.approx(np.log(5) / 2)


def test_published_totals_and_profiles_are_gains_of_the_blocks_after_block_0(store):
    gains = store.query(
        "SELECT metric, gain_mean FROM published_gain_by_file "
        "WHERE (model_id, metric) IN (('openai-community/gpt2-xl', 'gain_body'), "
        "('EleutherAI/pythia-70m', 'gain_maximum'))"
    ).set_index("metric")["gain_mean"]
    # 48 blocks; the printed profile is 12.0, 1.28, 1.40, 1.07, 1.20.
    assert gains["gain_body"] ** 47 == pytest.approx(37.543584, rel=1e-6)
    assert gains["gain_maximum"] == pytest.approx(1.402681, rel=1e-6)
