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
def test_attention_spread_evenly_gives_the_share_that_stands_beside_it(n_tokens):
    """A causal map whose rows are even: token i gives the first 1 / (i + 1), the sum is H_n."""
    maps = torch.ones(1, 1, n_tokens, n_tokens).tril()
    maps = maps / maps.sum(-1, keepdim=True)
    found = attention_statistics(maps, [n_tokens])[0]
    row = {name: getattr(found, name).item() for name in found.__slots__}
    sql, _ = schema.commented(schema.front_sql())
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA raw; CREATE TABLE raw.leading_run AS "
                           "SELECT 'r' AS run_id, 'm' AS model_id, 's' AS prompt_set")  # fmt: skip
        values = ", ".join(f"{value!r}::DOUBLE AS {name}" for name, value in row.items())
        connection.execute(
            "CREATE TABLE raw.attention AS SELECT 'r' AS run_id, 'm' AS model_id, 'p' AS prompt_id,"
            f" 0 AS layer, 0 AS head, {n_tokens} AS n_tokens, {values}"
        )
        (view,) = re.findall(r"CREATE VIEW main\.attention AS.*?;", sql, re.DOTALL)
        connection.execute(view)
        share, even, others = connection.execute(
            "SELECT first_token_share, first_token_share_if_even, first_token_share_of_others"
            " FROM main.attention"
        ).fetchall()[0]
    harmonic = sum(1 / i for i in range(1, n_tokens + 1))
    assert (share is None) == (even is None) == (n_tokens == 1)
    if n_tokens > 1:
        assert share == pytest.approx((harmonic - 1) / (n_tokens - 1), rel=1e-6)
        assert even == pytest.approx((harmonic - 1) / (n_tokens - 1), rel=1e-12)
        assert others == pytest.approx((harmonic - 1) / (n_tokens - harmonic), rel=1e-6)


COUNTED = re.compile(r"(\d+) of the (\d+) models have it")


def test_comments_of_published_figures_say_how_many_models_have_them(store):
    comments = schema.commented(schema.front_sql())[1]
    rows = store.query("FROM published_model")
    sparse = [name for name in rows if rows[name].isna().any()]
    assert len(sparse) > 15
    for name in sparse:
        n, of = map(int, COUNTED.search(comments[f"main.published_model.{name}"]).groups())
        assert (n, of) == (rows[name].notna().sum(), len(rows)), name
    by_hand = by_pandas.published_model().rename(
        columns={"total_amplification": "growth_after_block_0"}
    )
    assert len(by_hand) == len(rows)
    for name in by_hand.filter(regex="^gain_.*(block|matrix|norm|embedding)$|^growth"):
        assert by_hand[name].notna().sum() == rows[name].notna().sum(), name


#: Columns of published_model by the set whose prompts they are over.
OF_ONE_SET = {
    "C5_high_rho_hunt": ["gain_penultimate_block"],
    "A_grand_unified": ["gain_last_block"],
    "E1_4model_and_mistral": ["gain_whole_matrix"],
    "B_pythia_sweep": ["gain_penultimate_block_pythia"],
}


def test_a_published_column_is_of_one_prompt_set_which_its_comment_names_with_its_size(store):
    rows = store.query("FROM published_model")
    figures = by_pandas.written("published_figure")
    comments = schema.commented(schema.front_sql())[1]
    for prompt_set, columns in OF_ONE_SET.items():
        for column in columns:
            comment = comments[f"main.published_model.{column}"]
            assert prompt_set in comment
            of_metric = figures[figures["metric"] == column.removesuffix("_pythia")]
            there = of_metric[of_metric["prompt_set"] == prompt_set]
            n = there["n"].unique()
            assert len(n) == 1
            assert f"the {n[0]} prompts of ".replace("1 prompts", "one prompt") in comment
            taken = rows.dropna(subset=[column]).set_index("model_id")[column]
            assert set(taken.index) == set(there["model_id"])
            for model_id, value in taken.items():
                values = there.loc[there["model_id"] == model_id, "mean"]
                assert (abs(values / value - 1) < 1e-12).any()
    hunt = figures[figures["metric"] == "gain_penultimate_block"]
    assert set(hunt.loc[hunt["prompt_set"] == "C5_high_rho_hunt", "file"]) == {HUNT}


