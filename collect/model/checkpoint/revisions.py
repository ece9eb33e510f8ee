"""Revisions of a model: which ones a command asks for, and how far each was trained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.model.checkpoint import hub
from collect.model.checkpoint.weight_files import json_object
from collect.schema.counting import counted
from collect.schema.paths import expand_path

#: What makes a name a pattern.
_WILD = re.compile(r"[*?\[]")

#: Steps in names of revisions: step1000, global_step1000, checkpoint-500, step5-tokens1B.
_STEP = re.compile(r"(?:step|checkpoint|iter)[-_]?(\d+)", re.IGNORECASE)
_TOKENS = re.compile(r"tokens[-_]?(\d+(?:\.\d+)?)([KMBT]?)", re.IGNORECASE)
_FACTORS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}

#: What transformers' own training loop keeps beside a checkpoint.
_TRAINER_STATE = "trainer_state.json"

#: Names that a message shows at most.
_SHOWN = 6


def asked_for(model: str, revisions: Sequence[str]) -> list[str | None]:
    """Return the names of the revisions that some names and patterns stand for, each once.

    Parameters
    ----------
    model
        Identifier on the hub, or a directory that holds checkpoints side by side.
    revisions
        Branches, tags, commits, or names of checkpoints in the directory; patterns such as
        ``step*`` stand for all branches and tags, or checkpoints, that match, by their step.

    Returns
    -------
    Names in the order asked for; None alone where nothing was.

    Raises
    ------
    InputError
        If a pattern matches nothing.
    CollectError
        If the hub must be asked and cannot be; see `hub.references`.
    """
    if not revisions:
        return [None]
    known: list[str] | None = None
    chosen: list[str] = []
    for revision in revisions:
        if not _WILD.search(revision):
            chosen.append(revision)
            continue
        known = _known(model) if known is None else known
        matching = [name for name in known if fnmatchcase(name, revision)]
        if not matching:
            raise InputError(
                f"A pattern must match a revision of {model}; {revision!r} matches none.",
                _there_are(known),
            )
        chosen += sorted(matching, key=_place)
    return list(dict.fromkeys(chosen))


def _known(model: str) -> list[str]:
    directory = expand_path(model)
    return beside(directory) if directory.is_dir() else hub.references(model)


def beside(directory: Path) -> list[str]:
    """Return the names of the checkpoints that lie in a directory, sorted by step and name."""
    names = [path.parent.name for path in directory.glob("*/config.json")]
    return sorted((name for name in names if not name.startswith(".")), key=_place)


def within(directory: Path, revision: str) -> Path:
    """Return the checkpoint of a name in a directory.

    Raises
    ------
    InputError
        If there is none.
    """
    if revision not in beside(directory):
        raise InputError(
            f"A revision of a directory must be a checkpoint in it; {directory} has none named "
            f"{revision!r}.",
            _there_are(beside(directory)),
        )
    return directory / revision


def refuse_series(directory: Path) -> None:
    """Refuse a directory that is no checkpoint and holds some, as a training leaves it.

    Raises
    ------
    InputError
        If it is one; the hint names the revisions that it has.
    """
    names = [] if (directory / "config.json").is_file() else beside(directory)
    if names:
        raise InputError(
            f"A checkpoint directory must hold config.json; {directory} does not, but "
            f"{counted(len(names), 'directory', 'directories')} in it "
            f"{'does' if len(names) == 1 else 'do'}.",
            f"Add --revision '{_standing_for(names)}' to measure them. {_there_are(names)}",
        )


def _standing_for(names: Sequence[str]) -> str:
    """Return a pattern for all of some names.

    >>> _standing_for(["checkpoint-100", "checkpoint-150"]), _standing_for(["final"])
    ('checkpoint-*', 'final')
    >>> _standing_for(["checkpoint-100", "final"])
    '*'
    """
    if len(names) == 1:
        return names[0]
    series = {name.rstrip("0123456789") for name in names}
    return f"{series.pop() if len(series) == 1 else ''}*"


def _there_are(names: Sequence[str]) -> str:
    if not names:
        return "There are no revisions; leave --revision out."
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"There are {', '.join(names[:_SHOWN])}{more}."


def _place(name: str) -> tuple[bool, int, str]:
    """Return where a name stands in order: by its step, those without a step last."""
    step = training_of(name)[0]
    return step is None, step or 0, name


def training_of(name: str) -> tuple[int | None, int | None]:
    """Return the step and the number of tokens that the name of a revision tells.

    >>> training_of("stage1-step1000-tokens5B")
    (1000, 5000000000)
    >>> training_of("main")
    (None, None)
    """
    step, tokens = _STEP.search(name), _TOKENS.search(name)
    n_tokens = None if tokens is None else float(tokens[1]) * _FACTORS[tokens[2].upper()]
    return None if step is None else int(step[1]), None if n_tokens is None else round(n_tokens)


def training(
    name: str | None, directory: Path, sidecar: dict[str, Any], tokens_per_step: int | None
) -> tuple[int | None, int | None]:
    """Return how far a checkpoint was trained: steps taken, and tokens trained on.

    Parameters
    ----------
    name
        Of its revision; None where it has none.
    directory
        Where its small files are.
    sidecar
        What ``thermoscope.json`` beside it says.
    tokens_per_step
        Tokens of a step in its suite, where that is known and fixed.
    """
    step, tokens = (None, None) if name is None else training_of(name)
    state: dict[str, Any] = {}
    with suppress(InputError):  # which only says more where it can be read
        state = json_object(directory / _TRAINER_STATE)
    step = _first(step, sidecar.get("steps"), state.get("global_step"))
    tokens = _first(tokens, sidecar.get("tokens"), state.get("num_input_tokens_seen") or None)
    if tokens is None and step is not None and tokens_per_step is not None:
        tokens = step * tokens_per_step
    return step, tokens


def _first(*counts: object) -> int | None:
    """Return the first that is a whole number of 0 or more."""
    return next((n for n in counts if type(n) is int and n >= 0), None)
