"""Another paper, audited from a folder: its verdicts, and what is wrong with a folder."""

import io
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import paper
from analysis.audit.claim import Claim
from analysis.audit.evidence.checks import caveats_of
from analysis.commands import cli
from analysis.delia2026.pages.register import CLAIMS
from analysis.store import open_store
from analysis.tidy.errors import AnalysisError
from tests.analysis.places import ROOT, SECOND

IMPORT = "from analysis.audit import Claim\n"
SHARED = "from analysis.store import shared\nexamine = shared(examine)\n"


def run(capsys, *arguments):
    code = cli.main(["--paper", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the second paper that a test may damage."""
    return Path(shutil.copytree(SECOND, tmp_path / "paper"))


def test_a_second_paper_is_judged_by_the_same_rule_and_the_first_stays_the_default():
    judged = claims.evaluate(open_store(SECOND), paper.load(SECOND)).set_index("claim_id")
    assert judged["verdict"].tolist() == ["reproduced", "contradicted", "no data"]
    # Depths 2, 4, 6, 8 and losses 2.5, 2.1, 2.9, 2.5: r = 0.8 / sqrt(20 * 0.32).
    assert judged.loc[2, "estimate"] == pytest.approx(0.8 / 6.4**0.5)
    assert judged.loc[1, ["n_models", "n_suites", "evidence", "caveats"]].tolist() == [
        4,
        2,
        "table_2",
        "one-seed",
    ]
    assert claims.claim(7, CLAIMS).claim_id == 7
    with pytest.raises(AnalysisError, match="7 is not"):
        claims.claim(7, {1: Claim(1, "a", "b", lambda _store: [])})


def test_the_command_line_judges_the_folder_alone(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, SECOND, "claims", "--csv")
    assert (code, err) == (0, "")
    assert pd.read_csv(io.StringIO(out))["claim_id"].tolist() == [1, 2, 3]
    code, out, _ = run(capsys, SECOND, "claim", 2)
    assert code == 0
    assert "Verdict:  contradicted" in out
    assert not (SECOND / "__pycache__").exists()
    code, out, _ = run(capsys, SECOND, "claim", 2, "--json")
    result = json.loads(out)
    assert (code, result["verdict"], len(result["checks"])) == (0, "contradicted", 1)
    assert result["checks"][0]["estimate"] == result["estimate"]
    assert result["checks"][0]["holds"] is False


def test_the_verdicts_of_a_paper_are_committed_in_its_folder(capsys, folder):
    code, _, err = run(capsys, folder, "claims", "--check")
    assert code == 2
    assert "for another paper, with --paper" in err
    assert run(capsys, folder, "claims", "--write")[0] == 0
    assert run(capsys, folder, "claims", "--check")[:2] == (
        0,
        "0 of 3 claims differ from verdicts.csv.\n",
    )
    figures = (folder / "published_figure.csv").read_text()
    (folder / "published_figure.csv").write_text(figures.replace(",2.9,", ",3.1,"))
    code, out, _ = run(capsys, folder, "claims", "--check")
    assert code == 1
    assert "claim 1: verdict reproduced -> contradicted" in out


def test_another_source_of_figures_or_single_values_is_opened_beside_the_folder(
    capsys, folder, tmp_path
):
    more = tmp_path / "more"
    more.mkdir()
    rows = pd.read_csv(SECOND / "published_figure.csv").assign(
        metric="held_out_loss_with_dropout", mean=2.0
    )
    rows.to_csv(more / "published_figure.csv", index=False)
    (more / "metric.csv").write_text(
        "metric,symbol,unit,definition\nheld_out_loss_with_dropout,,nat,The same with dropout.\n"
    )
    code, out, _ = run(capsys, folder, "--data", more, "claim", 3)
    assert code == 0
    assert "Verdict:  reproduced" in out
    columns = ["file", "path", "metric", "statistic", "value", "unit", "caveats"]
    columns += ["model_id", "prompt_set", "prompt_id", "layer", "dtype", "text"]
    row = pd.DataFrame([["t", "$", "m", "value", 1.5, "nat", ""]], columns=columns[:7])
    row.reindex(columns=columns).to_csv(folder / "published_value.csv", index=False)
    assert open_store(folder).query("SELECT value FROM published_value")["value"].item() == 1.5


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("claim.csv", "lacks claim.csv."),
        ("claims.py", "lacks claims.py."),
        ("published_figure.csv", "or published_value.csv."),
    ],
)
def test_a_folder_without_a_file_is_one_sentence(capsys, folder, missing, named):
    (folder / missing).unlink()
    code, out, err = run(capsys, folder, "claims")
    assert (code, out) == (2, "")
    assert "analysis init FOLDER" in err
    assert (ROOT / "quarto/guides/_auditing.qmd").is_file()
    assert err.startswith("error: The folder of a paper must hold its statements, figures and")
    assert named in err


def test_a_folder_or_file_that_is_not_there_is_one_sentence(capsys, tmp_path, folder):
    code, out, err = run(capsys, tmp_path / "nowhere", "claims")
    assert (code, out) == (2, "")
    assert f"nothing at {tmp_path / 'nowhere'}." in err
    (folder / "claims.py").unlink()
    code, out, err = run(capsys, folder, "report")
    assert (code, out) == (2, "")
    assert err.startswith("error: The folder of a paper must hold its statements")
    assert not (folder / "report").exists()


def test_a_statement_without_a_function_or_a_claim_without_a_statement_is_named(capsys, folder):
    with (folder / "claim.csv").open("a") as statements:
        statements.write("4,depth lowers the loss,section 4\n5,so does width,section 4\n")
    code, out, err = run(capsys, folder, "claims", "--csv")
    assert (code, err) == (0, "note: stated, and judged by no function: 4 to 5\n")
    assert pd.read_csv(io.StringIO(out))["claim_id"].tolist() == [1, 2, 3]
    statements = (folder / "claim.csv").read_text().splitlines()
    (folder / "claim.csv").write_text("\n".join(statements[:-3]) + "\n")
    code, _, err = run(capsys, folder, "claims")
    assert code == 2
    assert "must hold the statement of claim 3" in err
    assert "Give claim.csv a row" in err


def test_writing_gives_a_new_claim_the_statement_that_stands_in_the_code(capsys, folder):
    functions = folder / "claims.py"
    functions.write_text(
        functions.read_text() + "\nfrom dataclasses import replace\n"
        "CLAIMS = tuple(replace(one, statement='S', place='P') for one in\n"
        "               (*CLAIMS, replace(CLAIMS[0], claim_id=4)))\n"
    )
    assert run(capsys, folder, "claims", "--write")[0] == 0
    assert pd.read_csv(folder / "claim.csv")["claim_id"].tolist() == [1, 2, 3, 4]
    assert run(capsys, folder, "claims", "--check")[0] == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("CLAIMS = (\n", "must run; it fails in line 1 with SyntaxError"),
        ("import sys\n\nCLAIMS = sys.nothing\n", "must run; it fails in line 3 with Attribute"),
        ("import sys\nsys.exit(3)\n", "must run; it fails in line 2 with SystemExit: 3"),
        ("class Halt(BaseException): ...\nraise Halt\n", "must run; it fails in line 2 with Halt"),
        ("CLAIM = ()\n", "must assign a tuple of Claim objects to CLAIMS; it holds nothing"),
        ("CLAIMS = [1]\n", "must assign a tuple of Claim objects to CLAIMS; it holds list"),
        ("CLAIMS = (1, 'a')\n", "a tuple of Claim objects to CLAIMS; it holds tuple with"),
        (
            f"{IMPORT}CLAIMS = tuple(Claim(1, 'a', 'b', list) for _ in 'ab')\n",
            "a number of its own; repeated: 1.",
        ),
        (
            f"{IMPORT}CLAIMS = (Claim(1, 'a', 'b', list, 'sometimes'),)\n",
            "claim 1 has 'sometimes'.",
        ),
    ],
)
def test_claims_that_cannot_be_read_name_their_file(capsys, folder, text, sentence):
    (folder / "claims.py").write_text(text)
    code, out, err = run(capsys, folder, "claims")
    assert (code, out) == (2, "")
    assert str(folder / "claims.py") in err
    assert sentence in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return 1 / 0", "line 3 with ZeroDivisionError: division by zero."),
        (f"return 1 / 0\n{SHARED}", "claims.py, line 3 with ZeroDivisionError"),
        ("return store.query('FROM nowhere')", "line 3 with QueryError: Catalog Error"),
        ("return []", "at least one Check and nothing else; it returned none."),
        ("return ['yes']", "at least one Check and nothing else; it returned str."),
        ("pass", "at least one Check and nothing else; it returned NoneType."),
        ("return [Check('a', 'b', 'no')]", "True, False or None (the data cannot tell); fou"),
        ("return [Check('a', 'b', float('nan'))]", "the data cannot tell); found nan."),
        ("return [Check('a', 'b', True, estimate='big')]", "must be a number; found 'big'."),
        ("return [Check('a', 'b', True, decides='no')]", "`decides` must be True or False"),
        ("return [Check('a', 'b', True, kind='rare')]", "difference, equality, univer"),
    ],
)
def test_a_function_that_fails_names_its_claim(capsys, folder, body, sentence):
    head = "from analysis.audit import Check, Claim\ndef examine(store):\n"
    last = "CLAIMS = (Claim(1, 'a', 'b', examine),)\n"
    (folder / "claims.py").write_text(f"{head}    {body}\n{last}")
    code, _, err = run(capsys, folder, "claims")
    assert code == 2
    assert "The function of claim 1 must return" in err
    assert sentence in err
    assert "Traceback" not in err


def test_caveats_may_be_parted_by_a_comma_and_a_space_and_are_ordered(capsys, folder):
    with (folder / "caveat.csv").open("a") as handle:
        handle.write("small,Small,The models are small.\n")
    figures = (folder / "published_figure.csv").read_text()
    (folder / "published_figure.csv").write_text(
        figures.replace("2.5,,1,nat,one-seed", '2.5,,1,nat,"small, one-seed"')
    )
    code, out, _ = run(capsys, folder, "claim", "1")
    assert code == 0
    assert "    caveats one-seed small\n" in out
    assert caveats_of(["B10", "B9", "seed", "B9"]) == ("B9", "B10", "seed")


#: A row of the second paper again, to the last letter, and the beginning of another.
COPY = "invented/a,held_out_loss,none,fp32,table_2,row 1,2.5,,1,nat,one-seed\ninvented/d"


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("invented/c,held", "invented/C,held", "it lacks invented/C."),
        ("2.9,,1,nat", "2.9,,1,bit", "published_figure are in bit, nat; table metric has nat."),
        (",nat,", ",bit,", "published_figure are in bit; table metric has nat."),
        ("2.9,,1,nat", "2.9,-0.5,2,nat", "in published_figure is -0.5."),
        ("table_2,row 3", "table 2,row 3", "must have no space; published_figure has table 2."),
        ("c,held_out_loss", "c,held_out_los", "explained by table metric; it lacks held_out_los."),
        ("2.9,,1,nat,one-seed", '2.9,,1,nat,"no-seed, one-seed"', "caveat; it lacks no-seed."),
        ("invented/b,", "invented/c,", "must occur once in a file; model_id invented/c, metric"),
        ("invented/d", COPY, "must occur once in a file; model_id invented/a, metric held_out_"),
    ],
)
def test_a_figure_that_a_claim_would_pass_over_or_mix_up_is_refused(
    capsys, folder, before, after, sentence
):
    figures = (folder / "published_figure.csv").read_text()
    (folder / "published_figure.csv").write_text(figures.replace(before, after))
    for verb in (["claims"], ["claim", "1"]):
        code, out, err = run(capsys, folder, *verb)
        assert (code, out) == (2, "")
        assert sentence in err