def test_a_claim_number_that_is_missing_is_said_to_be(store):
    numbers = store.query("SELECT claim_id FROM claim")["claim_id"]
    missing = sorted({*range(1, numbers.max() + 1)} - {*numbers})
    comment = schema.commented(schema.front_sql())[1]["main.claim.claim_id"]
    assert [int(word) for word in re.findall(r"\d+", comment.partition(":")[0])] == missing


def test_the_design_of_the_networks_is_as_its_comment_counts_it(store):
    (n, recipes, shapes, seeds) = store.query(
        "SELECT count(*), count(DISTINCT recipe), count(DISTINCT shape), count(DISTINCT seed) "
        "FROM network"
    ).to_numpy()[0]
    comment = schema.commented(schema.front_sql())[1]["main.network"]
    said = re.search(
        r"The (\d+) networks are (\d+) \w+ recipes in (\d+) shapes with (\d+)", comment
    )
    assert [*map(int, said.groups())] == [n, recipes, shapes, seeds]
    assert n == recipes * shapes * seeds


def test_the_count_of_reproduced_laws_is_that_of_the_verdicts(store):
    kinds = store.query("SELECT category FROM claim WHERE verdict = 'reproduced'")["category"]
    comment = schema.commented(schema.front_sql())[1]["main.claim.category"]
    said = re.search(r"of the (\d+) claims reproduced, (\d+) is a law", comment)
    assert [*map(int, said.groups())] == [len(kinds), (kinds == "law").sum()]
    none = store.query(
        "SELECT rests_on FROM claim WHERE n_models = 0 AND quoted_estimate IS NOT NULL"
    )
    assert len(none) > 3


def test_what_comments_say_of_a_mean_is_so(store):
    """The first token and block 0 decide a mean; growth is the gain of the body, over blocks."""
    longest = store.query(
        "SELECT max(r) AS n FROM (SELECT max(first_length) / median(length) AS r "
        "FROM stream GROUP BY model_id, prompt_id, layer)"
    )["n"].item()
    assert longest > 100
    first, later = store.query(
        "SELECT min(first), max(later) FROM (SELECT avg(length_after / length_before) "
        "FILTER (layer = 0) AS first, avg(gain) AS later FROM block "
        "WHERE starts_with(model_id, 'local/') GROUP BY model_id)"
    ).to_numpy()[0]
    assert first > 2 * later
    ratios = [
        name for name in store.query("FROM block LIMIT 0") if "gain" in name or "ratio" in name
    ]
    assert len(ratios) == 8
    null = store.query("FROM block").groupby("layer")[ratios].apply(lambda it: it.isna().all())
    assert null.loc[0].all()
    assert not null.loc[1:11].any(axis=None)
    rows = store.query(
        "SELECT growth_after_block_0 AS whole, gain_body ** (n_layers - 1) AS made "
        "FROM prompt_gain JOIN model USING (model_id)"
    )
    assert rows["made"].tolist() == pytest.approx(rows["whole"].tolist(), rel=1e-9)
    comments = schema.commented(schema.front_sql())[1]
    assert "more than a hundred times" in comments["main.stream.first_length"]
    for name in ratios:
        assert (
            "NULL for block 0" in comments[f"main.block.{name}"]
            or "and for block 0" in comments[f"main.block.{name}"]
        )
    for name in ("prompt_gain.gain_body", "model_gain.gain_body", "network.log_growth"):
        assert "growth_after_block_0" in comments[f"main.{name}"]


def test_comments_say_nothing_of_models_that_a_store_need_not_have():
    comments = schema.commented(schema.front_sql())[1]
    said = [text for text in comments.values() if "what was opened" in text or "be it" in text]
    assert said == []
    for name in ("head_weight", "layer_weight"):
        assert "public models measured here are" not in comments[f"main.{name}"]
    for name in ("model.training_step", "model.training_tokens"):
        assert "NULL but for revisions" in comments[f"main.{name}"]


@pytest.mark.parametrize(("column", "n"), [("", 2), ("_pythia", 2)])
def test_the_gains_within_rounding_of_1_are_named(column, n):
    column = f"gain_penultimate_block{column}"
    text = schema.commented(schema.front_sql())[1][f"main.published_model.{column}"]
    gains = by_pandas.published_model().set_index("model_id")[column].dropna()
    near = [name.partition("/")[2] for name in gains.index[abs(gains.map(math.log)) <= 0.01]]
    assert len(near) == n
    assert all(name in text.partition("within 1 %")[0] for name in near)
