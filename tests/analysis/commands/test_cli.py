"""The command line as a person meets it: output, exit codes, one clear sentence."""

import csv
import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from analysis import claims, store
from analysis.commands import cli, verdicts
from analysis.exhibits.site import colophon
from analysis.store.listed_files import ReadingFile

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch, judged, shipped_store):
    """Be in the checkout; what it ships is opened and judged once for all tests."""
    monkeypatch.chdir(ROOT)
    shipped, opening = [Path("data/published"), Path("data/sample")], store.open_store

    def opened(*sources, **how):
        is_shipped = [*map(Path.resolve, sources)] == [*map(Path.resolve, shipped)]
        return shipped_store if is_shipped and not how["verify"] else opening(*sources, **how)

    monkeypatch.setattr(store, "open_store", opened)
    monkeypatch.setattr(verdicts, "_examined", lambda *_arguments: {})
    monkeypatch.setattr(claims, "evaluate", lambda _store, _registry, made: judged.copy())


def run(capsys, *arguments):
    code = cli.main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def in_shell(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)


def test_claims_lists_each_claim_and_counts_the_verdicts(capsys):
    code, out, err = run(capsys, "claims")
    assert (code, err) == (0, "")
    assert out.strip().splitlines()[-1].startswith(f"{len(claims.CLAIMS)} claims: ")


def test_claims_as_csv_and_as_json_hold_the_same_rows(capsys):
    _, lines, _ = run(capsys, "claims", "--csv")
    _, objects, _ = run(capsys, "claims", "--json")
    from_csv, from_json = pd.read_csv(io.StringIO(lines)), pd.read_json(io.StringIO(objects))
    assert from_csv["verdict"].tolist() == from_json["verdict"].tolist()
    assert from_csv.columns.tolist() == from_json.columns.tolist()


@pytest.mark.parametrize("n_reads", [0, 3])
def test_an_interrupt_that_comes_while_duckdb_reads_exits_130(n_reads, capsys, monkeypatch):
    read, left = ReadingFile.read, iter(range(n_reads))

    def interrupted(file, n_bytes=-1):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return read(file, n_bytes)

    monkeypatch.setattr(ReadingFile, "read", interrupted)
    query = "SELECT sum(norm) FROM residual_norm"
    expected = (130, "", "error: The command was interrupted.\n")
    assert run(capsys, "--data", "data/sample", "sql", query) == expected


def test_an_interrupt_that_comes_while_a_query_is_parsed_exits_130(capsys, monkeypatch):
    def interrupted(_sql):
        raise duckdb.Error("KeyboardInterrupt: <EMPTY MESSAGE>")

    monkeypatch.setattr(duckdb, "extract_statements", interrupted)
    assert run(capsys, "sql", "SELECT 1") == (130, "", "error: The command was interrupted.\n")


def test_an_interrupt_is_no_fault_of_the_claim_that_is_examined(capsys, monkeypatch):
    def told(_store):
        raise RuntimeError("Query interrupted")

    monkeypatch.setitem(claims.CLAIMS, 7, dataclasses.replace(claims.CLAIMS[7], examine=told))
    assert run(capsys, "claim", "7") == (130, "", "error: The command was interrupted.\n")


def test_a_name_like_that_of_the_exception_is_no_interrupt(capsys):
    code, _, err = run(capsys, "sql", 'SELECT "KeyboardInterrupt"')
    assert code == 2
    assert "KeyboardInterrupt" in err


def test_one_claim_is_printed_check_by_check(capsys):
    code, out, _ = run(capsys, "claim", "7")
    assert code == 0
    assert out.count("read as:") == 11
    assert out.splitlines()[1] == "0 of 11 readings hold"
    assert len({line for line in out.splitlines() if line.startswith("- ")}) == out.count("\n- ")
    assert "Verdict:  contradicted" in out


