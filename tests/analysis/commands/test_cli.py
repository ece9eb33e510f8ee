"""The command line as a person meets it: output, exit codes, one clear sentence."""

import dataclasses
import io
import math
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from analysis.audit.pages import revision
from analysis.commands import claim, verdicts
from analysis.delia2026.pages import colophon
from analysis.delia2026.pages.register import CLAIMS
from analysis.store.listed_files import ReadingFile
from analysis.tidy.defaults import COMMITTED
from collect.process import shipped
from tests.analysis.commands.conftest import ROOT, run
from tests.analysis.places import PUBLISHED

pytestmark = pytest.mark.usefixtures("in_the_checkout")


def test_an_installed_copy_shows_the_verdicts_that_it_holds_and_judges_none(capsys, monkeypatch):
    monkeypatch.setattr(shipped, "is_clone", lambda: False)
    monkeypatch.setattr(shipped, "root", Path.cwd)
    with monkeypatch.context() as nothing_judged:
        nothing_judged.setattr("analysis.audit.evaluate", None)
        code, out, err = run(capsys, "claims", "--csv")
        assert code == 0, err
        assert (code, out) == (0, (ROOT / COMMITTED).read_text(encoding="utf-8"))
        assert "--check" in err
        code, out, _ = run(capsys, "claims")
        assert code == 0
        kept = pd.read_csv(ROOT / COMMITTED)
        shown = [
            line.split(maxsplit=1)
            for line in out.splitlines()
            if line[2:5].strip().isdigit() and line[3:5] == "  "
        ]
        assert [int(number) for number, _ in shown] == kept["claim_id"].tolist()
        pairs = zip(shown, kept["verdict"], strict=True)
        assert all(words.startswith(verdict) for (_, words), verdict in pairs)
    _, objects, err = run(capsys, "claims", "--json")
    assert len(pd.read_json(io.StringIO(objects))) == len(CLAIMS)
    assert "--check" not in err


def in_shell(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)


def test_a_p_of_1_is_printed_once_whether_judged_or_read_from_a_file():
    row = {"estimate": 0.0, "conf_low": math.nan, "conf_high": math.nan}
    judged = claim.numbers(row | {"p_value": 1 - 2**-50, "p_holm": 1.0})
    assert judged == claim.numbers(row | {"p_value": 1.0, "p_holm": 1.0})
    assert "adjusted" not in judged
    assert "p = 0.060 adjusted" in claim.numbers(row | {"p_value": 0.03, "p_holm": 0.06})


def test_claims_are_listed_counted_adjusted_and_given_as_csv_and_json(capsys):
    code, out, err = run(capsys, "claims")
    assert (code, err) == (0, "")
    *_, total, laws, printed, record, apart = out.strip().splitlines()
    n_author = sum(one.stated_by == "author" for one in CLAIMS.values())
    assert total.startswith(f"{n_author} claims: ")
    of_kinds = [int(line.split()[0]) for line in (laws, printed, record)]
    assert sum(of_kinds) == n_author
    assert "(41, 43, 60 to 61)" in apart
    _, lines, _ = run(capsys, "claims", "--csv")
    _, objects, _ = run(capsys, "claims", "--json")
    from_csv, from_json = pd.read_csv(io.StringIO(lines)), pd.read_json(io.StringIO(objects))
    assert from_csv["verdict"].tolist() == from_json["verdict"].tolist()
    assert from_csv.columns.tolist() == from_json.columns.tolist()
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


@pytest.mark.parametrize("n_reads", [0, 3])
def test_an_interrupt_that_comes_while_duckdb_reads_exits_130(n_reads, capsys, monkeypatch):
    read, left = ReadingFile.read, iter(range(n_reads))

    def interrupted(file, n_bytes=-1):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return read(file, n_bytes)

    monkeypatch.setattr(ReadingFile, "read", interrupted)
    query = "SELECT sum(norm) FROM residual_norm"
    expected = (130, "", "error: interrupted\n")
    assert run(capsys, "--data", "data/sample", "sql", query) == expected


def test_an_interrupt_is_no_fault_of_the_claim_that_is_examined(capsys, monkeypatch):
    def told(_store):
        raise RuntimeError("Query interrupted")

    monkeypatch.setitem(CLAIMS, 7, dataclasses.replace(CLAIMS[7], examine=told))
    assert run(capsys, "claim", "7") == (130, "", "error: interrupted\n")


def test_one_claim_is_printed_check_by_check(capsys):
    code, out, _ = run(capsys, "claim", "7")
    assert code == 0
    assert out.count("read as:") == 11
    assert out.splitlines()[1] == "0 of 1 readings hold"
    assert len({line for line in out.splitlines() if line.startswith("- ")}) == out.count("\n- ")
    assert "Verdict:  contradicted" in out
    assert "\nProperty: A convention of how the weights are written" in out
    assert out.count("A convention") == 1
    _, defects = out.split("Known defects of the files:\n")
    assert defects.splitlines()[:2] == [
        "    B1: One block too early",
        "    B3: Norms rounded to half precision",
    ]
    _, out, _ = run(capsys, "claim", "19")
    assert out.splitlines()[1] == "4 of 9 readings hold, 1 undecided, 3 without data"


def test_l_star_prints_each_profile_by_each_estimator(capsys):
    code, out, _ = run(capsys, "l-star", "--profile", "trace_first_head", "--csv")
    assert code == 0
    rows = pd.read_csv(io.StringIO(out)).set_index(["source", "model_id", "method"])["estimate"]
    named = rows["published", "openai-community/gpt2"]
    assert named["argmax_abs_gradient"] == 9
    assert named["half_depth"] == 6


