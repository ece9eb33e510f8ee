"""A stream that vanishes has no gain there, and none over blocks of which it is one."""

import math

import pandas as pd
import pytest

from analysis.store import open_store
from collect.record.writer import write_table

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


def test_a_ratio_to_a_matrix_of_nothing_is_no_number(tiny_copy):
    rows = without(tiny_copy, 0).query(
        "SELECT gain FROM matrix_gain_from(0) WHERE prompt_id = 'S:00' ORDER BY layer"
    )
    assert rows["gain"].isna().tolist() == [True, False, True, False]


def test_without_a_band_there_is_no_sign(tiny_store):
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
