"""What comments of schema main state in numbers: baselines, counts of models, figures, gaps."""

import math
import re

import duckdb
import pytest
import torch

from analysis.audit.evidence.published import HUNT
from analysis.store import open_store
from collect import schema
from collect.instruments.attention_maps import attention_statistics
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import SOURCES


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


@pytest.mark.parametrize("n_tokens", [1, 2, 11, 60])
def test_attention_spread_evenly_gives_the_share_that_the_comment_states(n_tokens):
    """A causal map whose rows are even: token i gives the first 1 / (i + 1), the sum is H_n."""
    maps = torch.ones(1, 1, n_tokens, n_tokens).tril()
    maps = maps / maps.sum(-1, keepdim=True)
    found = attention_statistics(maps, [n_tokens])[0]
    row = {name: getattr(found, name).item() for name in found.__slots__}
    sql, comments = schema.commented(schema.front_sql())
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA raw; CREATE TABLE raw.primary_run AS "
                           "SELECT 'r' AS run_id, 'm' AS model_id, 's' AS prompt_set")  # fmt: skip
        values = ", ".join(f"{value!r}::DOUBLE AS {name}" for name, value in row.items())
        connection.execute(
            "CREATE TABLE raw.attention AS SELECT 'r' AS run_id, 'm' AS model_id, 'p' AS prompt_id,"
            f" 0 AS layer, 0 AS head, {n_tokens} AS n_tokens, {values}"
        )
        (view,) = re.findall(r"CREATE VIEW main\.attention AS.*?;", sql, re.DOTALL)
        connection.execute(view)
        share, others = connection.execute(
            "SELECT first_token_share, first_token_share_of_others FROM main.attention"
        ).fetchall()[0]
    harmonic = sum(1 / i for i in range(1, n_tokens + 1))
    assert share == pytest.approx(harmonic / n_tokens, rel=1e-6)
    if n_tokens > 1:
        assert others == pytest.approx((harmonic - 1) / (n_tokens - harmonic), rel=1e-6)
    comment = comments["main.attention.first_token_share"]
    said = {int(n): float(text) for text, n in re.findall(r"(\.\d+) at (\d+)", comment)}
    assert said.keys() == {11, 60}
    if n_tokens in said:
        assert said[n_tokens] == pytest.approx(share, abs=0.005)
        assert (math.log(n_tokens) + 0.58) / n_tokens == pytest.approx(share, abs=0.005)


COUNTED = re.compile(r"(\d+) of the (\d+) models have it")


def test_comments_of_published_gains_say_of_how_many_models_they_are(store):
    comments = schema.commented(schema.front_sql())[1]
    rows = by_pandas.published_model()
    gains = [name for name in rows if name.startswith("gain_") and not name.endswith("stated")]
    for name in [*gains, "total_amplification"]:
        column = "growth_after_block_0" if name == "total_amplification" else name
        n, of = map(int, COUNTED.search(comments[f"main.published_model.{column}"]).groups())
        assert (n, of) == (rows[name].notna().sum(), len(rows))
    comment = comments["main.published_model.gain_penultimate_block"]
    (file,) = re.findall(r"\w+\.json", comment)
    figures = by_pandas.written("published_figure").query(
        "model_id == 'EleutherAI/pythia-6.9b' and metric == 'gain_penultimate_block'"
    )
    of_file = figures.set_index("file")["mean"]
    taken = store.query(
        "SELECT gain_penultimate_block AS gain FROM published_model "
        "WHERE model_id = 'EleutherAI/pythia-6.9b'"
    )["gain"].item()
    assert f"{taken:.3f}" in comment
    assert f"{of_file[file]:.3f}" in comment
    assert file == HUNT


def test_a_claim_number_that_is_missing_is_said_to_be(store):
    numbers = store.query("SELECT claim_id FROM claim")["claim_id"]
    missing = sorted({*range(1, numbers.max() + 1)} - {*numbers})
    comment = schema.commented(schema.front_sql())[1]["main.claim.claim_id"]
    assert [int(word) for word in re.findall(r"\d+", comment.partition(":")[0])] == missing
