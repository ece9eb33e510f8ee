"""The subjects, each with its share of the inputs."""

from __future__ import annotations

from tests.fuzz import (
    configs,
    forensics,
    formulas,
    lines,
    papers,
    prompts,
    published,
    recipes,
    stores,
)
from tests.fuzz.trial import Subject

#: By name: how an input is drawn, and how many of the inputs, beside the others.
SUBJECTS: dict[str, tuple[Subject, int]] = {
    "recipes": (recipes.draw, 20),
    "prompts": (prompts.draw, 16),
    "formulas": (formulas.draw, 14),
    "stores": (stores.draw, 3),
    "configs": (configs.draw, 5),
    "published": (published.draw, 7),
    "papers": (papers.draw, 3),
    "forensics": (forensics.draw, 11),
    "lines": (lines.draw, 3),
}
