"""What comments say of tests, intervals and means: p adjusted by Holm, alike prompts, slopes."""

import re

import numpy as np
import pandas as pd
import pytest

from analysis.store import open_store
from collect import schema
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import SOURCES

#: What tells two tests of a claim apart, of the columns that raw.verdict_check has.
ONE_TEST = ["method", "estimate", "p_value", "n_models"]
GAINS = ["gain_body", "gain_last_block", "gain_penultimate_block"]


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


@pytest.fixture(scope="module")
def checks():
    return by_pandas.written("verdict_check")


@pytest.fixture(scope="module")
def comments():
    return schema.commented(schema.front_sql())[1]


def holm(p_values):
    """Return p adjusted by Holm (1979): the i-th smallest of n times n - i + 1, never falling."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(raised, 1)
    return adjusted


def with_holm(of_claim):
    """Return the checks of a claim with the p that the comment of p_holm describes."""
    tests = of_claim.loc[of_claim["decides"] & of_claim["p_value"].notna(), ONE_TEST]
    tests = tests.drop_duplicates()
    joined = of_claim.merge(tests.assign(made=holm(tests["p_value"])), on=ONE_TEST, how="left")
    return joined.assign(made=joined["made"].where(joined["decides"]))


def test_p_holm_is_over_the_deciding_tests_of_a_claim_each_once(checks):
    made = pd.concat([with_holm(rows) for _, rows in checks.groupby("claim_id")])
    assert made["p_holm"].notna().sum() > 80
    assert made["p_holm"].tolist() == pytest.approx(made["made"].tolist(), rel=1e-9, nan_ok=True)
    alone = made[~made["decides"]]
    assert alone["p_value"].notna().sum() > 50
    assert alone["p_holm"].isna().all()
    tested = made[made["p_value"].notna()]
    plain = tested.groupby("claim_id")["p_value"].transform(holm)
    apart = tested.loc[~np.isclose(plain, tested["p_holm"], rtol=1e-6), "claim_id"]
    assert {4, 13, 23, 58, 61} < {*apart}


def test_the_quoted_p_holm_is_that_of_the_quoted_check(store, checks):
    rows = store.query("SELECT claim_id, quoted_check AS check_id, quoted_p_holm FROM claim")
    joined = rows.merge(checks, on=["claim_id", "check_id"])
    assert len(joined) == len(rows)
    assert joined["quoted_p_holm"].equals(joined["p_holm"])
    assert (joined["quoted_p_holm"].isna() == joined["p_value"].isna()).all()
    of_law = store.query(
        "SELECT law, count(DISTINCT quoted_p_value) AS n FROM claim GROUP BY law HAVING n > 1"
    )
    assert len(of_law) > 1  # families in which claims --adjusted would say another p


def test_a_difference_counts_for_its_answer_as_the_comment_of_p_holm_says(checks):
    rows = checks[checks["decides"] & (checks["kind"] == "difference") & (checks["p_holm"] >= 0.05)]
    is_stated = ~checks[checks["decides"]].duplicated(["claim_id", "term"])
    holds = rows[rows["holds"].eq(True)]
    assert len(holds) > 2
    assert is_stated.loc[holds.index].all()
    fails = rows[rows["holds"].eq(False)]
    assert len(fails) > 5
    assert (fails["p_value"] >= 0.05).all()


def test_the_comment_of_checks_takes_each_test_of_the_author_once(store, checks):
    comment = schema.tables()["verdict_check"].meaning
    (query,) = re.findall(r"SELECT DISTINCT .*? IS NOT NULL", comment)
    found = store.query(query)
    origin = by_pandas.written("verdict").set_index("claim_id")["stated_by"]
    assert {*origin} > {"author"}
    tests = checks[checks["decides"] & checks["p_value"].notna()]
    assert (tests["claim_id"].map(origin) != "author").any()
    tests = tests[tests["claim_id"].map(origin) == "author"]
    assert tests.duplicated(["claim_id", *ONE_TEST]).any()
    once = tests.drop_duplicates(ONE_TEST)
    assert len(found) == len(once) < len(tests.drop_duplicates(["claim_id", *ONE_TEST]))
    assert sorted(found["p_value"]) == sorted(once["p_value"])


def test_a_lab_can_slope_another_way_than_its_suite(store, comments):
    rows = store.query(
        "SELECT lab, suite, ln(n_parameters) AS size, gain_penultimate_block AS gain"
        " FROM published_model WHERE gain_penultimate_block IS NOT NULL"
    )
    lab = rows[rows["lab"] == "EleutherAI"]
    assert (len(lab), lab["suite"].nunique()) == (5, 3)
    (within,) = (suite for _, suite in lab.groupby("suite") if len(suite) > 2)
    for method in ("pearson", "spearman"):
        assert (
            lab["size"].corr(lab["gain"], method) > 0 > within["size"].corr(within["gain"], method)
        )
    comment = comments["main.published_model.lab"]
    assert "EleutherAI" in comment
    counted = store.query("SELECT count(*), count(gain_penultimate_block) FROM published_model")
    assert counted.iloc[0, 0] > counted.iloc[0, 1]
    for table in ("published_model", "model_gain", "model"):
        (column,) = re.findall(r"count\((\w+)\)", comments[f"main.{table}.lab"])
        assert column in store.query(f"FROM {table} LIMIT 0")


def test_one_block_after_block_0_can_decide_a_mean_of_gain(store, comments):
    rows = store.query("FROM block WHERE layer > 0 AND starts_with(model_id, 'local/')")
    rows["log_gain"] = np.log(rows["gain"])
    means = rows.groupby(["model_id", "layer"])[["gain", "log_gain"]].mean()
    first, second = means["gain"].nlargest(2)
    assert first > 5 * second
    model_id, layer = means["gain"].idxmax()
    of_model = means.loc[model_id]
    moved = of_model.mean() - of_model.drop(index=layer).mean()
    assert moved["gain"] > 0.4
    ratio = np.exp(moved["log_gain"])
    assert of_model["gain"].mean() / of_model["gain"].drop(index=layer).mean() > 1.2 * ratio
    assert "exp(avg(ln(gain)))" in comments["main.block"]


def correlation_within(values, groups):
    """Return the intraclass correlation of groups of one size, by the analysis of variance."""
    of_group = values.groupby(groups)
    size = len(values) / of_group.ngroups
    between, within = size * of_group.mean().var(), of_group.var().mean()
    return (between - within) / (between + (size - 1) * within)


def test_prompts_of_one_category_are_alike_so_that_an_interval_over_prompts_is_too_narrow(store):
    rows = store.query("FROM prompt_gain WHERE starts_with(model_id, 'local/')")
    assert (rows.groupby(["model_id", "category"]).size() == 5).all()
    found = [
        correlation_within(of_model[gain], of_model["category"])
        for _, of_model in rows.groupby("model_id")
        for gain in GAINS
    ]
    assert min(found) > 0
    assert max(found) == pytest.approx(0.75, abs=0.01)
    for gain in GAINS:
        ratio = store.query(
            f"SELECT half_width(mean) / any_value(plain) AS ratio FROM (SELECT model_id, category,"
            f" avg({gain}) AS mean FROM prompt_gain GROUP BY ALL) JOIN (SELECT model_id,"
            f" half_width({gain}) AS plain FROM prompt_gain GROUP BY ALL) USING (model_id)"
            " WHERE starts_with(model_id, 'local/') GROUP BY model_id"
        )["ratio"]
        assert ratio.min() > 1.4


def test_comments_of_intervals_say_that_rows_are_taken_as_independent(store, comments):
    rows = store.query(
        "SELECT comment FROM duckdb_functions()"
        " WHERE function_name IN ('conf_low', 'conf_high', 'half_width')"
    )
    assert len(rows) == 3
    said = [*rows["comment"], comments["main.prompt_gain"], comments["main.prompt_gain.category"]]
    assert [text for text in said if "independent" not in text] == []
    assert "category" in comments["main.prompt_gain"]