def test_sql_prints_csv_that_pandas_reads_back(capsys):
    code, out, _ = run(capsys, "sql", "SELECT claim_id FROM claim ORDER BY 1 LIMIT 2", "--csv")
    assert code == 0
    assert pd.read_csv(io.StringIO(out))["claim_id"].tolist() == [1, 2]


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
    assert len(lines) > 4
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
    assert " 132912182112123456789 " in run(capsys, "sql", EXACT)[1]
    assert json.loads(run(capsys, "sql", "FROM model WHERE false", "--json")[1]) == []
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
        ("EXPLAIN SELECT m.x FROM gain_by_model m", "List columns with: DESCRIBE gain_by_model"),
        ("FROM model JOIN metric USING (lab)", "DESCRIBE metric or DESCRIBE model"),
        ("FROM modell", "hint: List tables and views with: SHOW TABLES"),
        ("SELECT foo(1)", "hint: List functions with: SELECT DISTINCT function_name"),
        ("SELECT lab FROM model a, model b", "'a.lab' or 'b.lab')\n"),
        ("SELECT sum(sum(1))", "nested\n"),
        ("WITH model AS (SELECT 1 AS a) SELECT nope FROM model, metric", "with: DESCRIBE metric\n"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_known_is_answered_by_where_such_names_are_listed(capsys, query, hint):
    code, _, error = run(capsys, "sql", query)
    assert code == 2
    assert hint in error
    assert "SHOW TABLES" in hint or "SHOW TABLES" not in error


def test_l_star_prints_each_profile_by_each_estimator(capsys):
    code, out, _ = run(capsys, "l-star", "--profile", "trace_first_head", "--csv")
    assert code == 0
    rows = pd.read_csv(io.StringIO(out)).set_index(["source", "model_id", "method"])["estimate"]
    named = rows["published", "openai-community/gpt2"]
    assert named["argmax_abs_gradient"] == 9
    assert named["half_depth"] == 6
    _, out, _ = run(capsys, "l-star", "--profile", "trace_first_head", "--errors", "--csv")
    errors = pd.read_csv(io.StringIO(out))
    assert {"error_over_depth", "error_over_layer"} < set(errors.columns)


def test_signs_are_printed_for_each_measured_model(capsys, shipped_store):
    code, out, _ = run(capsys, "signs", "--csv")
    assert code == 0
    runs = shipped_store.query("FROM primary_run WHERE kind = 'prompts'")
    assert len(pd.read_csv(io.StringIO(out))) == len(runs)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["signs", "--gain", "gain"], "A gain must be one that was measured; 'gain' is not."),
        (["l-star", "--profile", "trace"], "A profile must be one that the store holds; 'trace'"),
        (["claim", "999"], "A claim must be one of those that can be judged; 999 is not."),
        (["sql", "DROP TABLE model"], "A query must be one statement that reads; found DROP."),
        (["sql", "FROM modl"], "Catalog Error: Table with name modl does not exist!"),
        (["report", "--page", "nope"], "A page must be one of the project's; nope is not."),
        (["--data", "nowhere", "claims"], "A store must be opened from existing places"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {sentence}")
    assert "Traceback" not in err


def test_the_committed_verdicts_are_those_of_the_data(capsys):
    code, out, _ = run(capsys, "claims", "--check")
    assert (code, out.split(" ")[0]) == (0, "0")


def test_adjusted_p_values_are_printed_as_a_table_and_as_csv(capsys):
    code, out, err = run(capsys, "claims", "--adjusted")
    assert (code, "p_holm" in out) == (0, True)
    _, csv, _ = run(capsys, "claims", "--adjusted", "--csv")
    rows = pd.read_csv(io.StringIO(csv))
    assert err == f"{len(rows)} rows\n"
    assert (rows["p_holm"] >= rows["p_bh"]).all()
    assert (rows["p_bh"] >= rows["p_value"]).all()
    code, _, err = run(capsys, "claims", "--adjusted", "--check")
    assert code == 2
    assert "as a table or as CSV" in err


def test_a_changed_verdict_is_named_and_exits_1(capsys, monkeypatch, tmp_path):
    committed = pd.read_csv(ROOT / "reports/claims.csv")
    committed.loc[committed["claim_id"] == 7, "verdict"] = "reproduced"
    committed.to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, out, _ = run(capsys, "claims", "--check")
    assert code == 1
    assert "claim 7: verdict reproduced -> contradicted" in out


def test_verdicts_that_were_never_written_are_asked_for(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, _, err = run(capsys, "claims", "--check")
    assert code == 2
    assert "claims --write" in err
    assert f"{tmp_path / 'claims.csv'}; No such file or directory.\n" in err


def test_written_verdicts_are_read_back_equal(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "new" / "claims.csv"))
    assert run(capsys, "claims", "--write")[0] == 0
    assert run(capsys, "claims", "--check")[0] == 0


def test_an_unwritable_place_is_exit_code_5(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "file" / "claims.csv"))
    code, _, err = run(capsys, "claims", "--write")
    assert code == 5
    assert "must be writable" in err


