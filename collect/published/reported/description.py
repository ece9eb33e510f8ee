"""What a folder of reported lengths says of itself: ``source.toml``, read strictly.

Who measured, where it lies, which tokens of which prompts, what counts as a layer, and the shape of
each model. Without token, block or prompts a length has no meaning: such a folder is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from collect.errors import InputError
from collect.model.labels import Labels, known
from collect.process.sections import read_toml, require, require_choice, require_positive, section
from collect.schema.counting import repeated

#: File of a folder that describes it, and the one that holds its lengths.
DESCRIPTION, LENGTHS = "source.toml", "norms.csv"

#: What one length may be.
POOLINGS = ("last_token", "mean_of_lengths", "mean_of_lengths_without_first", "length_of_mean")

#: Most blocks, and most features, that a model is thought to have.
MOST = 1_000_000

#: What the contract knows of the norms and the positions of a model.
CHOICES = {
    "norm_kind": ("LayerNorm", "RMSNorm"),
    "norm_position": ("pre", "post", "sandwich", "output"),
    "positional_scheme": ("learned", "sinusoidal", "rotary", "alibi", "none"),
}

_HINT = "See 'Lengths that others measured' in the guide, and data/reported for examples."


@dataclass(frozen=True, slots=True)
class Source:
    """One source of lengths; see table ``reported_source``.

    Attributes
    ----------
    first_block
        The number that stands in the source for the length after block 0; a smaller one by 1 is
        the stream before it.
    """

    authors: str
    repository: str
    commit_id: str
    token: str
    pooling: str
    prompts: str
    block: str
    first_block: int
    dtype: str
    weights: str
    rendering: str = "plain"
    licence: str | None = None
    n_prompts: int | None = None
    remark: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            require(not isinstance(value, str) or bool(value.strip()), f"{field.name} says nothing")
        require_choice("pooling", self.pooling, POOLINGS)
        require_choice("rendering", self.rendering, ("plain", "chat"))
        require(self.first_block in (0, 1), f"first_block must be 0 or 1, not {self.first_block}")
        if self.n_prompts is not None:
            require_positive("n_prompts", self.n_prompts)


@dataclass(frozen=True, slots=True)
class Model:
    """The shape of one model of a source; see table ``model``."""

    model_id: str
    family: str
    n_layers: int
    d_model: int
    n_heads: int | None = None
    n_kv_heads: int | None = None
    d_head: int | None = None
    d_ffn: int | None = None
    n_vocabulary: int | None = None
    n_parameters: int | None = None
    norm_kind: str | None = None
    norm_position: str | None = None
    positional_scheme: str | None = None
    is_parallel: bool | None = None
    is_tied: bool | None = None
    lab: str | None = None
    suite: str | None = None
    year: int | None = None
    base_model_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("n_layers", "d_model"):
            value = getattr(self, name)
            require(0 < value <= MOST, f"{name} must be from 1 to {MOST}, not {value}")
        for name, choices in CHOICES.items():
            if getattr(self, name) is not None:
                require_choice(name, getattr(self, name), choices)

    def row(self) -> dict[str, Any]:
        """Return its row of table ``model``; labels it lacks are those known of its name."""
        stated = Labels(**{name: getattr(self, name) for name in Labels.__slots__})
        labels = stated.over(known(self.model_id).labels)
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        row |= {name: getattr(labels, name) for name in Labels.__slots__}
        counted = None if self.n_parameters is None else "configuration"
        return row | {"n_parameters_source": counted}


def read(folder: Path) -> tuple[Source, dict[str, Model]]:
    """Return what a folder says of its source, and the shape of each model by its identifier.

    Raises
    ------
    InputError
        If the description is absent or no TOML, lacks a key, has an unknown or impossible one, or
        describes no model or one twice.
    """
    path = folder / DESCRIPTION
    table = read_toml(path, "description of reported lengths", _HINT)
    models = table.pop("model", [])
    how = {"verdict": "cannot be", "hint": _HINT}
    source = section(Source, table, str(path), **how)
    if not isinstance(models, list) or not models:
        raise InputError(f"{path} must describe its models; it has no [[model]].", _HINT)
    shapes = [section(Model, each, f"{path}, model {n}", **how) for n, each in enumerate(models, 1)]
    names = [shape.model_id for shape in shapes]
    if twice := repeated(names):
        raise InputError(f"{path} must describe each model once; {twice[0]} stands there twice.")
    return source, dict(zip(names, shapes, strict=True))
