"""What `sql` prints: every digit, every value, and a hint where a name is not known."""

import csv
import io
import json
import sys

import duckdb
import pandas as pd
import pytest

from analysis.commands import tables
from analysis.commands.columns import by_subject
from analysis.store.hint import front, relations
from analysis.store.notes import caution
from analysis.store.statement import plain
from collect import schema
from tests.analysis.commands.conftest import run
from tests.analysis.store.noted import NOTED

pytestmark = pytest.mark.usefixtures("in_the_checkout")


def test_sql_prints_csv_that_pandas_reads_back(capsys):
    code, _, err = run(capsys, "sql", 'SELECT "KeyboardInterrupt"')
    assert code == 2
    assert "KeyboardInterrupt" in err
    code, out, _ = run(capsys, "sql", "SELECT claim_id FROM raw.claim ORDER BY 1 LIMIT 2", "--csv")
    assert code == 0
    assert pd.read_csv(io.StringIO(out))["claim_id"].tolist() == [1, 2]
    error = duckdb.InternalException("INTERNAL Error: a size\n\nStack Trace:\n\n/x.so(+0x1) [0x7f]")
    assert plain(error) == "INTERNAL Error: a size"


VALUES = """FROM (VALUES (1.5::DOUBLE, 'a/b', 1, 'nan'::DOUBLE), (NULL, NULL, NULL, NULL),
  (3, 'c', 3, 2)) AS t(number, word, count, odd)"""


def test_sql_says_null_where_nothing_is_and_fits_a_terminal(capsys, monkeypatch):
    code, out, _ = run(capsys, "sql", f"{VALUES}; -- as it is")
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["number", "word", "count", "odd"],
        ["1.5", "a/b", "1", "NaN"],
        ["NULL", "NULL", "NULL", "NULL"],
        ["3.0", "c", "3", "2.0"],
    ]
    assert '"word":"a/b"' in run(capsys, "sql", VALUES, "--json")[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "16")
    lines = run(capsys, "sql", VALUES)[1].splitlines()
    assert [line.split() for line in lines if "number" in line] == [
        ["number", "word"],
        ["number", "count"],
        ["number", "odd"],
    ]
    assert max(map(len, lines)) <= 16


EXACT = """SELECT [1.5::DOUBLE, NULL, 'nan'] AS list, 'nan'::DOUBLE AS nothing,
  '-inf'::DOUBLE AS least,
  1.5e-12::DOUBLE AS tiny, 132912182112123456789::HUGEINT AS long, DATE '2024-01-02' AS day,
  TIMESTAMP '2024-01-02 03:04:05.123456' AS time, '\\xAA'::BLOB AS bytes, {'x': [NULL]} AS made,
  NULL AS missing, '' AS empty, '=1+1' AS formula, 1 AS list, true AS yes; -- a comment"""


def test_sql_prints_what_the_engine_found_and_nothing_else(capsys):
    (told,) = json.loads(run(capsys, "sql", EXACT, "--json")[1])
    assert told == {
        "list": [1.5, None, "NaN"], "nothing": "NaN", "least": "-Infinity", "tiny": 1.5e-12,
        "long": 132912182112123456789, "day": "2024-01-02", "time": "2024-01-02 03:04:05.123456",
        "bytes": "\\xAA", "made": {"x": [None]}, "missing": None, "empty": "",
        "formula": "=1+1", "list_1": 1, "yes": True,
    }  # fmt: skip
    head, row = csv.reader(io.StringIO(run(capsys, "sql", EXACT, "--csv")[1]))
    assert head == [*told]
    assert row == [
        '[1.5,null,"NaN"]', "nan", "-inf", "1.5e-12", "132912182112123456789", "2024-01-02",
        "2024-01-02 03:04:05.123456", "\\xAA", '{"x":[null]}', "", "", "'=1+1", "1", "true",
    ]  # fmt: skip
    assert run(capsys, "sql", "SELECT NULL AS a, '' AS b", "--csv")[1] == 'a,b\n,""\n'
    long = "SELECT 1 AS one, 132912182112123456789::HUGEINT AS long, 2 AS two"
    assert " 132912182112123456789 " in run(capsys, "sql", long)[1]
    assert json.loads(run(capsys, "sql", "FROM raw.model WHERE false", "--json")[1]) == []
    assert "explain_key" in run(capsys, "sql", "EXPLAIN SELECT 1", "--csv")[1]
    ordered = "SELECT h FROM (SELECT hash(range) AS h FROM range(30000)) ORDER BY h"
    hashes = run(capsys, "sql", ordered, "--csv")[1].split()[1:]
    assert len(hashes) == 30000
    assert sorted(hashes, key=int) == hashes


