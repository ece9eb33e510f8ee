"""Who trained a model, in which suite and year, and from which base: said by hand, or known.

``models.toml`` knows them of identifiers on the hub.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from collect.errors import InputError

#: File a checkpoint directory may hold to say who trained it; written by ``training.train``.
SIDECAR = "thermoscope.json"

_YEARS = range(2017, 2101)


@dataclass(frozen=True, slots=True)
class Labels:
    """Who trained a checkpoint, in which suite, in which year, and from which base model.

    Raises
    ------
    InputError
        If the year is no integer of 2017 to 2100, or another label no text or an empty one.
    """

    lab: str | None = None
    suite: str | None = None
    year: int | None = None
    base_model_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("lab", "suite", "base_model_id"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise InputError(
                    f"The {name} of a model must be text that is not empty; found {value!r}.",
                    "Correct it, or leave it out.",
                )
        if self.year is not None and not (type(self.year) is int and self.year in _YEARS):
            raise InputError(
                f"The year of a model must be a whole number from {_YEARS[0]} to {_YEARS[-1]}; "
                f"found {self.year!r}.",
                "Correct it, or leave it out.",
            )

    def over(self, others: Labels) -> Labels:
        """Return these labels, with those that are missing taken from ``others``."""
        known = {name: getattr(self, name) for name in self.__slots__}
        return replace(others, **{n: value for n, value in known.items() if value is not None})


def labels_of(sidecar: dict[str, Any], directory: Path) -> Labels:
    """Return the labels that a sidecar states.

    Raises
    ------
    InputError
        If one of them can be none.
    """
    try:
        return Labels(**{key: sidecar.get(key) for key in Labels.__slots__})
    except InputError as error:
        raise InputError(f"{directory / SIDECAR}: {error.problem}", error.hint) from error


class Known(NamedTuple):
    """What ``models.toml`` knows of a hub identifier: its labels, and the tokens of a step."""

    labels: Labels
    tokens_per_step: int | None


def known(model_id: str) -> Known:
    """Return what ``models.toml`` knows of a hub identifier; of most, nothing.

    The longest prefix of a suite that matches wins.
    """
    name, models = model_id.lower(), _known_models()
    suites = [s for s in models["suite"] if name.startswith(s["prefix"].lower())]
    suite: dict[str, Any] = max(suites, key=lambda suite: len(suite["prefix"]), default={})
    of_suite = {key: suite.get(key) for key in ("lab", "suite", "year")}
    labels = Labels(**of_suite, base_model_id=models["base"].get(model_id))
    return Known(labels, suite.get("tokens_per_step"))


@cache
def _known_models() -> dict[str, Any]:
    return tomllib.loads(files("collect.model").joinpath("models.toml").read_text(encoding="utf-8"))
