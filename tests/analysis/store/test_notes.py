"""Notes on rows that do not count or are not independent, also through WITH and FROM."""

import re

import numpy as np
import pytest

from analysis.store import open_store
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import SOURCES
from tests.analysis.store.noted import NOTED, noted


@pytest.fixture(scope="module")
def store():
    return open_store(*SOURCES)


@pytest.mark.parametrize("case", NOTED["absent"])
def test_rows_without_a_value_that_are_counted_are_noted(store, case):
    column, query = case.split(": ", 1)
    (note,) = [note for note in noted(store, query) if "is NULL" in note]
    values = by_pandas.published_model()[column]
    assert values.isna().any()
    count = f"{values.isna().sum()} of the {len(values)} rows"
    assert note.startswith(f"published_model.{column} is NULL in {count}")
    is_rank = "rank()" in query or ("ORDER BY" in query and "GROUP BY" not in query)
    assert ("rank last" in note) == is_rank


@pytest.mark.parametrize("query", NOTED["there"])
def test_rows_without_a_value_that_a_query_knows_of_are_not_noted(store, query):
    assert not [note for note in noted(store, query) if " NULL " in note]


@pytest.mark.parametrize("query", NOTED["block 0"])
def test_block_0_is_said_to_have_no_gain_and_where_it_is(store, query):
    (note,) = [note for note in noted(store, query) if " NULL " in note]
    assert note.startswith("block.gain is NULL for block 0")
    assert "prompt_gain.gain_embedding" in note
    condition = "WHERE layer > 0 AND" if " WHERE " in query else "block WHERE layer > 0"
    without = query.replace("WHERE" if " WHERE " in query else "block", condition, 1)
    without = without.replace("0 b JOIN model m USING (model_id)", "0").replace("b.", "")
    assert not [note for note in noted(store, without) if " NULL " in note]


def test_columns_without_a_value_in_the_same_rows_share_a_note(store):
    query = "SELECT model_id, avg(gain), max(gain), avg(gain_centred) FROM block GROUP BY model_id"
    (note,) = [note for note in noted(store, query) if "NULL" in note]
    assert note.startswith("block.gain, gain_centred are NULL for block 0")


@pytest.mark.parametrize("case", NOTED["passed on"])
def test_a_query_through_with_or_from_has_the_notes_of_its_table(store, case):
    inner, query = case.split(": ", 1)
    table = re.search(r"FROM (\w+)", inner).group(1)
    direct = noted(store, query)
    assert direct
    assert noted(store, query.replace(table, inner)) == direct
    assert noted(store, f"WITH a AS {inner}, b AS (FROM a) {query.replace(table, 'b')}") == direct


@pytest.mark.parametrize("end", ["GROUP BY ALL", "LIMIT 9", "UNION ALL FROM network"])
def test_a_query_that_makes_other_rows_is_not_read_as_its_table(store, end):
    query = f"SELECT conf_low(log_growth) FROM (SELECT * FROM network {end})"
    assert len(noted(store, query.replace(end, ""))) == 1
    assert noted(store, query) == []


@pytest.mark.parametrize("case", NOTED["not met"])
def test_rows_that_meet_no_comparison_are_noted_with_their_number(store, case):
    column, query = case.split(": ", 1)
    notes = [it for it in noted(store, query) if column in it and "without it have" not in it]
    (note,) = [it for it in notes if "rounding" not in it]
    values = by_pandas.published_model()
    values = values[values["n_layers"] > 4] if "n_layers" in query else values
    assert re.findall(r"\d+", note) == [str(values[column].isna().sum()), str(len(values))]


@pytest.mark.parametrize("taken", ["avg", "count"])
def test_labs_counted_beside_a_gain_that_some_lack_are_noted(store, taken):
    query = f"SELECT count(DISTINCT lab), {taken}(gain_penultimate_block) FROM published_model"
    (note,) = [note for note in noted(store, query) if "is NULL" in note]
    assert note.startswith("published_model.gain_penultimate_block is NULL in 18 of the 34")


@pytest.mark.parametrize("case", NOTED["repeated alike"])
def test_a_mean_of_values_that_a_join_repeats_alike_is_what_it_was(store, case):
    alone, joined = case.split(": ")
    assert not [note for note in noted(store, joined) if "join repeats" in note]
    rows, expected = (store.query(f"SELECT * FROM ({sql}) ORDER BY 1") for sql in (joined, alone))
    assert rows.iloc[:, -1].tolist() == pytest.approx(expected.iloc[:, -1].tolist(), rel=1e-12)


@pytest.mark.parametrize("case", NOTED["crossed"])
def test_rows_of_one_model_that_are_several_kinds_of_unit_are_noted(store, case):
    said, query = case.split(": ", 1)
    (note,) = [note for note in noted(store, query) if "taken together; average by" in note]
    assert said in note
    rows = store.query("FROM block WHERE model_id = 'local/gemma-3-270m-q4_k_m' AND layer > 0")
    assert (len(rows), rows["prompt_id"].nunique(), rows["layer"].nunique()) == (425, 25, 17)


