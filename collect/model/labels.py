"""Who trained a model, in which suite and year, and from which base: said by hand, or known.

``models.toml`` knows them of identifiers on the hub.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

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


def known_labels(model_id: str) -> Labels:
    """Return lab, suite, year and base model that ``models.toml`` knows of a hub identifier.

    The longest matching prefix wins; an unknown identifier gets no labels.
    """
    base_model_id = _known_models()["base"].get(model_id)
    best = known_suite(model_id)
    if not best:
        return Labels(base_model_id=base_model_id)
    return Labels(best["lab"], best["suite"], best["year"], base_model_id)


def known_suite(model_id: str) -> dict[str, Any]:
    """Return what ``models.toml`` says of the suite of a hub identifier; nothing of most."""
    name = model_id.lower()
    suites = [s for s in _known_models()["suite"] if name.startswith(s["prefix"].lower())]
    return max(suites, key=lambda suite: len(suite["prefix"]), default={})


@cache
def _known_models() -> dict[str, Any]:
    return tomllib.loads(files("collect.model").joinpath("models.toml").read_text(encoding="utf-8"))
