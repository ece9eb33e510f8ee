"""What is said of the rows that an answer is of, where nothing need be wrong with it."""

import re

import pytest

from analysis.store import open_store
from analysis.store.notes import contexts
from collect import schema
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import SOURCES


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


def said(store, query, *, is_empty=False):
    store.columns(query)
    return contexts(store, query, is_empty=is_empty)


def numbers(sentence):
    return [int(it) for it in re.findall(r"\b\d+\b(?!\.)", sentence)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT lab, count(*) FROM model GROUP BY lab",
        "SELECT count(*) FROM (SELECT lab FROM model GROUP BY lab HAVING count(*) = 1)",
        "SELECT count(DISTINCT m.suite) FROM model AS m",
    ],
)
def test_counted_models_are_of_the_paper_of_others_and_measured_here(store, query):
    (sentence,) = said(store, query)
    models = by_pandas.models()
    measured = by_pandas.model_gain()["model_id"]
    expected = [len(models), models["is_published"].sum(), models["model_id"].isin(measured).sum()]
    assert numbers(sentence) == expected
    assert "is_published" in sentence


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM model WHERE is_measured",
        "SELECT count(*) FROM model WHERE suite = 'Pythia'",
        "SELECT model_id FROM model",
        "SELECT is_published, count(*) FROM model GROUP BY ALL",
    ],
)
def test_models_of_one_kind_or_told_apart_have_no_context(store, query):
    assert said(store, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT avg(gain_embedding) FROM model_gain WHERE NOT is_trained_here",
        "SELECT model_id FROM model_gain ORDER BY gain_embedding DESC LIMIT 1",
        "SELECT m.lab, count(*) FROM model_gain AS g JOIN model AS m USING (model_id) GROUP BY ALL",
    ],
)
def test_models_measured_here_are_not_all_there_are(store, query):
    (sentence,) = said(store, query)
    models = by_pandas.models().query("not is_trained_here")
    here = models[models["model_id"].isin(by_pandas.model_gain()["model_id"])]
    assert here["quantisation"].notna().all()
    figures = by_pandas.published_model()
    n_others = figures["gain_embedding"].notna().sum() if "gain_e" in query else len(figures)
    assert numbers(sentence) == [len(here), len(here), n_others]


def test_an_empty_answer_says_of_which_models_it_is(store):
    query = "SELECT model_id FROM model_gain WHERE gain_embedding < 0"
    assert said(store, query) == []
    (sentence,) = said(store, query, is_empty=True)
    assert sentence.startswith("model_gain has")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT model_id, gain_embedding FROM model_gain",
        "SELECT model_id, avg(gain_embedding) FROM model_gain GROUP BY model_id",
        "SELECT avg(gain_embedding) FROM model_gain WHERE lab = 'thermoscope'",
        "SELECT avg(m.gain_embedding) FROM model_gain AS m JOIN published_model USING (model_id)",
    ],
)
def test_no_other_models_are_named_where_each_is_seen_or_both_are_asked(store, query):
    assert said(store, query) == []


def test_counted_prompts_are_those_of_one_set(store):
    (sentence,) = said(store, "SELECT model_id, count(*) FROM prompt_gain GROUP BY model_id")
    prompts = by_pandas.runs("prompts")["prompt_set"].dropna().unique()
    here = store.query("SELECT DISTINCT prompt_set FROM prompt_gain")["prompt_set"]
    others = by_pandas.measured("prompt").drop_duplicates("prompt_id").set_index("prompt_set")
    left = sorted({*prompts} - {*here})
    assert numbers(sentence) == [len(others.loc[left]), len(left)]
    assert said(store, "SELECT prompt_set, count(*) FROM prompt_gain GROUP BY ALL") == [sentence]
    assert said(store, "SELECT avg(n_tokens) FROM prompt_gain") == []


def test_counted_networks_are_those_of_the_main_design(store):
    (sentence,) = said(store, "SELECT shape, count(*) FROM network GROUP BY shape")
    n = len(by_pandas.measured("study_run"))
    assert numbers(sentence) == [len(by_pandas.network()), n]
    assert said(store, "SELECT shape, avg(loss) FROM network GROUP BY shape") == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT recipe, learning_rate, count(*) AS n FROM network GROUP BY ALL",
        "SELECT learning_rate, loss FROM network ORDER BY 1",
    ],
)
def test_a_setting_is_fixed_by_recipe_and_width(store, query):
    sentences = [it for it in said(store, query) if "learning_rate" in it]
    assert len(sentences) == 1
    networks = by_pandas.network()
    assert (networks.groupby(["recipe", "d_model"])["learning_rate"].nunique() == 1).all()


def test_the_size_of_an_update_is_not_its_effect(store):
    query = "SELECT layer, avg(ffn_ratio_body) FROM block GROUP BY layer"
    (sentence,) = said(store, query)
    assert sentence.startswith("block.ffn_ratio_body: ")
    assert "(ffn_cosine_body)" in sentence
    assert said(store, query.replace("FROM", ", avg(ffn_cosine_body) FROM")) == []


