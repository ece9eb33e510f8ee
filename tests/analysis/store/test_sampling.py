"""Notes where rows of one model, or unlike prompt sets, are compared as if they were models."""

import re

import pytest

from analysis.store import open_store
from analysis.store.notes import cautions
from collect import schema
from tests.analysis.places import ROOT
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import SOURCES, runs

GEMMA = "local/gemma-3-270m-q4_k_m"
SET = "prompt_set = 'A_grand_unified'"
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
SELECT model_id, avg(length) FROM stream WHERE {SET} AND layer = 3 GROUP BY model_id
SELECT s.model_id AS m, avg(ln(length)) FROM stream s JOIN model USING (model_id) \
WHERE {SET} GROUP BY m
SELECT replace(model_id, 'local/', ''), avg(gain_body) FROM prompt_gain WHERE {SET} GROUP BY 1
SELECT layer, avg(length) FROM stream WHERE model_id LIKE '%gemma%' AND {SET} GROUP BY layer
SELECT layer, avg(length) FILTER ({SET}) FROM stream WHERE model_id = '{GEMMA}' GROUP BY ALL
SELECT avg(top_share) FROM stream JOIN model m USING (model_id) \
WHERE m.model_id = '{GEMMA}' AND {SET}
SELECT prompt_set, avg(gain_body) FROM prompt_gain WHERE model_id = '{GEMMA}' GROUP BY prompt_set
SELECT avg(gain_body) FROM (FROM prompt_gain WHERE model_id = '{GEMMA}' AND {SET})
SELECT prompt_id, avg(gain_body) FROM prompt_gain WHERE starts_with(model_id, 'local/') GROUP BY ALL
SELECT layer, avg(v_spectral / o_spectral) FROM layer_weight \
WHERE starts_with(model_id, 'local/') GROUP BY layer
SELECT avg(gain) FROM block WHERE model_id = 'thermoscope/gpt2-l4-muon' AND blocks_after = 0
SELECT is_trained_here, prompt_id, avg(gain) FROM block JOIN model USING (model_id) \
WHERE blocks_after = 0 GROUP BY ALL
SELECT count(*) FROM stream WHERE position = 0
SELECT max(length) FROM stream
SELECT lab, count(DISTINCT model_id) FROM stream JOIN model USING (model_id) \
WHERE NOT is_trained_here GROUP BY lab
WITH per AS (SELECT model_id, avg(length) AS l FROM stream \
WHERE {SET} AND layer = 0 GROUP BY model_id) \
SELECT is_trained_here, avg(l), stddev(l) FROM per JOIN model USING (model_id) GROUP BY ALL
SELECT model_id, (SELECT avg(length) FROM stream s WHERE s.model_id = m.model_id \
AND {SET} AND layer = 0) FROM model m
SELECT avg(gain_body), stddev(gain_body) FROM model_gain WHERE NOT is_trained_here
SELECT avg(gain_body) FROM model_gain WHERE lab = 'thermoscope'
SELECT is_trained_here, avg(gain_body) FROM model_gain GROUP BY ALL
SELECT avg(p.gain_last_block) FROM published_model p LEFT JOIN model_gain USING (model_id)
SELECT avg(n_layers) FROM model WHERE is_published
SELECT lab, avg(gain_last_block) FROM published_model WHERE lab = 'TII' GROUP BY lab
SELECT prompt_set, count(DISTINCT model_id) FROM prompt_gain GROUP BY prompt_set
SELECT model_id, avg(entropy) FROM attention WHERE model_id LIKE 'thermoscope/%' GROUP BY ALL
SELECT quantity, count(DISTINCT model_id) FROM coverage WHERE NOT is_on_any_set GROUP BY quantity
SELECT quantity, count(*) FROM coverage WHERE is_there GROUP BY quantity
SELECT prompt_set, quantity, count(*) FROM coverage WHERE NOT is_there GROUP BY ALL
SELECT corr(x.h, w.ov_spectral) FROM head_weight w \
JOIN (SELECT model_id, layer, head, avg(entropy) h FROM attention WHERE {SET} GROUP BY ALL) x \
USING (model_id, layer, head) WHERE model_id = '{GEMMA}'
SELECT model_id, avg(s.length / b.length_before) FROM stream s JOIN block b \
USING (model_id, prompt_id, layer) WHERE b.{SET} GROUP BY model_id
SELECT avg(m.gain_body) FROM model_gain m JOIN model USING (model_id) WHERE NOT m.is_trained_here
SELECT model_id, gain / avg(gain) OVER (PARTITION BY model_id) FROM block WHERE {SET}
""".strip().split("\n")
KINDS = f"""
SELECT avg(gain_body) FROM model_gain
SELECT spearman(n_layers, gain_body) FROM model_gain
SELECT corr(n_layers, n_parameters) FROM model WHERE is_measured
SELECT n_layers > 4, avg(gain_body) FROM model_gain GROUP BY ALL
SELECT prompt_id, avg(gain_body) FROM prompt_gain GROUP BY prompt_id
SELECT layer, avg(v_spectral) FROM layer_weight GROUP BY layer
SELECT prompt_id, avg(gain) FROM block WHERE blocks_after = 0 GROUP BY ALL
SELECT avg(l) FROM (SELECT model_id, avg(length) l FROM stream WHERE {SET} GROUP BY model_id)
SELECT avg(g) FROM (SELECT gain_body AS g FROM model_gain)
SELECT avg(m.gain_body) FROM model_gain m LEFT JOIN published_model p ON m.model_id = p.model_id
SELECT avg(gain_body) FILTER (n_layers < 99) FROM model_gain HAVING count(*) > 1
""".strip().split("\n")
POOLED = f"""
SELECT model_id, avg(length) FROM stream GROUP BY model_id
SELECT model_id, stddev(gain_body) FROM prompt_gain GROUP BY model_id
SELECT avg(gain_body) FROM (FROM prompt_gain WHERE model_id = '{GEMMA}')
SELECT layer, avg(length) FROM stream WHERE model_id = '{GEMMA}' AND is_last_token GROUP BY layer
SELECT m.model_id, (SELECT avg(length) FROM stream s WHERE s.model_id = m.model_id) FROM model m
SELECT position, count(*) FROM outlier_token GROUP BY position
SELECT model_id, avg(gain) FILTER (layer > 0) FROM block GROUP BY model_id
SELECT avg(g) FROM (SELECT model_id, prompt_set, avg(gain_body) g FROM prompt_gain GROUP BY ALL) \
WHERE model_id = '{GEMMA}'
""".strip().split("\n")
MAKERS = """
SELECT lab, count(*) FROM model WHERE is_measured GROUP BY lab
SELECT lab, avg(gain_body) FROM model_gain GROUP BY lab
SELECT lab AS l, avg(gain_body) FROM model_gain GROUP BY l
SELECT lab, avg(gain_body) FROM model_gain GROUP BY 1 ORDER BY 2 LIMIT 5
""".strip().split("\n")
SCALES = f"""
model_id and layer: SELECT avg(length) FROM stream
layer: SELECT model_id, avg(length) FILTER (position = 0) / avg(length) FROM stream GROUP BY ALL
layer: SELECT model_id, median(length_before) FROM block GROUP BY model_id
model_id: SELECT layer, avg(length) FROM stream WHERE {SET} GROUP BY layer
model_id: SELECT prompt_id, avg(length_after) FROM block WHERE blocks_after = 0 GROUP BY prompt_id
model_id: SELECT lab, avg(v_spectral) FROM head_weight JOIN model USING (model_id) GROUP BY lab
model_id: SELECT layer, head, avg(v_spectral) OVER (PARTITION BY layer) FROM head_weight
layer: PIVOT stream ON is_last_token IN (true, false) USING avg(length) GROUP BY model_id
""".strip().split("\n")
REPEATED = (
    f"""
