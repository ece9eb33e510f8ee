"""What the README shows works as it stands there.

Its counts of verdicts are written by: python -m tests.test_readme --write
"""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from analysis.audit import VERDICTS
from analysis.commands import cli
from analysis.store import open_store

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURING = (ROOT / "quarto/guides/_measure.qmd").read_text(encoding="utf-8")
GUIDE = (ROOT / "quarto/guides/_auditing.qmd").read_text(encoding="utf-8")
ANSWERED = re.findall(r"```sql\n(.*?)```\n\n```\n(.*?)```", README, flags=re.DOTALL)
QUERIES = re.findall(r"```sql\n(.*?)```", README, flags=re.DOTALL)


def test_the_readme_is_read_in_a_few_minutes_and_each_query_has_its_answer():
    assert len(README.splitlines()) < 150
    assert len(QUERIES) == len(ANSWERED) == 1


#: The sentence that counts the verdicts; between two numbers words, and line breaks.
COUNTS = re.compile(
    r"(?<=paper's )\d+( claims,\s)\d+(\sare\sreproduced,\s)\d+(\sdepend\son\sthe\sreading,\s)\d+"
    r"(\sare\scontradicted,\s)\d+(\sare\sundecided\sand\s)\d+(?=\shave\sno\sdata)"
)


def counted(text):
    """Return a text with the counts of the committed verdicts in their sentence."""
    rows = pd.read_csv(ROOT / "reports/claims.csv")
    counts = rows.loc[rows["stated_by"] == "author", "verdict"].value_counts()
    numbers = [counts.sum(), *(counts.get(verdict, 0) for verdict in VERDICTS)]
    written, n_written = COUNTS.subn(
        lambda found: "".join(
            f"{n}{words}" for n, words in zip(numbers, [*found.groups(), ""], strict=True)
        ),
        text,
    )
    assert n_written == 1
    return written


def test_the_counts_of_verdicts_are_those_of_the_file():
    assert counted(README) == README, "write them with: make claims"
    stale = COUNTS.sub(lambda found: found[0].replace(" claims", "0 claims"), README)
    assert stale != README
    assert counted(stale) == README


#: An estimate and the ends of its interval.
ENDS = ["estimate", "conf_low", "conf_high"]


def test_the_shares_of_the_study_are_those_of_the_file():
    rows = pd.read_csv(ROOT / "reports/study.csv").set_index(["claim_id", "condition"])
    told = 100 * rows[ENDS]
    said = " ".join(README.split())
    for condition in ("equal steps", "equal loss"):
        share, low, high = told.loc[("S1", condition), ENDS].round().astype(int)
        assert f"explains {share} % ({low} % to {high} %)" in said
    n_reached, n_recipes = (
        rows.loc[("S1", condition), "n_groups"] for condition in ("equal loss", "equal steps")
    )
    assert f"{n_reached:.0f} of {n_recipes:.0f} recipes reach" in said
    assert told.loc[("S1", "equal loss"), "conf_low"] < 50  # the registered test is missed


def test_the_networks_of_the_main_experiment_are_told_from_those_of_all_designs():
    store = open_store()
    counts = [len(store.query(f"FROM {name}")) for name in ("network", "raw.study_run")]
    said = re.search(r"(\d+) small networks, of (\d+) in all designs", " ".join(README.split()))
    assert [*map(int, said.groups())] == counts


@pytest.mark.parametrize(("query", "answer"), ANSWERED, ids=["signs"])
def test_a_worked_query_answers_what_the_readme_shows(capsys, monkeypatch, query, answer):
    monkeypatch.setenv("COLUMNS", "160")  # a parallel run of the tests names a narrower terminal
    assert cli.main(["sql", query]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert [" ".join(line.split()) for line in answer.strip().splitlines()] == shown


def test_every_link_into_the_project_leads_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    local = [target for target in targets if not target.startswith("http")]
    assert [target for target in local if not (ROOT / target).exists()] == []
    assert len(local) > 4


def test_the_worked_mixed_model_prints_what_readme_and_guide_show():
    shown = re.findall(r"```python\n([^`]*)```\n\n```\n([^`]*)```", README)
    ((fitting, answer),) = [(code, out) for code, out in shown if "ts.mixed(" in code]
    printed = subprocess.run(
        [sys.executable, "-c", fitting], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "is constant within model_id" in printed
    assert printed == answer
    guide = (ROOT / "quarto/guides/_mixed.qmd").read_text(encoding="utf-8")
    assert f"```python\n{fitting}```\n\n```\n{answer}```" in guide


def test_the_fisher_test_of_the_guide_leaves_a_large_p_open(tmp_path):
    programs = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    (program,) = [it for it in programs if "fisher_exact(" in it]
    names = {}
    exec(program, names)
    # Of five treated patients one relapses, of five others three: p = .52.
    rows = ["1,1", *["1,0"] * 4, *["0,1"] * 3, *["0,0"] * 2]
    lines = [f"p{number},{row}" for number, row in enumerate(rows)]
    (tmp_path / "unit.csv").write_text("\n".join(["unit_id,treated,relapsed", *lines, ""]))
    (tmp_path / "claim.csv").write_text("claim_id,statement\n1,treated patients relapse less\n")
    (check,) = names["relapse"](open_store(tmp_path))
    assert check.p_value > 0.5
    assert check.estimate < 1 < check.conf_high
    assert check.holds is None
    assert check.null == 1


def test_the_worked_claim_of_another_paper_is_judged(tmp_path):
    programs = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    (claims,) = [program for program in programs if "CLAIMS" in program]
    for table in (ROOT / "tests/analysis/second_paper").glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    (tmp_path / "claims.py").write_text(claims, encoding="utf-8")
    command = [sys.executable, "-m", "analysis", "--paper", str(tmp_path), "claims"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "1 claim: " in printed


@pytest.mark.slow
def test_the_program_that_measures_runs_as_it_stands(tmp_path, monkeypatch):
    from tests.collect.conftest import tiny_model, tiny_tokenizer

    programs = re.findall(r"```python\n(.*?)```", MEASURING, flags=re.DOTALL)
    (measuring,) = [program for program in programs if "ts.measure(" in program]
    prompts = (ROOT / "examples/api/prompts.jsonl").read_text(encoding="utf-8")
    (tmp_path / "prompts.jsonl").write_text(prompts, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("collect.instruments.quantities._REGISTERED", {})
    callbacks = []
    trainer = SimpleNamespace(add_callback=callbacks.append)
    names = {"model": tiny_model("gpt2"), "tokenizer": tiny_tokenizer(), "trainer": trainer}
    (tmp_path / "measuring.py").write_text(measuring, encoding="utf-8")  # source text is hashed
    exec(compile(measuring, tmp_path / "measuring.py", "exec"), names)
    values = names["frames"]["own_value"]
    assert set(values["measure"]) == {"positive_share", "logit_lens_entropy"}
    names = [f"prompts:{name}" for name in ("bytes", "plain", "verse")]
    assert values["prompt_id"].unique().tolist() == names
    assert callbacks[0].every == 100


if __name__ == "__main__":
    assert sys.argv[1:] == ["--write"], "python -m tests.test_readme --write"
    (ROOT / "README.md").write_text(counted(README), encoding="utf-8")