ODD = """; SELECT
  {'a': 'nan'::DOUBLE, 'd': 12345678901234567890.12345678901::DECIMAL(38, 11)} AS beside,
  {'n': 'inf'::DOUBLE, 'b': repeat('9', 5000)::BIGNUM} AS long, (1, '=1') AS pair,
  ['NaN', '"-Infinity"', '\\'] AS words, '{"a": nan, "b": [-inf, "inf"]}'::JSON AS loose,
  'a' || chr(13) || 'b' AS line, '=x'::VARIANT AS any, 1.5 AS a_1, 2 AS a, 3 AS A"""


def test_values_beside_what_json_has_no_number_for_keep_every_digit(capsys):
    code, out, _ = run(capsys, "sql", ODD, "--json")
    assert code == 0
    (told,) = json.loads(out, parse_float=str, parse_int=str, parse_constant=pytest.fail)
    assert told == {
        "beside": {"a": "NaN", "d": "12345678901234567890.12345678901"},
        "long": {"n": "Infinity", "b": "9" * 5000},
        "pair": ["1", "=1"], "words": ["NaN", '"-Infinity"', "\\"],
        "loose": {"a": "NaN", "b": ["-Infinity", "inf"]}, "line": "a\rb", "any": "=x",
        "a_1": "1.5", "a": "2", "A_2": "3",
    }  # fmt: skip
    lines = csv.DictReader(io.StringIO(run(capsys, "sql", ODD, "--csv")[1], newline=""))
    (row,) = lines
    assert (row["line"], row["any"], row["pair"]) == ("a\rb", '"=x"', '[1,"=1"]')
    assert row["beside"] == '{"a":"NaN","d":12345678901234567890.12345678901}'


def test_of_a_long_answer_both_ends_are_kept_and_no_rows_are_heads_alone(capsys):
    code, out, err = run(capsys, "sql", "SELECT range AS n, range / 3 AS third FROM range(25000)")
    assert (code, err) == (0, "25,000 rows\n")
    lines = [line.split()[0] for line in out.splitlines()]
    ends = ["0", "1", "2", "3", "4", "...", "24995", "24996", "24997", "24998", "24999"]
    assert lines == ["n", *ends]
    assert "0.3333333333333333" in out
    whole = run(capsys, "sql", f"SELECT range AS n FROM range({tables.MOST_SHOWN})")[1]
    assert len(whole.splitlines()) == tables.MOST_SHOWN + 1
    rows, count = tables.ends((str(n),) for n in range(10**6))
    assert (len(rows), count) == (2 * tables.AT_AN_END, 10**6)
    assert run(capsys, "sql", "SELECT 1 AS a, 2 AS b WHERE false")[1:] == ("a b\n", "0 rows\n")
    plan = run(capsys, "sql", "EXPLAIN SELECT 1")[1]
    assert "explain" not in plan
    assert "\\n" not in plan
    assert len(plan.splitlines()) > 3


