"""The sidecar of a trained checkpoint: where it comes from, as ``thermoscope.json`` beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.model.checkpoint.weight_files import json_object
from collect.model.labels import SIDECAR
from collect.record.provenance import versions
from collect.schema.marks import file_sha256
from collect.training.recipe import Recipe

#: Files without which a trained checkpoint cannot be measured.
ESSENTIAL_FILES = ("model.safetensors", "config.json", "tokenizer.json")


def fingerprint(recipe: bytes, text: bytes) -> dict[str, str]:
    """Return the hashes that tell one training from another, of the two files as they are."""
    return {
        "recipe_sha256": hashlib.sha256(recipe).hexdigest(),
        "text_sha256": hashlib.sha256(text).hexdigest(),
    }


def sidecar(
    recipe: Recipe,
    hashes: dict[str, str],
    *,
    n_steps: int,
    losses: tuple[float, float],
    trajectory: Sequence[tuple[int, float]],
) -> dict[str, Any]:
    """Return what the sidecar says: identity, provenance, held-out losses [nats per byte]."""
    return {
        "model_id": recipe.model_id,
        "lab": recipe.lab,
        "suite": recipe.suite,
        "year": recipe.year,
        "recipe": recipe.name,
        **hashes,
        "seed": recipe.seed,
        "steps": n_steps,
        "loss_before": losses[0],
        "loss_after": losses[1],
        **({"trajectory": [list(point) for point in trajectory]} if trajectory else {}),
        **versions(),
    }


def file_hashes(directory: Path) -> dict[str, str]:
    """Return the hash of every file of a checkpoint by name, the sidecar left out."""
    files = (path for path in directory.iterdir() if path.is_file())
    paths = sorted(path for path in files if path.name != SIDECAR)
    return {path.name: file_sha256(path) for path in paths}


def is_intact(directory: Path, content: dict[str, Any]) -> bool:
    """Return whether a directory holds the files its sidecar lists, unchanged.

    A sidecar without a list, as earlier versions wrote it, vouches for names only.
    """
    listed = content.get("files")
    try:
        if listed is None:
            return all((directory / name).is_file() for name in ESSENTIAL_FILES)
        return all(file_sha256(directory / name) == digest for name, digest in listed.items())
    except (OSError, AttributeError):
        return False


def write_sidecar(content: dict[str, Any], directory: Path) -> None:
    """Write the sidecar into the directory of a checkpoint."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    (directory / SIDECAR).write_text(text, encoding="utf-8")


def read_sidecar(directory: Path) -> dict[str, Any] | None:
    """Return the sidecar of a checkpoint; None where there is no readable one."""
    with suppress(InputError):
        return json_object(directory / SIDECAR)
    return None
