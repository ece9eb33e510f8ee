"""Recipes of networks so small that a test can train them in a second."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collect.training.recipe import Recipe, recipe_of

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "data" / "text" / "kjv.txt").read_bytes()[:40_000]


def table(family: str = "gpt_neox", **more: Any) -> dict[str, Any]:
    """Return the TOML table of a recipe of a family; a section among ``more`` adds to its own."""
    content: dict[str, Any] = {
        **{"name": "micro", "lab": "thermoscope", "suite": "test", "year": 2026},
        **{"family": family, "text": "text.txt", "seed": 0},
        "geometry": {"n_layers": 2, "d_model": 32, "n_heads": 2, "context": 32},
        "optimiser": {"name": "adamw", "learning_rate": 3e-3, "weight_decay": 0.1},
        "schedule": {"steps": 20, "warm_up": 5, "batch_size": 4},
    }
    for key, value in more.items():
        content[key] = {**content.get(key, {}), **value} if isinstance(value, dict) else value
    return content


def toml(content: dict[str, Any]) -> str:
    """Return a table of plain values and sections as TOML."""
    plain = {key: value for key, value in content.items() if not isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
    for name, values in content.items():
        if isinstance(values, dict):
            lines += [f"[{name}]", *(f"{key} = {json.dumps(v)}" for key, v in values.items())]
    return "\n".join(lines) + "\n"


def micro(family: str = "gpt_neox", **more: Any) -> Recipe:
    """Return the recipe of `table`."""
    return recipe_of(table(family, **more), "The recipe of a test")