@pytest.mark.parametrize("form", [["--csv"], ["--json"], []])
@pytest.mark.parametrize("query", ["SELECT error('no') AS a", "SELECT 'a'::INTEGER AS a"])
def test_a_query_that_fails_in_its_first_row_prints_nothing(capsys, form, query):
    code, out, error = run(capsys, "sql", query, *form)
    assert (code, out) == (2, "")
    assert error.startswith("error: ")


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT modell FROM MODEL", "hint: List columns with: DESCRIBE model"),
        ("EXPLAIN SELECT m.x FROM gain_by_model m", "columns with: DESCRIBE raw.gain_by_model"),
        ("FROM raw.model JOIN metric USING (lab)", "DESCRIBE raw.metric or DESCRIBE raw.model"),
        ("SELECT lab, avg(sigma_max) FROM weight_norm GROUP BY 1", "JOIN model USING (model_id)\n"),
        ("SELECT device FROM raw.stream", "add JOIN raw.run USING (run_id, model_id)\n"),
        ("SELECT n.category FROM next_token n", "add JOIN raw.prompt USING (prompt_id)\n"),
        ("SELECT lab FROM metric", "List columns with: DESCRIBE raw.metric\n"),
        ("FROM modell", "List tables and views with: SHOW ALL TABLES"),
        ("SELECT foo(1)", "hint: List functions with: SELECT DISTINCT function_name"),
        ("SELECT lab FROM raw.model a, model b", "'a.lab' or 'b.lab')\n"),
        ("SELECT sum(sum(1))", "nested\n"),
        ("WITH model AS (SELECT 1 AS a) SELECT nope FROM model, metric", "DESCRIBE raw.metric\n"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_known_is_answered_by_where_such_names_are_listed(capsys, query, hint):
    code, _, error = run(capsys, "sql", query)
    assert code == 2
    assert hint in error
    assert "TABLES" in hint or "TABLES" not in error


def notes(capsys, sql, *options):
    """Return the notes of a statement that is answered, without their mark."""
    code, _, err = run(capsys, "sql", sql, *options)
    assert code == 0
    return [line.removeprefix("note: ") for line in err.splitlines() if line.startswith("note: ")]


@pytest.mark.parametrize("query", NOTED["repeated units"])
def test_an_aggregate_over_rows_that_repeat_a_unit_is_noted(shipped_store, query):
    shipped_store.columns(query)
    assert sum(": take one " in note for note in caution.cautions(shipped_store, query)) == 1


@pytest.mark.parametrize("query", NOTED["quiet units"])
def test_no_note_where_what_repeats_is_grouped_filtered_or_not_aggregated(shipped_store, query):
    shipped_store.columns(query)
    assert caution.cautions(shipped_store, query) == []


def test_a_note_is_printed_beside_every_form_and_of_a_table_without_rows(capsys):
    for form in ([], ["--csv"], ["--json"]):
        (note, scale, again) = notes(capsys, "SELECT sum(norm) AS n FROM residual_norm", *form)
        assert note.startswith("raw.residual_norm: take one site")
        assert scale.startswith("raw.residual_norm.norm: values at several models")
        assert again.startswith("raw.residual_norm: runs of ")
    (note,) = notes(capsys, "SELECT count(*) AS n FROM published_value")
    assert "published_value" in note
    assert notes(capsys, "SELECT count(*) AS n FROM published_figure") == []


def test_runs_of_a_model_that_a_query_does_not_name_are_not_noted(capsys):
    query = "SELECT model_id, avg(norm) AS n FROM raw.stream WHERE model_id LIKE '{}' GROUP BY ALL"
    (note,) = notes(capsys, query.format("%qwen%"))
    assert "qwen" in note
    assert notes(capsys, query.format("%coder-1.5b%")) == []


def test_the_grain_of_a_table_names_its_columns_and_is_in_its_comment(shipped_store):
    comments = dict(
        shipped_store.query(
            "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'raw' UNION ALL "
            "SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'raw'"
        ).itertuples(index=False)
    )
    for name, grain in schema.GRAINS.items():
        known = {*shipped_store.query(f"FROM raw.{name} LIMIT 0").columns}
        assert {word for each in grain.columns for word in each.split(" or ")} <= known, name
        assert comments[name].startswith(f"One row per {grain.unit} AND {grain.beside}"), name
        assert f"Take one {grain.columns[0]}" in comments[name], name
        assert {*grain.front} <= {*front()}, name
    others = [text for name, text in comments.items() if name not in schema.GRAINS]
    assert all(text.startswith("One row per ") for text in others)
    assert not any(" AND " in text.partition(":")[0].partition(".")[0] for text in others)


def test_every_column_of_the_key_that_no_unit_names_is_in_the_grain():
    """What tells two rows of one unit apart is declared, or is the run or the place itself."""
    places = {"run_id", "model_id", "prompt_id", "layer", "position", "head", "place"}
    facts = {"study_run_id"} | {"prompt_set", "dtype", "path", "claim_id", "verdict", "site"}
    for name, grain in schema.GRAINS.items():
        if name in schema.tables():
            declared = {word for each in grain.columns for word in each.split(" or ")}
            assert {*schema.tables()[name].key} <= declared | places | facts, name


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]])
def test_an_answer_of_nothing_says_what_the_table_holds(capsys, form):
    asked = "SELECT avg(gain) FROM block WHERE model_id = 'openai-community/gpt2'"
    (one, two) = notes(capsys, asked, *form)
    assert "block.model_id has 4 values" in one
    assert "coverage" in two
    (one,) = notes(capsys, "FROM coverage WHERE quantity LIKE 'weights'", *form)
    assert "weight" in one
    (one,) = notes(capsys, "SELECT avg(gain) FROM block WHERE layer = 99", *form)
    assert one == "block.layer goes from 0 to 29"
    (one,) = notes(capsys, "SELECT training_step FROM model", *form)
    assert one.startswith("model.training_step is NULL in every row: ")
    assert notes(capsys, "SELECT model_id FROM model LIMIT 0", *form) == []
    (both,) = notes(
        capsys, "SELECT model_id FROM model_gain JOIN published_model USING (model_id)", *form
    )
    assert "model_gain and in published_model" in both
    assert "coverage" in both


