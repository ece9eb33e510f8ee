"""Training recipes and designs of studies, spoilt as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from collect.training.recipe import read_recipe
from collect.training.study.design import read_design
from tests.fuzz import mutation
from tests.fuzz.trial import Case

DATA = Path(__file__).parents[2] / "data"
RECIPES = sorted((DATA / "sample" / "recipes").glob("*.toml"))
DESIGNS = sorted((DATA / "study").glob("*.toml"))


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """Return a spoilt recipe, or now and then a spoilt design, to be read."""
    is_design = rng.random() < 0.1
    files = DESIGNS if is_design else RECIPES
    source = files[int(rng.integers(len(files)))]
    spoilt = _assigned(rng, source.read_text()) if rng.random() < 0.5 else None
    path = folder / "recipe.toml"
    content = spoilt.encode("utf-8", "replace") if spoilt else mutation.raw(rng, source.read_text())
    path.write_bytes(content)

    def act() -> None:
        (read_design if is_design else read_recipe)(path)

    return Case(f"{source.name} as {content!r}", act)


def _assigned(rng: np.random.Generator, whole: str) -> str:
    """Return a recipe in which one key has another value."""
    lines = whole.splitlines()
    places = [place for place, line in enumerate(lines) if " = " in line]
    place = places[int(rng.integers(len(places)))]
    key = lines[place].partition(" = ")[0]
    lines[place] = f"{key} = {_toml(mutation.value(rng))}"
    return "\n".join(lines)


def _toml(value: object) -> str:
    if value is None:
        return "2026-01-01"
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {_toml(one)}' for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower()
