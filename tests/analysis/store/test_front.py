"""Tables of schema main: one row per unit; any grouping gives what pandas gives of the files."""

import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.store import open_store
from analysis.store.hint import front, relations
from analysis.store.sources import shipped_sources
from collect import schema
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import DATA, KEYS, SOURCES


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


@pytest.fixture(scope="module")
def tables(store):
    """Every table of schema main, as SQL gives it."""
    return {name: store.query(f"FROM {name}") for name in KEYS}


def test_schema_main_holds_at_most_fourteen_tables_and_each_says_its_unit_and_units(store):
    assert front() == list(KEYS)
    assert len(front()) <= 14
    comments = schema.commented(schema.front_sql())[1]
    known = {*front(), *relations()}
    for name in front():
        comment = comments[f"main.{name}"]
        assert comment.startswith("One row per ")
        assert " AND " not in comment.partition(":")[0]
        named = {word.strip(".,;)") for word in comment.split() if word.startswith("raw.")}
        assert {word.split(".")[1] for word in named} <= known
        for column in store.query(f"FROM {name} LIMIT 0").columns:
            meaning, unit = schema.unit_apart(comments[f"main.{name}.{column}"])
            assert meaning, (name, column)
            assert unit, (name, column)


@pytest.mark.parametrize("name", KEYS)
def test_every_row_is_one_unit_and_every_unit_a_row(tables, name):
    rows, key = tables[name], KEYS[name]
    assert not rows[key].isna().any(axis=None)
    assert not rows.duplicated(key).any()
    assert not any("run_id" in column for column in rows)
    expected = by_pandas.frame(name)
    assert len(rows) == len(expected)
    assert set(rows[key].itertuples(index=False)) == set(expected[key].itertuples(index=False))


@pytest.mark.parametrize("name", KEYS)
def test_every_number_is_what_pandas_finds_in_the_files(tables, name):
    rows, expected = (it.set_index(KEYS[name]) for it in (tables[name], by_pandas.frame(name)))
    expected = expected.loc[rows.index]
    shared = [column for column in rows if column in expected]
    assert shared
    for column in shared:
        one, other = rows[column], expected[column]
        if pd.api.types.is_numeric_dtype(one) and not pd.api.types.is_bool_dtype(one):
            assert one.to_numpy(float, na_value=np.nan) == pytest.approx(
                other.to_numpy(float, na_value=np.nan), rel=1e-6, nan_ok=True
            ), column
        else:
            assert (
                one.astype(object).fillna("").tolist() == other.astype(object).fillna("").tolist()
            )


#: Columns to group by, beside those of the key.
LABELS = {
    "model": ["lab", "family", "is_trained_here", "is_published"],
    "model_gain": ["lab", "n_layers"],
    "prompt_gain": ["prompt_set", "category"],
    "published_model": ["lab", "suite"],
    "network": ["recipe", "family", "shape", "seed"],
    "network_step": ["recipe", "family", "shape", "seed"],
    "claim": ["verdict", "law", "is_central"],
    "coverage": ["is_there"],
}
AGGREGATES = {"avg": "mean", "min": "min", "max": "max", "sum": "sum", "count": "count"}


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_grouping_gives_what_pandas_gives_of_the_files(store, data):
    """No column need be filtered: a bare aggregate over any grouping is that over the units."""
    name = data.draw(st.sampled_from(list(KEYS)))
    expected = by_pandas.frame(name)
    groups = data.draw(
        st.lists(st.sampled_from([*KEYS[name], *LABELS.get(name, [])]), unique=True, max_size=3)
    )
    known = store.query(f"FROM {name} LIMIT 0").columns
    values = [
        column
        for column in known
        if column in expected
        and column not in {*groups, *KEYS[name]}
        and pd.api.types.is_float_dtype(expected[column])
    ]
    value = data.draw(st.sampled_from(values)) if values else None
    word = data.draw(st.sampled_from(list(AGGREGATES))) if value else "count"
    asked = f"{word}({value or '*'})::DOUBLE AS value, count(*) AS n_rows"
    chosen = ", ".join([*groups, asked])
    sql = f"SELECT {chosen} FROM {name} {'GROUP BY ALL' if groups else ''}"
    result = store.query(sql)
    groups_or_one = [expected[it] for it in groups] or [pd.Series(0, expected.index)]
    made = expected.groupby(groups_or_one, dropna=False)
    sizes = made.size()
    numbers = made[value].agg(AGGREGATES[word]) if value else sizes
    if word == "sum":  # nothing to add up is NULL in SQL
        numbers = numbers.where(made[value].count() > 0)
    key = groups or None
    result = result.set_index(key) if key else result.set_axis([0])
    result.index = _plain(result.index)
    sizes.index = numbers.index = _plain(sizes.index)
    assert result["n_rows"].to_dict() == sizes.to_dict(), sql
    assert result["value"].to_dict() == pytest.approx(
        numbers.astype(float).to_dict(), rel=1e-6, abs=1e-9, nan_ok=True
    ), sql


