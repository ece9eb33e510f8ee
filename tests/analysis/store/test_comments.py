"""What comments of schema main state in numbers: baselines, counts of models, figures, gaps."""

import math
import re

import duckdb
import pytest
import torch

from analysis.audit.evidence.published import HUNT
from analysis.store import open_store
from analysis.store.hint import front
from analysis.store.sources import shipped_sources
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


@pytest.fixture(scope="module")
def everything():
    """All that is shipped, the small networks of data/sample with it."""
    return open_store(*dict.fromkeys([*SOURCES, *shipped_sources()]))


def _empty_somewhere(store, name):
    """Return the columns of a table that are NULL in some row."""
    columns = store.query(f"FROM {name} LIMIT 0").columns
    counts = ", ".join(f'count(*) > count("{column}")' for column in columns)
    is_empty = store.query(f"SELECT {counts} FROM {name}").to_numpy()[0]
    return [column for column, empty in zip(columns, is_empty, strict=True) if empty]


def test_a_column_that_is_null_somewhere_says_where(everything, store):
    comments = schema.commented(schema.front_sql())[1]
    empty = [
        (name, column)
        for opened in (everything, store)
        for name in front()
        for column in _empty_somewhere(opened, name)
    ]
    assert len(empty) > 100
    assert [it for it in empty if "NULL" not in comments[f"main.{it[0]}.{it[1]}"]] == []
    of_base = {column.name: column.meaning for column in schema.tables()["model"].columns}
    empty = _empty_somewhere(everything, "raw.model")
    assert {"n_heads", "is_tied", "n_context"} < {*empty}
    assert [column for column in empty if "NULL" not in of_base[column]] == []


def test_a_shape_that_is_not_known_is_no_shape_that_is_not_there(everything):
    """Models that others measured lack columns whose reason is not that no block has them."""
    of_front = schema.commented(schema.front_sql())[1]
    of_base = {column.name: column.meaning for column in schema.tables()["model"].columns}
    rows = everything.query("FROM model WHERE is_reported AND NOT is_measured")
    shape = list(rows.loc[:, "n_layers":"is_tied"].columns)
    empty = [name for name in shape if rows[name].isna().any()]
    assert len(empty) == 11
    for name in empty:
        for comment in (of_front[f"main.model.{name}"], of_base.get(name, "")):
            says = ("not known", "unknown", "NULL where n_kv_heads is", "NULL where one of the two")
            assert any(it in comment for it in says) or not comment, name
    assert (rows["d_head"].isna() == rows["n_kv_heads"].isna()).all()
    lacks = rows["n_heads"].isna() | rows["d_head"].isna()
    assert (rows["head_density"].isna() == lacks).all()


def test_models_without_a_suite_are_those_whose_files_name_none(everything):
    rows = everything.query("SELECT model_id, title FROM model WHERE suite IS NULL")
    assert rows["model_id"].str.startswith("local/").all()
    assert rows["title"].notna().all()  # the header of a GGUF file
    assert rows["model_id"].str.contains("qwen2.5-coder").sum() == 2  # siblings
    assert everything.query("FROM published_model")["suite"].notna().all()


def test_no_weight_is_missing_as_shipped_and_nothing_says_why(store):
    """What raw.not_measured has is of data/sample, and of no weight."""
    for name in ("head_weight", "layer_weight"):
        assert _empty_somewhere(store, name) == []
    gaps = open_store().query("FROM raw.not_measured")
    assert gaps.empty


def test_lengths_of_the_stream_over_depth_are_as_their_comments_say(store):
    rows = store.query(
        "SELECT model_id, n_layers, layer, avg(length) AS length,"
        " median(first_length / length) AS times FROM stream JOIN model USING (model_id)"
        " WHERE NOT is_trained_here GROUP BY ALL"
    )
    start = rows[rows["layer"] == -1]
    end = rows[rows["layer"] == rows["n_layers"] - 1]
    assert len(start) == len(end) == 4
    assert start["times"].between(0.7, 1.1).all()
    assert end["times"].between(1.5, 8).all()
    assert rows["times"].max() > 100
    of_model = rows.groupby("model_id")["length"]
    assert (of_model.max() / of_model.min() > 100).all()
    added = store.query(
        "SELECT DISTINCT model_id FROM raw.residual_norm JOIN raw.leading_run"
        " USING (run_id, model_id) WHERE position = 0 AND is_special"
    )
    assert added["model_id"].tolist() == ["local/gemma-3-270m-q4_k_m"]
    assert not store.query("SELECT bool_or(is_special) AS it FROM stream")["it"].item()
    comments = schema.commented(schema.front_sql())[1]
    assert "gemma-3 alone" in comments["main.stream.first_length"]


def test_a_recipe_has_one_family_and_a_family_can_have_two_recipes(store):
    families = store.query("SELECT DISTINCT recipe, family FROM network")
    assert not families["recipe"].duplicated().any()
    assert families["family"].duplicated().any()
    on_the_way = store.query("SELECT DISTINCT recipe, family FROM network_step")
    assert {*on_the_way.itertuples(index=False)} == {*families.itertuples(index=False)}


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


def test_claims_of_one_finding_can_have_two_verdicts(store):
    pairs = store.query(
        "SELECT a.claim_id, b.category AS of_first, a.category, b.verdict AS first, a.verdict"
        " FROM claim AS a JOIN claim AS b ON b.claim_id = a.repeats"
    ).set_index("claim_id")
    (apart,) = pairs.index[pairs["first"] != pairs["verdict"]]
    assert [*pairs.loc[apart]] == ["law", "printed number", "reproduced", "contradicted"]
    comment = schema.commented(schema.front_sql())[1]["main.claim.repeats"]
    assert "law" in comment
    assert "NULL" in comment


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
