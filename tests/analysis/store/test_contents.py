"""What the contents of a store say of a query: definitions, runs and NULL, and names unmet."""

import pytest

from analysis.store import open_store
from analysis.store.notes import caution
from tests.analysis.store.noted import NOTED


@pytest.mark.parametrize("query", NOTED["definitions"])
def test_gains_of_several_definitions_taken_together_are_named(shipped_store, query):
    shipped_store.columns(query)
    (note,) = caution.cautions(shipped_store, query)
    assert note.startswith("raw.published_gain: gain_last_block, gain_penultimate_block, ")


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT model_id FROM raw_value",
        "SELECT r.model_id FROM raw_value r WHERE r.layer IS NULL",
        "SELECT model_id FROM named",
    ],
)
def test_a_list_with_null_is_noted_where_nothing_can_be_outside_it(shipped_store, inner):
    query = f"""
        WITH named AS (FROM raw_value WHERE layer IS NULL)
        SELECT subject FROM quoted_number WHERE subject NOT IN ({inner})
    """
    assert shipped_store.query(query).empty
    (note,) = caution.cautions(shipped_store, query)
    assert "NULL" in note
    assert "subject" in note


def test_a_condition_that_cannot_stand_alone_is_not_noted(shipped_store):
    query = """
        SELECT model_id FROM raw.model AS m WHERE lab NOT IN
               (SELECT f.unit FROM published_figure AS f WHERE f.model_id = m.model_id)
    """
    assert len(shipped_store.query(query))
    assert caution.cautions(shipped_store, query) == []


def test_prompts_that_count_again_in_another_run_are_noted(add_run):
    store = open_store(add_run("r2", special_tokens="always"))
    for query in NOTED["runs"]:
        store.columns(query)
        (note,) = caution.cautions(store, query)
        assert "runs of test/tiny on the same prompts" in note, query
    for query in NOTED["one run"]:
        store.columns(query)
        assert caution.cautions(store, query) == [], query


@pytest.mark.parametrize(
    ("query", "column", "near"),
    [
        ("SELECT claim_id FROM verdict WHERE verdict = 'Contradicted'", "verdict", "contradicted"),
        ("SELECT count(*) FROM raw.model WHERE 'eleuther' = lab", "lab", "EleutherAI"),
        ("FROM gain_by_model g WHERE g.metric = 'gain_penultimate'", "metric", "gain_penultimate"),
        ("FROM raw.stream WHERE model_id = 'pythia-70m'", "model_id", "EleutherAI/pythia-70m"),
        ("FROM (SELECT * FROM raw.model WHERE suite = 'pythia')", "suite", "Pythia"),
        ("SELECT model_id FROM raw.model WHERE lab = 'Xyzzy'", "lab", ""),
    ],
)
def test_a_text_that_no_row_has_is_noted_with_the_nearest(shipped_store, query, column, near):
    shipped_store.columns(query)
    notes = caution.cautions(shipped_store, query)
    (note,) = [note for note in notes if note.startswith("no ")]
    assert f" {column} " in note
    assert near in note
    assert ("nearest" in note) == bool(near)


@pytest.mark.parametrize(
    "query",
    [
        "FROM raw.model WHERE lab = 'EleutherAI' AND lab <> 'nobody'",
        "FROM (SELECT left(lab, 1) AS lab FROM raw.model) WHERE lab = 'E'",
        "SELECT lab = 'B' FROM (SELECT 'B' AS lab), model",
        "FROM residual_norm WHERE site = 'nowhere' LIMIT 1",
        "FROM published_file WHERE file = 'none'",
    ],
)
def test_texts_that_are_there_made_or_not_looked_through_are_not_noted(shipped_store, query):
    assert [note for note in caution.cautions(shipped_store, query) if "no " in note[:3]] == []