@pytest.mark.parametrize("column", ["recipe", "n.lab"])
def test_recipes_differ_in_blocks_and_in_the_loss_that_they_reach(store, column):
    of_blocks, of_loss = said(
        store, f"SELECT {column}, avg(log_growth) FROM network AS n GROUP BY {column}"
    )
    networks = by_pandas.network()
    n_short = (networks["loss"] > networks["trigram_loss"]).sum()
    assert numbers(of_loss) == [n_short, len(networks)]
    assert numbers(of_blocks) == [networks["family"].nunique()]
    (again,) = said(store, "SELECT avg(log_growth) FROM network")
    assert again == of_loss
    for asked in (
        "SELECT recipe, family, avg(log_growth) FROM network WHERE is_beyond_trigram GROUP BY ALL",
        "SELECT recipe, avg(log_growth) FROM network WHERE recipe IN ('gptj') AND seed = 1 "
        "GROUP BY recipe",
    ):
        assert not [it for it in said(store, asked) if "blocks" in it or "block too" in it]


def test_counted_claims_are_laws_numbers_and_records(store):
    (sentence,) = said(store, "SELECT verdict, count(*) FROM claim GROUP BY verdict")
    kinds = by_pandas.claim()["category"].value_counts()
    assert numbers(sentence) == [kinds.sum(), *kinds.sort_index()]
    assert said(store, "SELECT category, count(*) FROM claim GROUP BY category") == []


@pytest.mark.parametrize(
    ("table", "column", "other", "query"),
    [
        (
            "model_gain",
            "gain_last_block",
            "gain_whole_matrix",
            "SELECT b.model_id, direction(any_value(g.gain_last_block)) FROM model_gain AS g "
            "JOIN block AS b USING (model_id) GROUP BY ALL",
        ),
        (
            "published_model",
            "gain_penultimate_block_pythia",
            "growth_after_block_0",
            "SELECT n_layers, gain_penultimate_block_pythia FROM published_model",
        ),
        (
            "published_model",
            "gain_last_block",
            "growth_after_block_0",
            "SELECT lab, avg(p.gain_last_block) FROM published_model AS p GROUP BY lab",
        ),
    ],
)
def test_a_gain_names_the_definition_on_the_other_side_of_1(store, table, column, other, query):
    (sentence,) = [it for it in said(store, query) if "side" in it]
    rows = store.query(f"FROM {table}").dropna(subset=[column, other])
    n = ((rows[column] - 1) * (rows[other] - 1) < 0).sum()
    assert sentence.startswith(f"{table}.{column} is of ")
    assert f"; {other}, of " in sentence
    assert numbers(sentence.partition("of 1")[2]) == [n, len(rows)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT corr(n_layers, gain_last_block) FROM published_model",
        "SELECT model_id, direction(growth_after_block_0) FROM model_gain",
        "SELECT gain_body, gain_whole_matrix FROM model_gain",
        "FROM model_gain",
        "SELECT model_id, gain_embedding FROM model_gain",
        "SELECT gain_last_block FROM model_gain WHERE gain_whole_matrix > 1",
    ],
)
def test_a_gain_beside_others_or_without_a_side_names_none(store, query):
    assert not [it for it in said(store, query) if "other side" in it]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT model_id, arg_max(layer, v_spectral) FROM head_weight GROUP BY ALL", "v_spec"),
        ("SELECT model_id, layer, o_spectral FROM layer_weight ORDER BY 3", "layer_weight.o_spec"),
        ("SELECT corr(w.o_frobenius, w.v_frobenius) FROM head_weight AS w", "v_frobenius, o_fro"),
    ],
)
def test_norms_of_one_matrix_over_blocks_can_be_scaled(store, query, columns):
    (sentence,) = said(store, query)
    assert columns in sentence
    if "head_weight" in query:
        product = query.replace("v_", "ov_").replace("o_f", "ov_f")
        assert said(store, product) == []


def test_tables_of_raw_have_no_context(store):
    assert said(store, f"SELECT count(*) FROM {schema.RAW}.model") == []


def test_prompts_of_one_category_are_alike(store):
    query = "SELECT model_id, avg(gain_body), conf_low(gain_body) FROM prompt_gain GROUP BY 1"
    (sentence,) = [sentence for sentence in said(store, query) if "categories" in sentence]
    prompts = store.query("SELECT DISTINCT prompt_id, category FROM prompt_gain")
    of_set = prompts[prompts["prompt_id"].str.startswith("A_")]
    assert re.findall(r"\d+", sentence) == [str(len(of_set)), str(of_set["category"].nunique())]
    by_category = query.replace("model_id,", "model_id, category,").replace("BY 1", "BY ALL")
    assert not [sentence for sentence in said(store, by_category) if "categories" in sentence]


def test_a_share_of_the_first_token_stands_beside_that_of_even_attention(store):
    query = "SELECT model_id, avg(first_token_share) FROM attention GROUP BY model_id"
    (sentence,) = said(store, query)
    even = by_pandas.attention()["first_token_share_if_even"]
    assert f"{even.min():.2f} to {even.max():.2f}" in sentence
    assert said(store, query.replace("FROM", ", avg(first_token_share_if_even) FROM")) == []


def test_an_empty_answer_says_nothing_of_its_columns(store):
    query = "SELECT o_spectral FROM layer_weight WHERE model_id = 'none'"
    assert said(store, query, is_empty=True) == []
