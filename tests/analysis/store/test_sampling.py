"""Notes where rows of one model, or unlike prompt sets, are compared as if they were models."""

import pytest

from analysis.store import open_store
from analysis.store.caution import cautions
from tests.analysis.store.by_pandas import SOURCES, runs

GEMMA = "local/gemma-3-270m-q4_k_m"
SETS = "SELECT prompt_set, avg(gain_penultimate_block) FROM prompt_gain GROUP BY prompt_set"
AS_MODELS = """
SELECT lab, avg(length), stddev(length)/sqrt(count(*)) FROM stream JOIN model USING (model_id) \
WHERE is_last_token GROUP BY lab
SELECT corr(ln(n_parameters), ln(length)) FROM stream JOIN model USING (model_id)
SELECT corr(n_layers, length) FROM stream s, model m WHERE s.model_id = m.model_id AND layer = 0
SELECT conf_low(gain_body) FROM prompt_gain WHERE starts_with(model_id, 'local/')
SELECT avg(length) FROM stream WHERE model_id LIKE 'thermoscope/%'
SELECT layer, avg(gain) FROM block GROUP BY layer
SELECT lab, median(v_spectral) FROM head_weight JOIN model USING (model_id) GROUP BY lab
SELECT lab, avg(entropy) FROM attention JOIN model USING (model_id) GROUP BY ALL
SELECT avg(times_median) FROM outlier_token
SELECT spearman(n_layers, v_spectral) FROM layer_weight JOIN model USING (model_id)
SELECT split_part(model_id, '/', 1), avg(gain_body) FROM prompt_gain GROUP BY 1
WITH s AS (SELECT lab AS l, gain_body AS g FROM prompt_gain JOIN model USING (model_id)) \
SELECT l, avg(g) FROM s GROUP BY l
""".strip().split("\n")
CELLS = """
SELECT quantity, count(*) FROM coverage WHERE NOT is_there GROUP BY quantity
SELECT quantity, count(DISTINCT model_id) FROM coverage WHERE is_there = false GROUP BY quantity
SELECT quantity, count(DISTINCT model_id) FILTER (NOT is_there) FROM coverage GROUP BY quantity
""".strip().split("\n")
QUIET = f"""
SELECT model_id, avg(length) FROM stream GROUP BY model_id
SELECT s.model_id AS m, avg(length) FROM stream s JOIN model USING (model_id) GROUP BY m
SELECT replace(model_id, 'local/', ''), avg(gain_body) FROM prompt_gain GROUP BY 1
SELECT avg(length) FROM stream WHERE model_id LIKE '%gemma%'
SELECT avg(length) FROM stream JOIN model m USING (model_id) WHERE m.model_id = '{GEMMA}'
SELECT prompt_set, avg(gain_body) FROM prompt_gain WHERE model_id = '{GEMMA}' GROUP BY prompt_set
SELECT avg(gain_body) FROM (FROM prompt_gain WHERE model_id = '{GEMMA}')
SELECT prompt_id, avg(gain_body) FROM prompt_gain GROUP BY prompt_id
SELECT layer, avg(v_spectral) FROM layer_weight GROUP BY layer
SELECT prompt_id, avg(gain) FROM block WHERE blocks_after = 0 GROUP BY ALL
SELECT count(*) FROM stream WHERE position = 0
SELECT max(length) FROM stream
SELECT lab, count(DISTINCT model_id) FROM stream JOIN model USING (model_id) GROUP BY lab
WITH per AS (SELECT model_id, avg(length) AS l FROM stream GROUP BY model_id) \
SELECT lab, avg(l), stddev(l) FROM per JOIN model USING (model_id) GROUP BY lab
SELECT m.model_id, (SELECT avg(length) FROM stream s WHERE s.model_id = m.model_id) FROM model m
SELECT lab, avg(gain_body) FROM model_gain GROUP BY lab
SELECT prompt_set, count(DISTINCT model_id) FROM prompt_gain GROUP BY prompt_set
SELECT quantity, count(DISTINCT model_id) FROM coverage WHERE NOT is_on_any_set GROUP BY quantity
SELECT quantity, count(*) FROM coverage WHERE is_there GROUP BY quantity
SELECT prompt_set, quantity, count(*) FROM coverage WHERE NOT is_there GROUP BY ALL
""".strip().split("\n")


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


@pytest.mark.parametrize("query", AS_MODELS)
def test_a_mean_over_several_rows_of_a_model_is_noted(store, query):
    store.columns(query)
    (note,) = cautions(store, query)
    assert "independent" in note
    assert "model_id" in note


def test_prompt_sets_of_different_models_are_named_with_their_number_of_models(store):
    _, note = cautions(store, SETS)
    for name, models in runs("prompts").groupby("prompt_set")["model_id"]:
        assert f"{name} {models.nunique()}" in note


@pytest.mark.parametrize("query", CELLS)
def test_a_count_of_what_is_missing_on_one_set_is_noted(store, query):
    store.columns(query)
    (note,) = cautions(store, query)
    assert "NOT is_on_any_set" in note


@pytest.mark.parametrize("query", QUIET)
def test_no_note_where_a_row_is_a_model_or_of_one_model(store, query):
    store.columns(query)
    assert cautions(store, query) == []