def test_a_parameter_without_a_value_is_refused(capsys):
    code, _, err = run(capsys, "report", "-P", "measurements")
    assert code == 2
    assert "NAME:VALUE" in err


def test_the_report_takes_no_data_option(capsys):
    code, _, err = run(capsys, "--data", "data/published", "report")
    assert code == 2
    assert "-P measurements:DIR" in err


@pytest.mark.parametrize("content", ["", "claim_id\n1\n", "\xff\xfe"])
def test_damaged_committed_verdicts_are_refused(capsys, monkeypatch, tmp_path, content):
    path = tmp_path / "claims.csv"
    path.write_bytes(content.encode("latin-1"))
    monkeypatch.setattr(verdicts, "COMMITTED", str(path))
    code, _, err = run(capsys, "claims", "--check")
    assert code == 2
    assert "must be a whole CSV file" in err


def test_a_changed_number_is_named_and_exits_1(capsys, monkeypatch, tmp_path):
    committed = pd.read_csv(ROOT / "reports/claims.csv")
    committed.loc[committed["claim_id"] == 7, "p_value"] = 0.0009
    committed.to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, out, _ = run(capsys, "claims", "--check")
    assert code == 1
    assert out.startswith("claim 7: p_value 0.0009 -> ")


def test_a_closed_pipe_ends_quietly():
    ran = in_shell(f"{sys.executable} -m analysis sql 'FROM published_profile' --csv | head -1")
    assert ran.stdout.count("\n") == 1
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr


def test_a_full_device_is_exit_code_5():
    ran = in_shell(f"{sys.executable} -m analysis sql 'FROM claim' --csv > /dev/full")
    assert ran.returncode == 5
    assert ran.stderr.startswith("error: The output must be writable; No space left")
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


def test_outside_a_checkout_the_projects_own_data_are_found(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "claims")[0] == 0


def test_an_installed_copy_says_that_pages_are_made_in_a_clone(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / "site-packages" / "analysis" / "__init__.py"
    monkeypatch.setattr("analysis.__file__", str(installed))
    code, _, error = run(capsys, "report", "--out", str(tmp_path / "pages"))
    assert code == 2
    assert "must lie in quarto/ of a clone" in error
    assert not (tmp_path / "pages").exists()


def test_the_colophon_names_every_version_and_source(shipped_store):
    facts = colophon.colophon(shipped_store).set_index("item")["value"]
    assert set(colophon.PACKAGES) <= set(facts.index)
    assert "not installed" not in set(facts)
    assert facts["data"].startswith("published ")


def test_the_data_hash_changes_with_one_byte(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    before = colophon.data_hash(tmp_path)
    (tmp_path / "a.csv").write_text("x\n2\n")
    assert colophon.data_hash(tmp_path) != before


def test_what_nobody_foresaw_is_one_sentence_with_an_exit_code_of_its_own(capsys, monkeypatch):
    def broken(*_arguments, **_named):
        raise ZeroDivisionError("by \ud800 zero\nand more")

    monkeypatch.setattr(store, "open_store", broken)
    code, out, err = run(capsys, "sql", "SELECT 1")
    assert (code, out) == (70, "")
    assert err.startswith("error: Every failure must be foreseen; ZeroDivisionError was not (by ")
    assert "report it" in err
    assert "Traceback" not in err
    code, _, err = run(capsys, "--debug", "sql", "SELECT 1")
    assert (code, "Traceback" in err) == (70, True)


def test_verified_contents_are_said(capsys):
    code, _, err = run(capsys, "--data", "data/sample", "--verify", "sql", "SELECT 1")
    assert code == 0
    assert "by their hashes" in err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (PermissionError(13, "Permission denied", "/a/file"), 2, "The file /a/file must be there"),
        (MemoryError(), 71, "must lend this command enough memory"),
        (OSError(24, "Too many open files", "/a/file"), 71, "enough open files"),
        (RuntimeError("can't start new thread"), 71, "enough processes and threads"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 71, "enough memory"),
        (OSError(71, "Protocol error"), 70, "Every failure must be foreseen"),
    ],
)
def test_what_the_system_refuses_is_said(error, code, said, capsys, monkeypatch):
    def fail(_options):
        raise error

    monkeypatch.setitem(cli.VERBS, "stated", fail)
    found, out, err = run(capsys, "stated")
    assert (found, out) == (code, "")
    assert said in err
