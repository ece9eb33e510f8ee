"""A training recipe: one TOML file that says everything about one small model.

The file is read strictly. A key that is missing, unknown, of the wrong type or impossible is
refused before anything is trained. What a recipe leaves out is the family's own default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from collect.process.sections import (
    read_toml,
    require,
    require_choice,
    require_not_negative,
    require_positive,
    section,
)
from collect.training.families import (
    FAMILIES,
    RESIDUAL_RULES,
    Architecture,
    Family,
    Geometry,
    require_possible,
)

__all__ = [
    "FAMILIES",
    "OPTIMISERS",
    "Architecture",
    "Geometry",
    "Initial",
    "Optimiser",
    "Recipe",
    "Schedule",
    "read_recipe",
    "recipe_of",
]

OPTIMISERS = ("adamw", "muon", "sgd")

PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_HINT = "The recipes in data/sample/recipes are complete ones to start from."


@dataclass(frozen=True, slots=True)
class Initial:
    """Spread of the first draw, free of scale: c = sigma sqrt(d_model); None as the family has it.

    Attributes
    ----------
    inner
        c of every matrix that reads the stream, the output table among them if it is its own [1].
    embedding
        c of the input tables, tokens and positions [1].
    residual
        What the matrices that write into the stream get: none (sigma as the inner ones),
        depth (sigma / sqrt(2 L)), depth_ffn (sigma / sqrt(L) for feed-forward alone), wang
        (2 / (L sqrt(d_model)), whatever the inner ones have) or zero.
    """

    inner: float | None = None
    embedding: float | None = None
    residual: str | None = None

    def __post_init__(self) -> None:
        for key in ("inner", "embedding"):
            if getattr(self, key) is not None:
                require_positive(key, getattr(self, key))
        if self.residual is not None:
            require_choice("residual", self.residual, RESIDUAL_RULES)


@dataclass(frozen=True, slots=True)
class Optimiser:
    """Rule that turns gradients into steps; ``learning_rate`` is the peak of the schedule.

    Attributes
    ----------
    weight_decay, decay_turns
        Decay of the matrices, as a rate [1/step per learning rate] or as kappa, the sum over
        the steps of learning rate times decay [e-foldings]. One of the two.
    beta2
        Memory of AdamW's second moment [1].
    momentum
        Memory of the gradient in SGD [1].
    clip
        Gradients longer than this are shortened to it.
    z_loss
        Factor on the mean squared log normaliser of the predictions, added to the loss.
    final_share
        Share of the peak learning rate that is left at the end of the cosine [1].
    embedding_rate
        Learning rate of the input table over that of the rest [1].
    embedding_decay
        Decay turns of the input table over those of the other matrices [1].
    """

    name: str
    learning_rate: float
    weight_decay: float | None = None
    decay_turns: float | None = None
    beta2: float = 0.95
    momentum: float = 0.9
    clip: float = 1.0
    z_loss: float = 0.0
    final_share: float = 0.1
    embedding_rate: float = 1.0
    embedding_decay: float = 1.0

    def __post_init__(self) -> None:
        require_choice("name", self.name, OPTIMISERS)
        for key in ("learning_rate", "clip", "embedding_rate"):
            require_positive(key, getattr(self, key))
        given = [key for key in ("weight_decay", "decay_turns") if getattr(self, key) is not None]
        require(
            len(given) == 1,
            "one of weight_decay and decay_turns must be given, not both; "
            f"found {' and '.join(given) or 'neither'}",
        )
        for key in (*given, "z_loss", "embedding_decay"):
            require_not_negative(key, getattr(self, key))
        for key in ("beta2", "momentum"):
            value = getattr(self, key)
            require(0 <= value < 1, f"{key} must be at least 0 and below 1; found {value}")
        require(
            0 <= self.final_share <= 1, f"final_share must be in 0 to 1; found {self.final_share}"
        )


@dataclass(frozen=True, slots=True)
class Schedule:
    """Length of training: ``warm_up`` of all ``steps``, each over ``batch_size`` windows.

    Attributes
    ----------
    checkpoints
        Steps after which the network is measured; 0 is before the first one.
    stop_loss
        Held-out loss at which training ends early, at the first checkpoint that reaches it
        [nats per byte].
    """

    steps: int
    warm_up: int
    batch_size: int
    checkpoints: tuple[int, ...] = ()
    stop_loss: float | None = None

    def __post_init__(self) -> None:
        require_positive("steps", self.steps)
        require_positive("batch_size", self.batch_size)
        require(
            0 <= self.warm_up < self.steps,
            f"warm_up must lie between 0 and steps; found {self.warm_up} of {self.steps}",
        )
        inside = all(0 <= step <= self.steps for step in self.checkpoints)
        require(
            inside and sorted(set(self.checkpoints)) == list(self.checkpoints),
            f"checkpoints must rise from 0 to {self.steps} at most; found {self.checkpoints}",
        )
        if self.stop_loss is not None:
            require_positive("stop_loss", self.stop_loss)
            require(
                bool(self.checkpoints),
                "stop_loss must come with checkpoints, at which it is looked at; found none",
            )


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that determines one trained model; ``text`` is relative to the recipe file.

    Attributes
    ----------
    initializer_range
        Standard deviation of the family's own first draw; None for the family's default.
    data_seed
        Seed of the order of the text; None for ``seed``, which draws the weights.
    n_vocabulary
        Tokens of a byte-pair encoding learnt from the text; None for bytes.
    """

    name: str
    lab: str
    suite: str
    year: int
    family: str
    text: str
    seed: int
    geometry: Geometry
    optimiser: Optimiser
    schedule: Schedule
    initializer_range: float | None = None
    data_seed: int | None = None
    n_vocabulary: int | None = None
    architecture: Architecture = field(default_factory=Architecture)
    initial: Initial = field(default_factory=Initial)

    def __post_init__(self) -> None:
        for key in ("name", "lab", "suite"):
            require(
                PLAIN_NAME.fullmatch(getattr(self, key)) is not None,
                f"{key} must be made of letters, digits, '.', '_' and '-'; "
                f"found {getattr(self, key)!r}",
            )
        require(2017 <= self.year <= 2100, f"year must be in 2017 to 2100; found {self.year}")
        for key, seed in (("seed", self.seed), ("data_seed", self.data_seed or 0)):
            require(0 <= seed < 2**63, f"{key} must be in 0 to 2**63 - 1; found {seed}")
        if self.initializer_range is not None:
            require_positive("initializer_range", self.initializer_range)
            require(
                self.initial.inner is None,
                "initializer_range and initial.inner must not both be given, "
                "because both set the spread of the inner matrices",
            )
        if self.n_vocabulary is not None:
            require(
                256 < self.n_vocabulary <= 65536,
                f"n_vocabulary must be in 257 to 65536; found {self.n_vocabulary}",
            )
        require_choice("family", self.family, tuple(FAMILIES))
        require_possible(self.family, self.geometry, self.architecture)

    @property
    def model_id(self) -> str:
        """Identifier of the trained model, as it stands in the table ``model``."""
        return f"{self.lab}/{self.name}"

    @property
    def layout(self) -> Family:
        """What the family is by default and what it admits."""
        return FAMILIES[self.family]

    @property
    def norms_embedding_itself(self) -> bool:
        """Whether a norm behind the embedding is asked for that the layout does not have."""
        return bool(self.architecture.embedding_norm) and not self.layout.has_embedding_norm

    @property
    def scales_embedding_itself(self) -> bool:
        """Whether a factor on the embedding is asked for that the layout does not have."""
        scale = self.architecture.embedding_scale
        return self.layout.scale == "table" and scale is not None and scale != 1.0


def read_recipe(path: Path) -> Recipe:
    """Return the recipe that a TOML file spells out."""
    table = read_toml(
        path, "recipe", "Give the path of a recipe, for example one of data/sample/recipes."
    )
    return recipe_of(table, f"The recipe {path}")


def recipe_of(table: dict[str, object], where: str) -> Recipe:
    """Return the recipe that a table of TOML spells out; ``where`` names it in a refusal."""
    return section(Recipe, table, where, verdict="cannot be trained", hint=_HINT)