def test_the_model_whose_rows_are_counted_is_named_among_several(store):
    query = "SELECT model_id, corr(attention_ratio, gain) FROM block WHERE {} GROUP BY model_id"
    (note,) = [it for it in noted(store, query.format("layer > 0")) if "taken together" in it]
    rows = store.query("FROM block WHERE layer > 0")
    sizes = rows.groupby("model_id").size()
    model = next(name for name in sizes.index if f"{sizes[name]} rows of {name} are " in note)
    blocks = rows[rows["model_id"] == model]["layer"].nunique()
    assert f"25 prompts of {blocks} blocks" in note
    one = noted(store, query.format(f"layer > 0 AND model_id = '{model}'"))
    assert not [note for note in one if model in note]


@pytest.mark.parametrize("query", NOTED["of one kind"])
def test_rows_of_one_model_that_are_one_kind_of_unit_are_not_noted(store, query):
    assert not [note for note in noted(store, query) if "taken together" in note]


@pytest.mark.parametrize("case", NOTED["opposite ways"])
def test_recipes_that_move_in_opposite_directions_in_a_mean_are_counted(store, case):
    numbers, query = case.split(": ", 1)
    notes = [note for note in noted(store, query) if "falls" in note]
    if "0" in numbers.split(" and "):
        assert notes == []
    else:
        n_falls, n_rises = map(int, numbers.split(" and "))
        (note,) = notes
        assert [int(it) for it in re.findall(r"\d+", note)] == [n_falls + n_rises, n_falls, n_rises]


def test_the_recipes_that_rise_and_fall_are_those_of_the_table(store):
    rows = store.query("FROM network_step")
    for column, n_falls in (("log_growth", 5), ("excess_growth", 6), ("loss", 8)):
        by_step = rows.pivot_table(column, "recipe", "step")
        changes = by_step[1200] - by_step[0]
        assert ((changes < 0).sum(), (changes > 0).sum()) == (n_falls, 8 - n_falls)


@pytest.mark.parametrize("query", NOTED["file's parameters"])
def test_parameters_that_a_file_counts_twice_are_noted_with_their_number(store, query):
    (note,) = [note for note in noted(store, query) if "n_parameters counts" in note]
    models = by_pandas.models().set_index("model_id")
    models = models[models["quantisation"].notna() & ~models["is_tied"].astype(bool)]
    assert len(models) == 2
    for name, row in models.iterrows():
        fewer = row["n_vocabulary"] * row["d_model"]
        assert f"{name} by {fewer / 1e6:.0f} million" in note
    one = models.index[0]
    # Both released models tie: 494,032,768 and 1,543,714,304 parameters.
    released = models["n_parameters"] - models["n_vocabulary"] * models["d_model"]
    assert sorted(released) == [494_032_768, 1_543_714_304]
    assert not noted(store, "SELECT model_id, gain_body FROM model_gain ORDER BY 2")
    (note,) = [
        note
        for note in noted(store, f"SELECT n_parameters FROM model WHERE model_id = '{one}'")
        if "n_parameters counts" in note
    ]
    assert note.count("million") == 1


@pytest.mark.parametrize("case", NOTED["suites"])
def test_models_of_one_suite_are_not_independent_in_an_interval(store, case):
    counted, query = case.split(": ", 1)
    (note,) = [note for note in noted(store, query) if "suite" in note.partition(":")[2]]
    assert note.startswith(f"published_model: {counted} ")


def test_a_mean_over_models_of_one_suite_has_no_note_of_it(store):
    for query in (
        "SELECT lab, avg(gain_penultimate_block) FROM published_model GROUP BY lab",
        "SELECT spearman(n_parameters, gain_penultimate_block_pythia) FROM published_model "
        "WHERE suite = 'Pythia'",
    ):
        assert not [note for note in noted(store, query) if "not independent" in note]


def test_a_fine_tuned_model_is_named_where_it_counts(store):
    query = "SELECT lab, avg({}) FROM published_model {} GROUP BY lab"
    for column, where, is_said in (
        ("gain_last_block", "", True),
        ("gain_last_block", "WHERE base_model_id IS NULL", False),
    ):
        (note,) = [it for it in noted(store, query.format(column, where)) if "rest on one" in it]
        assert ("fine-tuned" in note) == is_said


@pytest.mark.parametrize("case", NOTED["siblings"])
def test_models_whose_gain_is_in_another_column_are_counted(store, case):
    n, query = case.split(": ", 1)
    notes = [note for note in noted(store, query) if "over other prompts" in note]
    column = re.search(r"gain_\w+(?=\W)", query).group()
    figures = by_pandas.published_model()
    only = figures[column].isna() & figures[f"{column}_pythia"].notna()
    assert only.sum() == 7
    if n == "0":
        assert notes == []
    else:
        (note,) = notes
        assert note.startswith(f"published_model.{column}: {n} models")
        assert f"{column}_pythia" in note