@pytest.mark.parametrize("width", [60, 90, 250])
@pytest.mark.parametrize("query", ["FROM model LIMIT 60", "FROM model_gain LIMIT 5"])
def test_a_wide_answer_goes_on_below_with_its_first_column_and_lacks_none(
    capsys, monkeypatch, query, width
):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, err = run(capsys, "sql", query)
    assert max(map(len, out.splitlines())) <= width
    rows = pd.read_csv(io.StringIO(run(capsys, "sql", query, "--csv")[1]))
    blocks = [block.splitlines() for block in out.split("\n\n")]
    assert {len(block) for block in blocks} == {len(rows) + 1}
    heads = [block[0].split() for block in blocks]
    assert [head[0] for head in heads] == ["model_id"] * len(heads)
    assert ["model_id", *(name for head in heads for name in head[1:])] == [*rows.columns]
    assert f"{len(rows.columns)} columns in {len(blocks)} blocks" in err
    first = [[line.split()[0] for line in block] for block in blocks]
    assert all(names == first[0] for names in first)


def test_a_text_that_is_cut_to_the_terminal_is_said_to_be(capsys, monkeypatch):
    long = "SELECT 1 AS n, repeat('ab', 60) AS one, repeat('cd', 60) AS two"
    monkeypatch.setenv("COLUMNS", "300")
    assert notes(capsys, long) == []
    monkeypatch.setenv("COLUMNS", "150")
    (note,) = notes(capsys, long)
    assert "1 column " in note
    assert "--csv" in note
    monkeypatch.setenv("COLUMNS", "90")
    (note,) = notes(capsys, long)
    assert "2 columns " in note
    assert notes(capsys, long, "--csv") == notes(capsys, long, "--json") == []
    assert notes(capsys, "SELECT '…' AS mark, 'a…' AS word") == []


def test_columns_prints_types_units_and_meanings_and_an_unknown_table_the_nearest(capsys):
    _, out, _ = run(capsys, "columns", "raw.published_gain", "--csv")
    assert run(capsys, "columns", "published_gain", "--csv")[1] == out
    rows = pd.read_csv(io.StringIO(out)).set_index("column")
    assert rows.loc["bound", "unit"] == "ratio"
    assert rows["meaning"].notna().all()
    _, out, _ = run(capsys, "columns")
    assert " ".join(out.split()).count("One row per") == 14
    subjects = by_subject()
    assert "others" not in subjects
    listed = [name for names in subjects.values() for name in names]
    assert sorted(listed) == sorted(relations())
    assert [title for title in subjects if f"\n{title} " not in out] == []
    assert {*relations()} <= {*out.split()}
    code, _, err = run(capsys, "columns", "trained")
    assert code == 2
    assert "trained_network" in err
    for asked in (["columns", "nosuch"], ["sql", "FROM nosuch"], ["sql", "FROM raw.papers"]):
        code, _, err = run(capsys, *asked)
        assert code == 2
        assert "nearest" not in err
        assert "List" in err
    _, _, err = run(capsys, "sql", "FROM modells")
    assert "The nearest is model." in err
    assert "Did you mean" not in err
    _, _, err = run(capsys, "sql", "SELECT 1; SELECT 2")
    assert "found 2 (SELECT)" in err
    assert all(word in err for word in ("SHOW", "DESCRIBE", "EXPLAIN"))


@pytest.mark.parametrize("options", [[], ["--csv"], ["--json"]], ids=["table", "csv", "json"])
def test_nan_of_a_query_is_noted_and_counted(capsys, options):
    constant = "SELECT corr(x, 1) AS r, corr(x, y) AS s FROM (VALUES (1, 2), (2, 4)) AS t(x, y)"
    (note,) = notes(capsys, constant, *options)
    assert note.startswith("1 of r NaN")
    assert notes(capsys, "SELECT 'nan' AS word, NULL::DOUBLE AS nothing", *options) == []
    many = "SELECT 'nan'::DOUBLE AS r FROM range(1000)"
    assert notes(capsys, many, *options)[0].startswith("1,000 of r NaN")
