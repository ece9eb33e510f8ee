"""Gains that others measured stand beside published and measured ones, their pooling said."""

import pytest

from analysis.store import open_store
from analysis.store.notes import cautions
from collect.published.reported import import_reported
from tests.collect.published.reported.test_importer import folder, table

PUBLISHED = "data/published"

MISTRAL = """model_id = "mistralai/Mistral-7B-v0.1"
family = "mistral"
n_layers = 32
d_model = 4096
n_heads = 32
n_kv_heads = 8
d_head = 128
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The paper's figures, and two sources of one model that pool differently."""
    place = tmp_path_factory.mktemp("reported")
    rows = table({"1": [1.1**k for k in range(33)]}).replace(
        "lab/tiny", "mistralai/Mistral-7B-v0.1"
    )
    last = folder(place, "last", rows=rows, model=MISTRAL)
    mean = folder(place, "mean", rows=rows, model=MISTRAL, pooling='"mean_of_lengths"')
    import_reported([last, mean], place / "out")
    return open_store(PUBLISHED, place / "out")


def test_gain_by_model_tells_sources_and_poolings_apart(store):
    rows = store.query(
        """
        SELECT source, pooling, file, gain_mean, n_prompts, prompt_set, rendering, bound
          FROM gain_by_model
         WHERE model_id = 'mistralai/Mistral-7B-v0.1' AND metric = 'gain_body'
         ORDER BY source, file
        """
    )
    reported = rows[rows["source"] == "reported"]
    assert reported["pooling"].tolist() == ["last_token", "mean_of_lengths"]
    assert reported["file"].tolist() == ["last", "mean"]
    assert reported["gain_mean"].tolist() == pytest.approx([1.1, 1.1])
    assert reported["n_prompts"].tolist() == [1, 1]
    assert reported["prompt_set"].isna().all()
    assert set(rows[rows["source"] == "published"]["pooling"]) == {"last_token"}


def test_published_gains_are_what_they_were(store):
    before = open_store(PUBLISHED)
    for sql in (
        "SELECT * FROM gain_by_model WHERE source = 'published' ORDER BY ALL",
        "FROM raw.published_gain ORDER BY ALL",
        "FROM main.published_model ORDER BY ALL",
        "FROM main.model_gain ORDER BY ALL",
    ):
        assert store.query(sql).equals(before.query(sql)), sql


def test_views_of_lengths_give_what_was_imported(store):
    blocks = store.query("FROM reported_block WHERE source_id = 'last' ORDER BY layer")
    assert blocks["gain"].isna().tolist() == [True] + [False] * 32
    assert blocks["gain"].iloc[1:].tolist() == pytest.approx([1.1] * 32)
    row = store.query("FROM reported_gain WHERE source_id = 'last'").iloc[0]
    assert row["gain_last_block"] == pytest.approx(1.1)
    assert row["bound"] == pytest.approx(10 ** (1 / 32))
    assert row["lab"] == "Mistral"


@pytest.mark.parametrize(
    ("sql", "is_noted"),
    [
        ("SELECT metric, avg(gain_mean) FROM gain_by_model GROUP BY metric", True),
        ("SELECT metric, max(log_gain) FROM gain_by_model GROUP BY metric", True),
        ("SELECT * FROM gain_by_model WHERE metric = 'gain_body' ORDER BY gain_mean LIMIT 1", True),
        ("SELECT rank() OVER (ORDER BY gain_body) FROM reported_gain", True),
        ("SELECT lab, avg(gain_body) FROM reported_gain GROUP BY lab", True),
        ("SELECT pooling, metric, avg(gain_mean) FROM gain_by_model GROUP BY ALL", False),
        (
            "SELECT metric, avg(gain_mean) FROM gain_by_model WHERE source = 'published' "
            "GROUP BY metric",
            False,
        ),
        (
            "SELECT metric, avg(gain_mean) FROM gain_by_model WHERE pooling = 'last_token' "
            "GROUP BY metric",
            False,
        ),
        ("SELECT source, count(DISTINCT model_id) FROM gain_by_model GROUP BY 1", False),
    ],
)
def test_poolings_taken_together_are_noted(store, sql, is_noted):
    notes = [note for note in cautions(store, sql) if "filter or group by pooling" in note]
    assert bool(notes) is is_noted
    for note in notes:
        assert "last_token, mean_of_lengths" in note


def test_a_store_of_one_pooling_needs_no_note():
    sql = "SELECT metric, avg(gain_mean) FROM gain_by_model GROUP BY metric"
    assert not [note for note in cautions(open_store(PUBLISHED), sql) if "pooling" in note]


def test_every_reported_metric_is_defined(store):
    lacking = store.query(
        "SELECT DISTINCT metric FROM reported_figure ANTI JOIN raw.metric USING (metric)"
    )
    assert lacking.empty
    sql = "SELECT gain_mean FROM gain_by_model WHERE metric = 'gain_inner' AND file = 'last'"
    assert not [note for note in cautions(store, sql) if "no metric is" in note]
