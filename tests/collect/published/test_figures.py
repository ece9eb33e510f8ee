"""Figures come from the raw files alone, and are the known ones."""

import json
import math
import statistics
from pathlib import Path

import duckdb
import pytest

from collect import published, schema
from collect.published import excerpt

SWEEP = "pythia_family_NO_FINAL_LN_20260105_174820.json"
SUMMARY = "restriction_map_summary_20260105_202448.csv"
FACTS = Path(__file__).resolve().parents[3] / "data" / "published"

#: Model, metric, start of the file name, and the figure to the decimals it is stated with.
KNOWN = """\
EleutherAI/pythia-70m gain_penultimate_block pythia_family 1.2011
EleutherAI/pythia-160m gain_penultimate_block pythia_family 1.1572
EleutherAI/pythia-410m gain_penultimate_block pythia_family 0.9781
EleutherAI/pythia-1b gain_penultimate_block pythia_family 1.2163
EleutherAI/pythia-1.4b gain_penultimate_block pythia_family 1.0047
EleutherAI/pythia-2.8b gain_penultimate_block pythia_family 0.9274
EleutherAI/pythia-6.9b gain_penultimate_block pythia_family 0.9941
EleutherAI/pythia-12b gain_penultimate_block pythia_family 0.9860
openai-community/gpt2-xl gain_last_block gpt2_layernorm 1.0191
openai-community/gpt2-large gain_last_block gpt2_layernorm 1.0144
openai-community/gpt2-medium gain_last_block gpt2_layernorm 1.1627
EleutherAI/pythia-6.9b gain_last_block thermodynamic 0.8047
google/gemma-7b gain_last_block thermodynamic 2.3144
mistralai/Mistral-7B-v0.1 gain_last_block thermodynamic 1.1053
meta-llama/Llama-3.1-8B gain_last_block thermodynamic 1.4845
EleutherAI/gpt-j-6b gain_last_block gptj_parallel 1.0652
meta-llama/Llama-3.1-8B gain_whole_matrix 4model 0.480
EleutherAI/pythia-6.9b gain_whole_matrix 4model 0.217
google/gemma-7b gain_whole_matrix 4model 2.853
mistralai/Mistral-7B-v0.1 gain_whole_matrix mistral 1.368
swiss-ai/Apertus-8B-2509 gain_whole_matrix 4model 2.645
EleutherAI/pythia-160m weight_spectral_v restriction_map_summary 22.147
EleutherAI/pythia-410m weight_spectral_v restriction_map_summary 16.925
bigscience/bloom-560m weight_spectral_v restriction_map_summary 3.779
EleutherAI/pythia-1.4b weight_spectral_v restriction_maps 10.89
facebook/opt-125m weight_spectral_v OPT_anomaly 1.6076
facebook/opt-350m weight_spectral_v restriction_map_summary 2.7515
openai-community/gpt2 weight_spectral_v OPT_anomaly 8.9541
EleutherAI/gpt-neo-125m weight_spectral_v restriction_map_summary 25.804
EleutherAI/pythia-160m weight_spectral_o restriction_map_summary 2.389
EleutherAI/pythia-410m weight_spectral_o restriction_map_summary 2.458
EleutherAI/gpt-neo-125m weight_spectral_o restriction_map_summary 70.081
facebook/opt-125m weight_spectral_o restriction_map_summary 2.017
facebook/opt-350m weight_spectral_o restriction_map_summary 3.426
bigscience/bloom-560m weight_spectral_o restriction_map_summary 2.559
openai-community/gpt2 weight_spectral_o restriction_map_summary 22.506
openai-community/gpt2 weight_frobenius_v OPT_anomaly 88.15
facebook/opt-125m weight_frobenius_v OPT_anomaly 15.95
openai-community/gpt2 trace_multi_head H4_v2_validation 62695.87
facebook/opt-125m trace_multi_head H4_v2_validation 2367.53
EleutherAI/pythia-160m trace_multi_head H4_v2_validation 18887.43
EleutherAI/pythia-410m trace_multi_head H4_v2_validation 11325.83
openai-community/gpt2 l_star_empirical H4_v2_validation 9
openai-community/gpt2 l_star_empirical l_star_sign_change 1.4"""


def test_the_committed_figures_come_from_the_raw_files_byte_for_byte(results, tmp_path):
    counts = published.write_figures(results, tmp_path)
    assert set(counts) == {"published_figure", "published_profile"}
    for table, n_rows in counts.items():
        content = (tmp_path / f"{table}.csv").read_bytes()
        assert content == (FACTS / f"{table}.csv").read_bytes()
        assert content.count(b"\n") == n_rows + 1
        assert b"\r" not in content


@pytest.mark.parametrize("table", ["published_figure", "published_profile", "model", "caveat"])
def test_the_committed_facts_satisfy_the_contract(table):
    from collect.record.writer import conforming

    path = FACTS / f"{table}.csv"
    rows = duckdb.sql(f"FROM read_csv('{path}', nullstr='', all_varchar=true)").df()
    if "caveats" in rows:
        rows = rows.fillna({"caveats": ""})
    assert list(rows.columns) == schema.arrow_schema(table).names
    assert conforming(table, rows).num_rows == len(rows) > 0


@pytest.mark.parametrize("line", KNOWN.split("\n"))
def test_a_figure_is_the_number_the_paper_s_files_are_known_for(line, facts):
    model, metric, file, stated = line.split()
    rows = facts("published_figure")
    chosen = rows[rows.model_id.eq(model) & rows.metric.eq(metric) & rows.file.str.startswith(file)]
    decimals = len(stated.partition(".")[2])
    assert [f"{mean:.{decimals}f}" for mean in chosen["mean"]] == [stated]


def test_standard_deviations_have_the_divisor_n_minus_one(results, facts):
    sweep = json.loads((results / SWEEP).read_text())["models"]
    rows = facts("published_figure").set_index(["model_id", "metric", "prompt_set"])
    for model in sweep:
        key = (f"EleutherAI/{model['model']}", "gain_penultimate_block", "B_pythia_sweep")
        gains = model["residual_gain_all"]
        assert float(rows.loc[key, "sd"]) == pytest.approx(statistics.stdev(gains), rel=1e-12)
        assert model["residual_gain_std"] == pytest.approx(statistics.pstdev(gains), rel=1e-9)
        with_norm = (key[0], "gain_with_final_norm", "B_pythia_sweep")
        converted = model["gain_with_ln_std"] * math.sqrt(25 / 24)
        assert float(rows.loc[with_norm, "sd"]) == pytest.approx(converted, rel=1e-12)
        assert rows.loc[with_norm, "n"] == 25


def test_the_committed_values_come_from_the_raw_files_byte_for_byte(results, tmp_path):
    (n_rows,) = published.write_excerpt(results, tmp_path).values()
    content = (tmp_path / f"{excerpt.TABLE}.csv").read_bytes()
    assert content == (FACTS / f"{excerpt.TABLE}.csv").read_bytes()
    assert content.count(b"\n") == n_rows + 1


def test_kept_are_whole_sets_of_prompts(facts):
    kept = facts(excerpt.TABLE)
    of_prompts = kept[kept["prompt_id"] != ""]
    sizes = of_prompts.groupby(["file", "metric", "model_id"])["prompt_id"].nunique()
    assert set(sizes) == {25}
    assert len(sizes) == 8 + 6 + 2 * (4 + 3 + 1)
