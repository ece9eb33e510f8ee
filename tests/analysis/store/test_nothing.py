"""Notes on an answer without a row: what stands there of what it asks for."""

import re

import pandas as pd
import pytest

from analysis.store import open_store
from analysis.store.notes import cautions
from analysis.store.sources import shipped_sources
from tests.analysis.store import by_pandas
from tests.analysis.store.by_pandas import DATA


@pytest.fixture(scope="module")
def store():
    return open_store(*shipped_sources())


def notes(store, query):
    """Return the notes of an answer, of one without a row as the command does."""
    rows = store.query(query)
    lacking = [name for name, there in rows.notna().any().items() if not there]
    return cautions(store, query, is_empty=rows.empty, lacking=lacking)


def numbers(note):
    """Return the numbers of a note that stand by themselves."""
    return [float(it) for it in re.findall(r"(?<=[ :])-?\d[\d.e+-]*(?=[ ,;]|$)", note)]


def measured(name):
    """Return a table of the models that the store has, without the networks of the sample."""
    rows = getattr(by_pandas, name)()
    return rows[~rows["model_id"].str.startswith("thermoscope/")]


def models(column, value):
    rows = by_pandas.frame("model")
    return rows[rows[column] == value]


JOINED = "SELECT {} FROM model m JOIN model_gain g USING (model_id) WHERE m.suite = 'Pythia'"


@pytest.mark.parametrize("chosen", ["m.model_id, gain_body", "count(*)", "avg(gain_body)"])
def test_a_join_names_the_models_that_a_condition_takes_and_no_other_column(store, chosen):
    (note,) = notes(store, JOINED.format(chosen))
    n = store.query("SELECT count(*) AS n FROM model WHERE suite = 'Pythia'")["n"].item()
    assert f"the {n} models of model" in note
    assert "in model_gain" in note


def test_models_that_both_sides_of_a_join_choose_are_counted(store):
    query = "SELECT m.model_id FROM model m JOIN coverage c USING (model_id) WHERE {}"
    ask = "c.quantity = 'attention' AND c.is_there AND m.suite = 'Pythia'"
    (note,) = notes(store, query.format(ask))
    assert numbers(note) == [8, len({*measured("attention")["model_id"]})]


EMPTY = "SELECT {} FROM model_gain WHERE {} = '{}'"
CHOSEN = ["model_id", "count(*)", "count(DISTINCT model_id), sum(gain_body)"]


@pytest.mark.parametrize("chosen", CHOSEN)
def test_a_text_of_another_table_is_said_to_be_there_and_a_column_to_be_null(store, chosen):
    (text, null) = notes(store, EMPTY.format(chosen, "suite", "Pythia"))
    assert text.startswith("no row of model_gain has suite 'Pythia'; model, published_model ")
    assert null.startswith("model_gain.suite is NULL in every row: ")


@pytest.mark.parametrize("chosen", CHOSEN)
def test_a_text_that_one_table_lacks_is_not_denied_to_others(store, chosen):
    (text, values) = notes(store, EMPTY.format(chosen, "lab", "EleutherAI"))
    assert text.startswith("no row of model_gain has lab 'EleutherAI'; model, published_model")
    labs = sorted({*measured("model_gain").merge(by_pandas.models())["lab"]})
    assert values == f"model_gain.lab has {len(labs)} values: {', '.join(labs)}"


@pytest.mark.parametrize("chosen", ["model_id, lab, growth_after_block_0", "max(n_layers)"])
@pytest.mark.parametrize("condition", ["growth_after_block_0 < 1", "0 > g.growth_after_block_0"])
def test_a_number_that_no_row_meets_is_answered_by_the_least_and_the_greatest(
    store, chosen, condition
):
    (note,) = notes(store, f"SELECT {chosen} FROM model_gain AS g WHERE {condition}")
    values = measured("model_gain")["growth_after_block_0"]
    assert note.startswith("model_gain.growth_after_block_0 goes from ")
    assert numbers(note) == pytest.approx([values.min(), values.max()], rel=1e-5)


def test_a_number_is_looked_for_in_the_rows_that_the_other_conditions_take(store):
    query = "SELECT model_id FROM published_model WHERE lab = 'EleutherAI' AND gain_last_block > 9"
    (note,) = notes(store, query)
    rows = by_pandas.published_model().query("lab == 'EleutherAI'")
    gains = rows["gain_last_block"]
    assert numbers(note) == pytest.approx([gains.min(), gains.max(), len(rows)], rel=1e-5)
    both = notes(store, query.replace("EleutherAI", "Nobody"))
    gains = by_pandas.published_model()["gain_last_block"]
    assert numbers(both[-1]) == pytest.approx([gains.min(), gains.max()], rel=1e-5)
    (joined,) = notes(
        store,
        "SELECT avg(b.gain) FROM block b JOIN model m USING (model_id) "
        "WHERE m.lab = 'Google' AND b.gain > 500",
    )
    gemma = measured("block").merge(models("lab", "Google")[["model_id"]])
    assert numbers(joined)[1:] == pytest.approx([gemma["gain"].max(), len(gemma)], rel=1e-5)


def test_numbers_that_are_named_are_answered_by_those_that_are_there(store):
    for condition in ("step = 500", "step IN (7, 500)"):
        (note,) = notes(store, f"SELECT count(*) FROM network_step WHERE {condition}")
        steps = sorted({*by_pandas.frame("network_step")["step"]})
        assert len(steps) == 8
        assert note == f"network_step.step has 8 values: {', '.join(map(str, steps))}"
    (note,) = notes(store, "SELECT count(*) FROM block WHERE layer IN (98, 99)")
    assert numbers(note) == [0, measured("block")["layer"].max()]