def test_signs_are_printed_for_each_model_and_those_without_named(capsys, one_block_copy):
    code, out, err = run(capsys, "signs", "--csv")
    assert code == 0
    assert "left out" not in err
    told = pd.read_csv(io.StringIO(out)).set_index(["model_id", "prompt_set"])
    asked = """
        SELECT p.model_id, p.prompt_set, avg(ln(gain)) AS n
          FROM raw.prompt_gain JOIN primary_run AS p USING (run_id)
         WHERE metric = 'gain_body' GROUP BY ALL
    """
    _, out, _ = run(capsys, "sql", asked, "--csv")
    means = pd.read_csv(io.StringIO(out)).set_index(["model_id", "prompt_set"])["n"]
    assert told["estimate"].to_dict() == pytest.approx(means.to_dict(), rel=1e-9)
    assert told.index.get_level_values("model_id").nunique() == 4
    code, out, err = run(capsys, "--data", str(one_block_copy), "signs", "--csv")
    assert (code, len(pd.read_csv(io.StringIO(out)))) == (0, 1)
    few, left_out = err.splitlines()
    assert "5 prompts" in few
    assert "gain_body is not defined, not measured or not in" in left_out
    assert left_out.endswith(": test/one")


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
        (["report", "-P", "measurements"], ".*NAME:VALUE"),
        (["--data", "data/published", "report"], ".*-P measurements:DIR"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(capsys, arguments, sentence):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert re.match(f"error: {sentence.replace('(', '[(]')}", err, re.DOTALL)
    assert "Traceback" not in err


def test_a_closed_pipe_ends_quietly_and_a_full_device_is_exit_code_5():
    ran = in_shell(f"{sys.executable} -m analysis sql 'FROM published_profile' --csv | head -1")
    assert ran.stdout.count("\n") == 1
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr
    ran = in_shell(f"{sys.executable} -m analysis sql 'FROM raw.claim' --csv > /dev/full")
    assert ran.returncode == 5
    assert "No space left" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


def test_outside_a_checkout_the_projects_own_data_are_found_but_no_pages(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "claims")[0] == 0
    (tmp_path / "data" / "published").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    code, _, error = run(capsys, "report", "--out", str(tmp_path / "pages"))
    assert code == 2
    assert "quarto/" in error
    assert not (tmp_path / "pages").exists()


def test_an_installed_copy_writes_no_verdicts(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shipped, "is_clone", lambda: False)
    monkeypatch.setattr(shipped, "root", lambda: tmp_path / "site-packages")
    code, _, error = run(capsys, "--data", str(PUBLISHED), "study", "--write")
    assert code == 2
    assert "clone" in error


def test_the_colophon_names_every_version_and_source(shipped_store, monkeypatch, request, tmp_path):
    facts = colophon.colophon(shipped_store).set_index("item")["value"]
    assert set(colophon.PACKAGES) <= set(facts.index)
    assert "not installed" not in set(facts)
    assert facts["data"].startswith("published ")
    monkeypatch.setattr(shipped, "BESIDE", request.config.rootpath / "tests")
    assert revision.commit() == "not a git checkout"
    (tmp_path / "a.csv").write_text("x\n1\n")
    before = colophon.data_hash(tmp_path)
    (tmp_path / "a.csv").write_text("x\n2\n")
    assert colophon.data_hash(tmp_path) != before


def test_the_committed_verdicts_are_those_of_the_data_and_verified_contents_are_told(capsys):
    code, out, _ = run(capsys, "claims", "--check")
    assert (code, out.split(" ")[0]) == (0, "0")
    code, _, err = run(capsys, "--data", "data/sample", "--verify", "sql", "SELECT 1")
    assert code == 0
    assert "by their hashes" in err


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (("verdict", "reproduced"), "verdict reproduced -> contradicted"),
        (("p_value", 0.0009), "p_value 0.0009 -> "),
    ],
)
def test_what_changed_is_named_and_exits_1(capsys, monkeypatch, tmp_path, changed, difference):
    committed = pd.read_csv(ROOT / "reports/claims.csv")
    committed.loc[committed["claim_id"] == 7, changed[0]] = changed[1]
    committed.to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, out, _ = run(capsys, "claims", "--check")
    assert code == 1
    assert f"claim 7: {difference}" in out


def test_verdicts_are_asked_for_written_and_read_back_or_refused(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "claims.csv"))
    code, _, err = run(capsys, "claims", "--check")
    assert code == 2
    assert "claims --write" in err
    assert f"{tmp_path / 'claims.csv'}; No such file or directory.\n" in err
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "new" / "claims.csv"))
    assert run(capsys, "claims", "--write")[0] == 0
    assert run(capsys, "claims", "--check")[0] == 0
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(verdicts, "COMMITTED", str(tmp_path / "file" / "claims.csv"))
    code, _, err = run(capsys, "claims", "--write")
    assert code == 5
    assert "must be writable" in err


@pytest.mark.parametrize("content", ["", "claim_id\n1\n", "\xff\xfe"])
def test_damaged_committed_verdicts_are_refused(capsys, monkeypatch, tmp_path, content):
    path = tmp_path / "claims.csv"
    path.write_bytes(content.encode("latin-1"))
    monkeypatch.setattr(verdicts, "COMMITTED", str(path))
    code, _, err = run(capsys, "claims", "--check")
    assert code == 2
    assert "must be a whole CSV file" in err