@pytest.mark.parametrize("case", NOTED["unequal networks"])
def test_groups_of_unequal_shares_of_the_networks_are_noted_with_their_sizes(store, case):
    said, query = case.split(": ", 1)
    fewest, most, more = said.split(" ", 2)
    (note,) = [note for note in noted(store, query) if "like with like" in note]
    assert re.findall(r"\d+", note) == [fewest, most]
    assert f"GROUP BY {more} too" in note
    networks = store.query("FROM network WHERE is_beyond_trigram")
    sizes = networks.groupby("shape" if more == "recipe" else "recipe").size()
    assert [sizes.min(), sizes.max()] == [int(fewest), int(most)]


@pytest.mark.parametrize("query", NOTED["equal networks"])
def test_groups_of_equal_shares_of_the_networks_are_not_noted(store, query):
    assert not [note for note in noted(store, query) if "like with like" in note]


@pytest.mark.parametrize("case", NOTED["uneven means"])
def test_means_that_one_block_or_model_decides_are_noted_with_their_range(store, case):
    said, query = case.split(": ", 1)
    by, low, high = said.split()
    (note,) = [note for note in noted(store, query) if "hides" in note]
    assert f"from {low} to {high}" in note
    assert note.endswith(f"GROUP BY {by} too")


def test_the_range_that_is_noted_is_that_of_the_means_by_block(store):
    rows = store.query("FROM stream")
    ratios = (rows["first_length"] / rows["length"]).groupby([rows["model_id"], rows["layer"]])
    ranges = ratios.mean().groupby("model_id").agg(["min", "max"])
    widest = ranges.loc[(ranges["max"] / ranges["min"]).idxmax()]
    assert [f"{it:.3g}" for it in widest] == ["0.915", "205"]


@pytest.mark.parametrize("query", NOTED["even means"])
def test_means_of_like_values_are_not_noted(store, query):
    assert not [note for note in noted(store, query) if "hides" in note]


def test_groups_of_one_model_are_named_by_all_their_columns(store):
    query = "SELECT lab, suite, avg(gain_penultimate_block) FROM published_model GROUP BY ALL"
    (note,) = [note for note in noted(store, query) if "rest on one model" in note]
    figures = by_pandas.published_model().merge(by_pandas.models())
    sizes = figures.groupby(["lab", "suite"])["gain_penultimate_block"].count()
    for lab, suite in sizes.index[sizes == 1]:
        assert f"{lab} / {suite}" in note
    assert note.count("/") == (sizes == 1).sum() + 1


def test_a_correlation_is_said_within_suites_of_three_models_or_more(store):
    query = "SELECT corr(ln(n_parameters), gain_penultimate_block) FROM published_model"
    (note,) = [note for note in noted(store, query) if "not independent" in note]
    figures = by_pandas.published_model().merge(by_pandas.models())
    figures = figures.dropna(subset="gain_penultimate_block")
    figures["size"] = np.log(figures["n_parameters"])
    within = {
        name: rows["size"].corr(rows["gain_penultimate_block"])
        for name, rows in figures.groupby("suite")
        if len(rows) >= 3
    }
    assert len(within) == 3
    assert {f"{r:.2f} in {name}" for name, r in within.items()} == {
        *note.partition("corr is ")[2].split(", ")
    }


def test_a_count_of_rows_beside_a_mean_is_not_of_its_values(store):
    query = "SELECT lab, avg(gain_last_block){} FROM published_model GROUP BY lab"
    for beside, is_said in ((", count(*)", True), ("", False)):
        (note,) = [it for it in noted(store, query.format(beside)) if " is NULL in " in it]
        assert ("count(*)" in note) == is_said


def test_models_with_another_gain_alone_are_counted(store):
    query = (
        "SELECT t.gain_penultimate_block, b.gain_penultimate_block FROM published_model AS t "
        "JOIN published_model AS b ON t.base_model_id = b.model_id"
    )
    (note,) = [it for it in noted(store, query) if "another gain" in it]
    figures = by_pandas.published_model().merge(by_pandas.models())
    tuned = figures[figures["base_model_id"].isin(figures["model_id"])]
    n = (tuned["gain_penultimate_block"].isna() & tuned["gain_last_block"].notna()).sum()
    assert note.startswith(f"published_model.gain_penultimate_block: {n} models without it have ")
    assert "gain_last_block" in note


@pytest.mark.parametrize("case", NOTED["another gain"])
def test_a_group_without_a_gain_names_another_that_its_models_have(store, case):
    n, query = case.split(": ", 1)
    notes = [note for note in noted(store, query) if "another gain" in note]
    figures = by_pandas.published_model().merge(by_pandas.models())
    of_lab = figures[figures["lab"] == "TII"]
    assert of_lab["gain_last_block"].isna().all()
    assert of_lab["gain_penultimate_block"].notna().sum() == 1
    assert [re.findall(r"\d+", note) for note in notes] == ([[n]] if n != "0" else [])
