"""Questions as a person asks them who knows SQL and not this project, right at the first try.

What is expected is counted from the shipped files by other means, or by hand.
"""

import numpy as np
import pandas as pd
import pytest

from analysis.store import open_store
from tests.analysis.commands.conftest import ROOT
from tests.analysis.places import PUBLISHED

FIGURES = pd.read_csv(PUBLISHED / "published_figure.csv")
MODELS = pd.read_csv(PUBLISHED / "model.csv")


def _parquet(directory):
    return pd.concat(map(pd.read_parquet, sorted(directory.glob("*.parquet"))), ignore_index=True)


@pytest.fixture(scope="module")
def studied():
    return open_store(PUBLISHED, ROOT / "data" / "fleet")


def test_models_and_mean_gain_by_lab_count_each_model_once(shipped_store):
    result = shipped_store.query("SELECT lab, count(*) AS n FROM published_gain GROUP BY lab")
    gains = FIGURES[FIGURES["metric"].str.startswith("gain")]
    named = MODELS[MODELS["model_id"].isin(gains["model_id"])]
    assert result.set_index("lab")["n"].to_dict() == named["lab"].value_counts().to_dict()
    result = shipped_store.query(
        "SELECT lab, avg(gain_mean) AS gain, count(*) AS n FROM published_gain GROUP BY lab"
    ).set_index("lab")
    figures = FIGURES[FIGURES["metric"] == "gain_penultimate_block"].merge(MODELS, on="model_id")
    most = figures.sort_values("n").drop_duplicates("model_id", keep="last")
    expected = most[most["lab"] == "EleutherAI"]["mean"]
    assert result.loc["EleutherAI", "n"] == len(expected) == 12
    assert result.loc["EleutherAI", "gain"] == pytest.approx(expected.mean())


def test_length_by_layer_has_one_place_a_layer_and_attention_to_the_first_token(shipped_store):
    result = shipped_store.query(
        "SELECT s.layer, avg(norm) AS length FROM raw.stream s WHERE model_id = "
        "'thermoscope/gpt2-l4-adamw' GROUP BY layer ORDER BY layer"
    )
    sites = shipped_store.query(
        "SELECT layer, avg(norm) AS length FROM residual_norm WHERE site = 'block_output' "
        "AND model_id = 'thermoscope/gpt2-l4-adamw' GROUP BY layer ORDER BY layer"
    )
    assert result["layer"].tolist() == [-1, 0, 1, 2, 3]
    assert result["length"].tolist()[1:] == pytest.approx(sites["length"].tolist())
    result = shipped_store.query(
        "SELECT model_id, avg(sink_share) AS share FROM attention_layer GROUP BY model_id"
    )
    assert len(result) == 12
    column = (
        "SELECT model_id, avg(first_column / mass) AS share FROM raw.attention GROUP BY model_id"
    )
    by_hand = shipped_store.query(column).set_index("model_id")["share"]
    assert result.set_index("model_id")["share"].to_dict() == pytest.approx(by_hand.to_dict())


def test_growth_by_recipe(studied):
    result = studied.query(
        "SELECT recipe, avg(excess_growth) AS growth, count(*) AS n "
        "FROM trained_network GROUP BY recipe"
    ).set_index("recipe")
    raw = studied.query(
        "SELECT study_run_id, later_log_gain - equal_writes AS growth FROM study_response "
        "JOIN study_run USING (study_run_id) "
        "WHERE study = 'packages' AND step = n_steps AND tokens = 'without_first' "
        'AND recipe LIKE \'%"name": "bloom-%\''
    )
    assert result.loc["bloom", "n"] == len(raw) == 11
    assert result.loc["bloom", "growth"] == pytest.approx(raw["growth"].mean())
    assert result.loc["bloom", "growth"] == pytest.approx(-1.70, abs=5e-3)
    assert result["n"].sum() == 88
    result = studied.query(
        "SELECT recipe, count(*) AS n, count(DISTINCT (shape, seed)) AS n_alike "
        "FROM trained_network WHERE block = 'documented' GROUP BY recipe"
    )
    assert len(result) == 8
    assert set(result["n"]) == set(result["n_alike"]) == {8}


def test_verdicts_with_p(shipped_store):
    result = shipped_store.query(
        "SELECT claim_id, verdict, check_id, p_value, is_central FROM verdict"
    ).set_index("claim_id")
    committed = pd.read_csv(ROOT / "reports" / "claims.csv").set_index("claim_id")
    assert result["verdict"].tolist() == committed["verdict"].tolist()
    assert result["p_value"].tolist() == pytest.approx(committed["p_value"].tolist(), nan_ok=True)
    assert result["is_central"].sum() == 8
    missing = shipped_store.query("FROM verdict ANTI JOIN verdict_check USING (claim_id, check_id)")
    assert missing.empty


def test_a_start_token_turns_the_sign_of_a_real_model_over_all_tokens():
    public = ROOT / "data" / "public"
    sql = """
        SELECT special_tokens, gain_mean FROM raw.model_gain
          JOIN run USING (run_id, model_id, prompt_set) WHERE model_id LIKE '%qwen%0.5b%'
           AND metric = 'gain_whole_matrix' AND prompt_set = 'A_grand_unified'
    """
    result = open_store(public).query(sql).set_index("special_tokens")["gain_mean"]
    norms = _parquet(public / "residual_norm")
    runs = _parquet(public / "run")
    runs = runs[runs["prompt_set"] == "A_grand_unified"]
    rows = norms[norms["site"] == "block_output"].merge(
        runs[runs["model_id"].str.contains("qwen.*0.5b")][["run_id", "special_tokens"]], on="run_id"
    )
    rows["square"] = rows["norm"].astype(float) ** 2
    keys = ["special_tokens", "prompt_id"]
    lengths = np.sqrt(rows.pivot_table("square", keys, "layer", aggfunc="sum"))
    gains = lengths.iloc[:, -1] / lengths.iloc[:, -2]
    expected = gains.groupby("special_tokens").mean().to_dict()
    assert result.to_dict() == pytest.approx(expected)
    assert result["default"] < 1 < result["always"]


def test_a_chat_model_against_its_base_by_prompt(shipped_store):
    result = shipped_store.query(
        "SELECT c.model_id, count(*) AS n, avg(ln(c.value / b.value)) AS difference "
        "FROM raw_value AS c JOIN raw.model USING (model_id) JOIN raw_value AS b "
        "ON b.model_id = base_model_id AND (b.metric, b.statistic, b.file, b.prompt_id) = "
        "(c.metric, c.statistic, c.file, c.prompt_id) "
        "WHERE c.metric = 'gain_last_block' AND c.statistic = 'value' GROUP BY c.model_id",
    ).set_index("model_id")
    rows = pd.read_csv(PUBLISHED / "published_excerpt.csv")
    rows = rows[rows["file"].str.startswith("twin_test") & (rows["metric"] == "gain_last_block")]
    logs = np.log(rows.pivot_table("value", "prompt_id", "model_id"))
    expected = (logs["google/gemma-7b-it"] - logs["google/gemma-7b"]).mean()
    assert result["n"].tolist() == [25, 25]
    assert result.loc["google/gemma-7b-it", "difference"] == pytest.approx(expected)
