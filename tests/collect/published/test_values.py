"""Nothing dropped, nothing changed, everything placed."""

import csv
import json
import math
import re

import duckdb
import pandas as pd
import pytest

from collect import published

SUMMARY = "restriction_map_summary_20260105_202448.csv"
PER_PROMPT = {
    "thermodynamic_benchmark_20260105_141034": 100,
    "gpt2_layernorm_validation_20260105_150306": 75,
    "gptj_parallel_test_20260105_152333": 25,
    "twin_test_results_20260105_160237": 150,
}


def count_leaves(node):
    """Count scalars without the importer's help."""
    if isinstance(node, dict):
        return sum(count_leaves(child) for child in node.values())
    if isinstance(node, list):
        return sum(count_leaves(child) for child in node)
    return 1


def raw(path):
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as handle:
            return list(csv.DictReader(handle))
    return json.loads(path.read_text(encoding="utf-8"))


def at(document, path):
    """Follow a path without the importer's help."""
    for word, quoted, index in re.findall(r"\.(\w+)|\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]", path):
        document = document[int(index) if index else word or quoted.replace("\\'", "'")]
    return document


def test_no_leaf_of_any_file_is_dropped(results, values):
    counted = {path.name: count_leaves(raw(path)) for path in results.iterdir()}
    assert len(counted) == 26
    assert values.groupby("file").size().to_dict() == counted
    assert sum(counted.values()) == 13_297


def test_every_path_leads_back_to_the_value(results, values):
    for file, rows in values.groupby("file"):
        document = raw(results / str(file))
        for path, value, text in zip(rows["path"], rows["value"], rows["text"], strict=True):
            assert says_the_same(at(document, path), value, text), (file, path)


def says_the_same(original, value, text):
    if original is None:
        return pd.isna(value) and pd.isna(text)
    if isinstance(original, bool):
        return bool(text == str(original).lower())
    if isinstance(original, str):
        return bool(text == original) or (pd.isna(text) and value == float(original))
    return pd.isna(text) and (value == original or (math.isnan(value) and math.isnan(original)))


def test_every_leaf_of_the_published_files_is_classified(values):
    assert values.loc[values["metric"] == "unclassified", "path"].tolist() == []


@pytest.mark.parametrize(("stem", "n_rows"), PER_PROMPT.items())
@pytest.mark.parametrize("suffix", [".json", ".csv"])
@pytest.mark.parametrize(
    "metric", ["gain_last_block", "total_amplification", "output_entropy", "top_probability"]
)
def test_per_prompt_rows_are_all_there_with_their_prompts(values, stem, n_rows, suffix, metric):
    chosen = values["file"].eq(stem + suffix) & values["metric"].eq(metric)
    rows = values[chosen & values["statistic"].eq("value")]
    assert len(rows) == n_rows
    assert rows["value"].notna().all()
    assert set(rows.groupby("model_id").size()) == {25}
    expected = [f"A_grand_unified:{place:02d}" for place in range(25)]
    assert rows.groupby("model_id")["prompt_id"].apply(list).tolist() == [expected] * (n_rows // 25)


def test_nan_is_kept_apart_from_no_number(tmp_path, results):
    published.import_results(results, tmp_path)
    path = tmp_path / "published_value" / "results.parquet"
    counts = duckdb.sql(
        """
        SELECT count(*) FILTER (isnan(value)),
               count(*) FILTER (value IS NULL AND unit <> '-' AND text IS NOT NULL)
          FROM read_parquet($path)
        """,
        params={"path": str(path)},
    ).fetchall()
    spelt = sum(len(re.findall(r"\bNaN\b", file.read_text())) for file in results.glob("*.json"))
    assert counts == [(spelt, 0)]
    assert spelt == 54


def test_a_csv_repeats_the_values_of_its_json(values):
    per_prompt = values[values["statistic"].eq("value") & values["prompt_id"].notna()]
    for stem in PER_PROMPT:
        twins = [
            per_prompt[per_prompt["file"] == stem + suffix]
            .set_index(["model_id", "metric", "prompt_id"])["value"]
            .sort_index()
            for suffix in (".json", ".csv")
        ]
        assert twins[0].index.equals(twins[1].index)
        assert twins[0].tolist() == pytest.approx(twins[1].tolist(), rel=1e-12)
