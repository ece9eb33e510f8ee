"""What the README shows works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_seven_worked_queries():
    assert len(QUERIES) == 7


def test_a_query_of_measurements_names_the_runs_it_takes():
    published = [query for query in QUERIES if "gain_by_model" in query]
    summaries = [query for query in QUERIES if "FROM conformance_summary" in query]
    others = [query for query in QUERIES if "primary_run" in query]
    assert len(published) + len(summaries) + len(others) == len(QUERIES)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.split("\n")[0][:40])
def test_a_worked_query_returns_rows(shipped_store, query):
    assert len(shipped_store.query(query)) > 0


def test_every_link_into_the_project_leads_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    local = [target for target in targets if not target.startswith("http")]
    assert [target for target in local if not (ROOT / target).exists()] == []
    assert len(local) > 4


def test_the_worked_mixed_model_fits_and_says_what_to_know():
    programs = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (fitting,) = [program for program in programs if "mixed.fit" in program]
    printed = subprocess.run(
        [sys.executable, "-c", fitting], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "p_value" in printed
    assert "is constant within model_id" in printed


def test_the_worked_claim_of_another_paper_is_judged(tmp_path):
    programs = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (claims,) = [program for program in programs if "CLAIMS" in program]
    for table in (ROOT / "tests/analysis/second_paper").glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    (tmp_path / "claims.py").write_text(claims, encoding="utf-8")
    command = [sys.executable, "-m", "analysis", "--paper", str(tmp_path), "claims"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "1 claim: " in printed
