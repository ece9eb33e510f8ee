"""The command ``train``: a recipe in, an ordinary transformers checkpoint out.

A checkpoint appears under its name complete, or not at all.
"""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.model.labels import SIDECAR
from collect.process.interruption import interruptible
from collect.record.atomic import locks
from collect.record.atomic.directory import complete_or_absent
from collect.training.architecture import save_network
from collect.training.descent import Watch, fit, tokenizer_of
from collect.training.input_table import fold_table
from collect.training.recipe import Recipe, read_recipe
from collect.training.sidecar import (
    file_hashes,
    fingerprint,
    is_intact,
    read_sidecar,
    sidecar,
    write_sidecar,
)
from collect.training.text import read_text


@interruptible()
def train(
    recipe: Path,
    out: Path,
    *,
    overwrite: bool = False,
    keep: bool = False,
    quiet: bool = False,
) -> Path:
    """Train the model of a recipe and save it as the checkpoint ``out/<name of the recipe>``.

    The checkpoint holds weights, configuration, the tokenizer, the recipe and
    ``thermoscope.json``. One that is there already, whole and from the same recipe and text, is
    left as it is.

    Returns
    -------
    Directory of the checkpoint.
    """
    plan = read_recipe(recipe)
    text = read_text(recipe.parent / plan.text)
    if keep:
        require_steps(plan)
    hashes = fingerprint(recipe.read_bytes(), text)
    checkpoint = out / plan.name
    recorded = read_sidecar(checkpoint) or {}
    comes_from_these = hashes.items() <= recorded.items()
    is_whole = is_intact(checkpoint, recorded) and (not keep or are_there(plan, checkpoint))
    if comes_from_these and not overwrite and is_whole:
        locks.remove_abandoned(out)
        return checkpoint
    _refuse_occupied(checkpoint, may_replace=overwrite or comes_from_these)
    with complete_or_absent(checkpoint) as directory:
        watch = keeper(plan, text, hashes, directory) if keep else None
        training = fit(plan, text, watch=watch, quiet=quiet)
        tokenizer_of(plan, text).save_pretrained(directory)
        shutil.copyfile(recipe, directory / "recipe.toml")
        content = sidecar(
            plan,
            hashes,
            n_steps=training.n_steps,
            losses=(training.loss_before, training.loss_after),
            trajectory=training.trajectory,
        )
        fold_table(training.network)
        save_network(training.network, directory)
        write_sidecar({**content, "files": file_hashes(directory)}, directory)
    return checkpoint


def _refuse_occupied(checkpoint: Path, *, may_replace: bool) -> None:
    """Refuse to replace what this program did not write, or was not asked to replace."""
    if not checkpoint.exists():
        return
    if read_sidecar(checkpoint) is None:
        raise InputError(
            f"{checkpoint} must be free or a trained checkpoint; found no {SIDECAR} in it.",
            "Choose another --out, or move it away.",
        )
    if not may_replace:
        raise InputError(
            f"{checkpoint} must come from this recipe and text; found one from another.",
            "Give --overwrite to replace it, choose another --out, or rename the recipe.",
        )


def name_of(step: int) -> str:
    """Return the name of the directory that keeps the network after some steps."""
    return f"step{step}"


def require_steps(recipe: Recipe) -> None:
    """Raise InputError if a recipe names no step after which to keep its network."""
    if not recipe.schedule.checkpoints:
        raise InputError(
            f"The recipe {recipe.name} must say after which steps to keep its network; it names "
            "none.",
            "Put checkpoints = [0, 1, 2, 4, ...] under [schedule].",
        )


def keeper(recipe: Recipe, text: bytes, hashes: dict[str, str], directory: Path) -> Watch:
    """Return what saves the network at each of the recipe's checkpoints, under ``directory``.

    Each is a checkpoint of its own, ``step100`` for instance, that bears the name of the model,
    the steps taken and the tokens trained on by then.
    """
    schedule = recipe.schedule

    def keep(step: int, network: Any, loss: float) -> None:
        place = directory / name_of(step)
        folded = copy.deepcopy(network)
        fold_table(folded)
        save_network(folded, place)
        tokenizer_of(recipe, text).save_pretrained(place)
        content = sidecar(recipe, hashes, n_steps=step, losses=(loss, loss), trajectory=())
        del content["loss_before"]
        tokens = step * schedule.batch_size * recipe.geometry.context
        write_sidecar({**content, "tokens": tokens, "files": file_hashes(place)}, place)

    return keep


def are_there(recipe: Recipe, directory: Path) -> bool:
    """Return whether a checkpoint holds all that its recipe names, unchanged.

    A training that ended at its goal before the last of them has kept those up to its end.
    """
    end = (read_sidecar(directory) or {}).get("steps", 0)
    places = [directory / name_of(s) for s in recipe.schedule.checkpoints if s <= end]
    return all(is_intact(place, read_sidecar(place) or {}) for place in places)
