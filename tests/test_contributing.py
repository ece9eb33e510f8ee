"""The worked claim of CONTRIBUTING.md is judged and drawn as it stands there; its paths exist."""

import re
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from analysis.audit.claim import verdict
from analysis.audit.evaluation import check_rows
from analysis.audit.examination import examined
from analysis.audit.pages import strips
from analysis.delia2026.declared import claims_of
from analysis.delia2026.pages.register import CLAIMS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CLAIM = PAGE[PAGE.index("## A claim") : PAGE.index("## A figure")]


@pytest.fixture
def claim(tmp_path):
    """Return the claim that the page adds."""
    module = tmp_path / "claims_example.py"
    blocks = {
        kind: re.findall(rf"(?s)( +)```{kind}\n(.*?)```", CLAIM) for kind in ("toml", "python")
    }
    ((_, words),), ((_, code),) = blocks.values()
    module.with_name("claims.toml").write_text(textwrap.dedent(words))
    example = ModuleType("claims_example")
    example.__file__ = str(module)
    exec(textwrap.dedent(code), example.__dict__)
    (one,) = claims_of(example)
    return one


def test_the_claim_of_the_page_is_judged_and_drawn(claim, shipped_store):
    assert claim.family in {one.family for one in CLAIMS.values()}
    made = examined(claim, shipped_store)
    assert [check.id for check in made] == ["nearer_largest", "nearer_penultimate"]
    assert verdict(made, claim.kind) == "reproduced"
    (line,) = claim.lines
    rows = check_rows(made, claim.kind).to_dict("records")
    assert strips.strip(rows, strips.Line(line.part, line.measure, line.value or 0.0))


def test_every_path_of_the_page_exists():
    paths = set(re.findall(r"[\w./-]+/[\w./-]+\.(?:py|md|csv|toml|qmd)\b", PAGE))
    made_up = {"quarto/sections/_x.qmd"}
    assert len(paths) > 15
    assert {it for it in paths - made_up if not (ROOT / it).exists() and "NAME" not in it} == set()