head_weight: SELECT corr(w.ov_spectral, a.entropy) FROM head_weight w JOIN attention a \
USING (model_id, layer, head) WHERE model_id = '{GEMMA}'
head_weight: SELECT corr(ov_spectral, entropy) FROM head_weight JOIN attention \
USING (model_id, layer, head) WHERE model_id = '{GEMMA}'
model: SELECT avg(model.n_layers) FROM model, prompt_gain \
WHERE model.model_id = prompt_gain.model_id
layer_weight: SELECT model_id, sum(l.v_frobenius) FROM layer_weight l JOIN head_weight h \
USING (model_id, layer) GROUP BY model_id
layer_weight: SELECT layer, avg(l.v_spectral / l.o_spectral) OVER (PARTITION BY layer) \
FROM layer_weight l JOIN head_weight h USING (model_id, layer)
""".replace("\\\n", "")
    .strip()
    .split("\n")
)
ABSENT = (
    """
gain_penultimate_block: SELECT base_model_id IS NOT NULL, count(*), avg(gain_penultimate_block) \
FROM published_model GROUP BY 1
gain_last_block: SELECT lab, count(*) AS n, max(gain_last_block) FROM published_model GROUP BY lab
""".replace("\\\n", "")
    .strip()
    .split("\n")
)


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


def noted(store, query):
    """Return the notes of a query that was answered."""
    store.columns(query)
    return cautions(store, query)


@pytest.mark.parametrize("query", AS_MODELS)
def test_a_mean_over_several_rows_of_a_model_is_noted(store, query):
    (note,) = [note for note in noted(store, query) if "independent" in note]
    assert "model_id" in note


def test_prompt_sets_of_different_models_are_named_with_their_number_of_models(store):
    (note,) = [note for note in noted(store, SETS) if "different models" in note]
    for name, models in runs("prompts").groupby("prompt_set")["model_id"]:
        assert f"{name} {models.nunique()}" in note


@pytest.mark.parametrize("query", CELLS)
def test_a_count_of_what_is_missing_on_one_set_is_noted(store, query):
    (note,) = noted(store, query)
    assert "NOT is_on_any_set" in note


@pytest.mark.parametrize("query", QUIET)
def test_no_note_where_a_row_is_a_model_or_of_one_model(store, query):
    assert noted(store, query) == []


@pytest.mark.parametrize("query", KINDS)
def test_networks_trained_here_among_models_of_others_are_noted(store, query):
    (note,) = [note for note in noted(store, query) if schema.KIND in note]
    assert "taken together" in note


@pytest.mark.parametrize("query", POOLED)
def test_several_prompt_sets_of_a_model_in_one_number_are_noted(store, query):
    (note,) = [note for note in noted(store, query) if "prompt sets of a model" in note]
    assert SET in note
    assert "some texts" in note


@pytest.mark.parametrize("case", SCALES)
def test_a_mean_over_several_scales_names_what_keeps_them_apart(store, case):
    apart, query = case.split(": ", 1)
    (note,) = [note for note in noted(store, query) if "scales" in note]
    assert f"take each {apart} apart" in note


@pytest.mark.parametrize("case", REPEATED)
def test_a_join_that_repeats_the_rows_of_an_aggregate_is_noted(store, case):
    table, query = case.split(": ", 1)
    notes = [note for note in noted(store, query) if "join repeats" in note]
    assert [note.partition(":")[0] for note in notes] == [table]
    assert ", ".join(schema.KEYS[table]) in notes[0]


@pytest.mark.parametrize("case", ABSENT)
def test_rows_without_a_value_that_are_counted_are_noted(store, case):
    column, query = case.split(": ", 1)
    (note,) = [note for note in noted(store, query) if "is NULL" in note]
    values = by_pandas.published_model()[column]
    assert values.isna().any()
    count = f"{values.isna().sum()} of the {len(values)} rows"
    assert note.startswith(f"published_model.{column} is NULL in {count}")


def test_a_correlation_of_very_few_models_is_noted_with_their_number(store):
    few = "SELECT corr(n_parameters, gain_body), max(gain_body) FROM model_gain WHERE {}"
    (note,) = noted(store, few.format("NOT is_trained_here"))
    assert note.startswith("corr rests on 4 rows")
    assert noted(store, few.format("is_trained_here")) == []


def test_tables_without_a_common_model_are_named(store):
    sql = "SELECT model_id FROM published_model JOIN model_gain USING (model_id)"
    store.columns(sql)
    (note,) = cautions(store, sql, is_empty=True)
    assert note.startswith("no model_id is both in model_gain and in published_model")


def test_prompts_of_different_numbers_of_models_are_noted_with_them(store):
    n = runs("prompts").groupby("prompt_set")["model_id"].nunique()
    for column in ("prompt_id", "text"):
        sql = f"SELECT {column}, avg(gain_body) g FROM prompt_gain GROUP BY 1 ORDER BY g LIMIT 3"
        (note,) = [note for note in noted(store, sql) if "some prompts" in note]
        assert f" {n.min()} models" in note
        assert f"to {n.max()};" in note


@pytest.mark.parametrize("query", MAKERS)
def test_networks_trained_here_are_no_lab(store, query):
    (note,) = [note for note in noted(store, query) if schema.KIND in note]
    assert "no lab" in note


def test_a_mean_by_lab_that_rests_on_one_model_is_noted_with_the_lab(store):
    notes = noted(store, "SELECT lab, avg(gain_body) FROM model_gain GROUP BY lab")
    (note,) = [note for note in notes if note.startswith("lab: ")]
    assert "Google, Hugging Face rest" in note
    published = by_pandas.published_model().dropna(subset="gain_penultimate_block")
    sizes = published.groupby("lab").size()
    sql = "SELECT lab, avg(gain_penultimate_block) FROM published_model GROUP BY lab"
    (note,) = noted(store, sql)
    assert note.startswith(f"lab: {', '.join(sizes[sizes == 1].index)} rest")


def test_a_table_that_lacks_a_measured_model_beside_others_says_which(store):
    lacking = set(by_pandas.runs("prompts")["model_id"]) - set(by_pandas.attention()["model_id"])
    assert len(lacking) == 1
    sql = f"SELECT model_id, avg(entropy) FROM attention WHERE {SET} GROUP BY model_id"
    (note,) = noted(store, sql)
    assert note.startswith("attention lacks 1 of 16 measured models: ")
    assert lacking.pop() in note
    assert "coverage" in note
    (note,) = noted(store, sql.replace("WHERE", "WHERE starts_with(model_id, 'local/') AND"))
    assert note.startswith("attention lacks 1 of 4 ")
    assert not noted(store, sql.replace("WHERE", "WHERE model_id LIKE 'thermoscope/%' AND"))


PAGES = (ROOT / "README.md", ROOT / "collect/record/publication/codebook.md")


def test_the_queries_of_readme_and_codebook_take_no_unlike_rows_together(store):
    found = [
        sql for page in PAGES for sql in re.findall(r"```sql\n(.*?);?\n```", page.read_text(), re.S)
    ]
    assert len(found) > 5
    for sql in found:
        assert not [note for note in noted(store, sql) if " lacks " not in note], sql
