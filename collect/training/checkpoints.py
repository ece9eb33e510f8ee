"""Checkpoints kept on the way: a network as it was after some steps, as revisions of a model."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.training.architecture import save_network
from collect.training.descent import Watch, tokenizer_of
from collect.training.input_table import fold_table
from collect.training.recipe import Recipe
from collect.training.sidecar import file_hashes, is_intact, read_sidecar, sidecar, write_sidecar


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