def _plain(index):
    """Return an index whose missing labels are all None, and whose numbers are alike."""
    rows = [each if isinstance(each, tuple) else (each,) for each in index]
    return pd.Index(
        [
            str([None if pd.isna(it) else it if isinstance(it, str) else float(it) for it in row])
            for row in rows
        ]
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The store that an installed package opens."""
    hatch_build = pytest.importorskip("hatch_build", reason="hatchling is not installed")
    place_of = tmp_path_factory.mktemp("wheel")
    for source, place in hatch_build.travelling(DATA.parent).items():
        if place.startswith("collect/shipped/data/"):
            (place_of / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place_of / place)
    data = place_of / "collect/shipped/data"
    names = ["published", "fleet", "public", "reported"]
    return open_store(*(data / name for name in names))


@pytest.fixture(scope="module")
def cloned():
    """The store that a clone opens."""
    return open_store(*shipped_sources())


def test_every_table_of_the_wheel_is_that_of_a_clone_but_for_what_coverage_says(cloned, installed):
    for name in (it for it in KEYS if it not in {"model", "coverage"}):
        asked = f"FROM {name} ORDER BY {', '.join(KEYS[name])}"
        there, here = (it.query(asked) for it in (installed, cloned))
        assert len(here)
        pd.testing.assert_frame_equal(there, here, rtol=1e-14)
    sets = "SELECT * EXCLUDE (n_prompt_sets) FROM model ORDER BY model_id"
    pd.testing.assert_frame_equal(installed.query(sets), cloned.query(sets))
    cells = "FROM raw.coverage WHERE is_there"
    keys = ["model_id", "quantity", "prompt_set"]
    lacking = cloned.query(cells).merge(
        installed.query(cells)[keys], how="left", on=keys, indicator=True
    )
    lacking = lacking[lacking["_merge"] == "left_only"]
    assert len(lacking) > 40
    assert (lacking["prompt_set"] != by_pandas.SET).all()
    assert installed.query("FROM coverage WHERE NOT is_there AND reason IS NULL").empty


def test_networks_trained_here_are_opened_by_name(cloned):
    assert not cloned.query("FROM model")["is_trained_here"].any()
    sample = open_store(DATA / "sample").query("FROM model_gain")
    assert sample["is_trained_here"].all()
    assert len(sample) == 12


def test_the_reason_names_those_who_have_a_model(cloned):
    cells = cloned.query("FROM coverage WHERE reason IS NOT NULL")
    model = cloned.query("FROM model").set_index("model_id")
    of_none = cells[~cells["model_id"].map(model["is_measured"])]
    of_none = of_none[of_none["quantity"] != "published gain"]
    for word, column in (("published", "is_published"), ("others", "is_reported")):
        said = of_none["reason"].str.contains(word)
        assert (said == of_none["model_id"].map(model[column])).all()
    both = model[model["is_published"] & model["is_reported"] & ~model["is_measured"]]
    assert len(both) == 3


def test_rows_that_a_store_lacks_are_named(tiny_copy):
    for path in (tiny_copy / "attention").glob("*"):
        path.unlink()
    cells = open_store(tiny_copy).query("FROM coverage WHERE quantity = 'attention'")
    assert cells["reason"].str.contains("not in the opened store").any()


def test_a_model_that_lacks_the_common_set_has_rows_of_its_own(unlike_sets):
    for name in ("prompt_gain", "block", "stream", "outlier_token", "attention"):
        sets = unlike_sets.query(f"SELECT DISTINCT model_id, prompt_set FROM {name}")
        gains = unlike_sets.query("SELECT model_id, prompt_set FROM model_gain")
        assert sets["model_id"].is_unique
        assert sets.merge(gains).shape == sets.shape
        assert sets["prompt_set"].nunique() == 2
        assert unlike_sets.query(f"FROM raw.{schema.SAMPLES[name].others}").shape[0]


def test_where_the_last_token_is_not_known_gains_are_null_and_a_reason_is_given(tiny_copy):
    for path in (tiny_copy / "next_token").glob("*"):
        path.unlink()
    rows = open_store(tiny_copy).query("FROM model_gain")
    assert rows["gain_last_block"].isna().all()
    assert rows["gain_whole_matrix"].notna().all()
    assert rows["reason"].str.contains("last").all()
    cells = open_store(tiny_copy).query("FROM coverage WHERE quantity = 'last token'")
    assert not cells["is_there"].any()
    assert cells["reason"].notna().all()


def test_intervals_are_students_and_rank_correlations_spearmans(store):
    frame = by_pandas.prompt_gain()
    sql = """
        SELECT model_id, prompt_set, conf_low(gain_body) AS low, conf_high(gain_body) AS high,
               spearman(n_tokens, gain_body) AS r, count(*) AS n
          FROM prompt_gain GROUP BY ALL
    """
    for row in store.query(sql).itertuples():
        x = frame[(frame["model_id"] == row.model_id) & (frame["prompt_set"] == row.prompt_set)]
        gains = x["gain_body"]
        if row.n == 1:
            assert np.isnan(row.low)
            continue
        low, high = stats.t.interval(0.95, len(gains) - 1, gains.mean(), stats.sem(gains))
        assert (row.low, row.high) == pytest.approx((low, high), rel=1e-9)
        if row.n > 3:
            assert row.r == pytest.approx(stats.spearmanr(x["n_tokens"], gains).statistic, abs=1e-9)
    for df in (1, 2, 30, 31, 100, 5000):
        quantile = store.query(f"SELECT student_quantile({df}) AS t")["t"].item()
        assert quantile == pytest.approx(stats.t.ppf(0.975, df), rel=1e-7)
    signs = store.query(
        "SELECT direction(x) AS s FROM (VALUES (2.0), (0.5), (1), (NULL), (-1)) t(x)"
    )
    assert signs["s"].fillna("").tolist() == ["expand", "dampen", "neutral", "", ""]
