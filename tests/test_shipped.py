"""What travels in the wheel is found, and is what lies in the clone."""

from pathlib import Path

import pytest

from analysis.delia2026.public import tokens
from analysis.store import open_store
from collect.process import shipped

ROOT = Path(__file__).parents[1]


def test_lengths_of_the_excerpt_are_those_of_the_public_models():
    here, whole = (tokens.lengths(open_store(ROOT / "data" / it)) for it in ("excerpt", "public"))
    assert len(here) > 100
    assert here.equals(whole)


def test_a_clone_is_its_own_root_and_keeps_results_in_it():
    assert shipped.is_clone()
    assert shipped.root() == ROOT
    assert shipped.results() == ROOT / ".cache" / "report"


def test_an_installed_product_writes_where_it_stands(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "is_clone", lambda: False)
    assert shipped.root().name == "shipped"
    assert shipped.project() == shipped.root()
    assert shipped.workplace() == tmp_path
    assert shipped.results() == tmp_path / "cache" / "thermoscope"


@pytest.mark.parametrize("name", ["data/prompts/A_grand_unified.txt", "quarto/_quarto.yml"])
def test_the_wheel_has_what_an_installed_product_needs(name):
    hatch_build = pytest.importorskip("hatch_build", reason="hatchling is not installed")
    places = hatch_build.travelling(ROOT).values()
    assert f"collect/shipped/{name}" in places
    assert not any("-l8-" in place and place.endswith(".parquet") for place in places)
    assert "collect/shipped/quarto/sections/_real.qmd" in places
    cut = {path.relative_to(ROOT / "data/excerpt") for path in ROOT.glob("data/excerpt/*/*")}
    assert cut
    public = {path for path in places if path.startswith("collect/shipped/data/public/")}
    assert public == {
        "collect/shipped/data/public/perturbation.csv",
        *(f"collect/shipped/data/public/{path}" for path in cut),
    }


def test_every_unit_that_travels_is_whole():
    assert open_store(ROOT / "data" / "excerpt").incomplete == ()
    assert open_store(ROOT / "data" / "public").incomplete == ()