@pytest.mark.parametrize(
    "inner",
    [
        "(SELECT * FROM published_model WHERE lab = 'Meta')",
        "published_model WHERE lab || '' = lab AND lab IN (SELECT 'Meta') AND",
    ],
)
def test_values_of_some_rows_are_not_said_to_be_those_of_the_table(store, inner):
    where = "" if inner.endswith("AND") else " AS p WHERE"
    (note,) = notes(store, f"SELECT model_id FROM {inner}{where} n_layers > 1000")
    rows = by_pandas.published_model().query("lab == 'Meta'")
    assert numbers(note) == [rows["n_layers"].min(), rows["n_layers"].max(), len(rows)]


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("ln(gain_last_block) > 5", "ln(gain_last_block)"),
        ("gain_last_block BETWEEN 80 AND 90", "published_model.gain_last_block"),
        ("NOT n_layers < 1000", "published_model.n_layers"),
        ("gain_last_block > (SELECT max(gain_last_block) FROM published_model)",
         "published_model.gain_last_block"),
    ],
)  # fmt: skip
def test_an_expression_is_named_as_it_is_written(store, condition, name):
    (note,) = notes(store, f"SELECT model_id FROM published_model WHERE {condition}")
    assert note.startswith(f"{name} goes from ")


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ("SELECT lab, avg(gain_last_block) AS g FROM published_model GROUP BY lab HAVING g > 9", 1),
        ("SELECT lab FROM published_model GROUP BY 1 HAVING avg(gain_last_block) > 9", 1),
        ("SELECT count(*) FROM (SELECT lab FROM published_model GROUP BY 1 HAVING "
         "avg(gain_last_block) > 9 AND count(*) > 99)", 2),
    ],
)  # fmt: skip
def test_groups_that_having_leaves_out_are_answered_by_their_values(store, query, n):
    found = notes(store, query)
    assert len(found) == n
    means = by_pandas.published_model().groupby("lab")["gain_last_block"].mean()
    assert numbers(found[0]) == pytest.approx([means.min(), means.max(), len(means)], rel=1e-5)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("is_measured AND is_published", "model.is_measured has one value"),
        ("model_id IS NULL", "model.model_id is NULL in no row"),
        ("training_step IS NOT NULL", "model.training_step is NULL in every row: "),
        ("lab = 'BigScience' AND suite LIKE 'Py%'", "model.lab has one value in the"),
        ("lab IN ('a', 'b')", "model.lab has 14 values: 01.AI, "),
    ],
)
def test_what_else_no_row_meets_is_said_of_its_column(store, condition, said):
    found = notes(store, f"SELECT model_id FROM model WHERE {condition}")
    assert any(note.startswith(said) for note in found)


@pytest.mark.parametrize(
    "query",
    [
        "WITH p AS (SELECT * FROM model_gain WHERE suite = 'Pythia') SELECT count(*) FROM p",
        "SELECT (SELECT count(*) FROM model_gain WHERE suite = 'Pythia'), count(*) FROM claim",
        "SELECT c.claim_id, x.n FROM claim c LEFT JOIN (SELECT lab, count(*) AS n FROM model_gain "
        "WHERE suite = 'Pythia' GROUP BY lab) x ON x.lab = c.law",
    ],
)
def test_an_aggregate_of_no_row_is_explained_wherever_it_stands(store, query):
    assert [note for note in notes(store, query) if note.startswith("model_gain.suite is NULL")]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT model_id FROM model LIMIT 0",
        "SELECT model_id FROM model_gain WHERE gain_body > gain_last_block * 1000",
        "SELECT count(*) FROM claim WHERE verdict = 'contradicted'",
        "SELECT model_id, reason FROM model_gain",
        "SELECT model_id, reason AS why FROM model_gain",
        "SELECT model_id, suite FROM model_gain WHERE suite IS NULL",
    ],
)
def test_nothing_is_said_where_no_constant_is_asked_for_or_rows_are_there(store, query):
    assert notes(store, query) == []


def test_a_column_that_no_row_of_its_table_has_is_said_with_its_meaning(store):
    (note,) = notes(store, "SELECT training_step FROM model")
    assert note.startswith("model.training_step is NULL in every row: ")
    (suite, rest) = notes(store, "SELECT m.suite AS s, lab || suite AS t FROM model_gain m")
    assert suite.startswith("model_gain.suite is NULL in every row: ")
    assert rest.startswith("t: NULL in every row of the answer")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g.model_id FROM model_gain g JOIN published_model USING (model_id)",
        "SELECT count(*) FROM model_gain g JOIN published_model USING (model_id)",
        "SELECT model_id FROM model_gain WHERE model_id IN (SELECT model_id FROM published_model)",
    ],
)
def test_models_of_the_paper_that_others_measured_are_counted(store, query):
    (note,) = notes(store, query)
    assert note.startswith("no model_id is both in model_gain and in published_model")
    tables = (DATA / "reported" / f"reported_{it}.parquet" for it in ("figure", "norm"))
    names = {name for it in tables for name in pd.read_parquet(it)["model_id"]}
    n = len(names & {*by_pandas.published_model()["model_id"]})
    assert n == 3
    assert f"; {n} models of published_model were measured by others: raw.reported_gain" in note


def test_no_other_model_is_counted_where_others_measured_none():
    some = open_store(DATA / "published", DATA / "sample")
    (note,) = notes(some, "SELECT count(*) FROM model_gain JOIN published_model USING (model_id)")
    assert note.startswith("no model_id is both in model_gain and in published_model")
    assert "measured by others" not in note
