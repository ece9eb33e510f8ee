"""How a GGUF file of one architecture is carried into a model of transformers, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from collect.model.checkpoint.gguf.keys import Keys

#: Takes entries of a header that belong together, and puts what they say into a configuration.
Rule: TypeAlias = Callable[[Keys, dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number that is an entry of the configuration.

    Attributes
    ----------
    field
        Entry of the configuration of transformers.
    default
        Number where the header names none, or the entry before it that it then equals; None where
        the header must name it.
    least
        Smallest number that can be.
    """

    field: str
    default: int | str | None = None
    least: int = 1


@dataclass(frozen=True, slots=True)
class Number:
    """A number of at least 0 that is an entry of the configuration; see `Whole`."""

    field: str
    default: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What the header and the tensors of one architecture of llama.cpp say.

    Attributes
    ----------
    model_type
        Type of the model in transformers.
    entries
        By key after the architecture's name: the entry of the configuration that it is.
    stated
        By key: what it may say, for the model does so anyhow; a tuple holds several.
    rules
        What takes keys that belong together, in order.
    fixed
        Entries of the configuration that follow from the architecture.
    tensors
        By name in the file, without ``blk.N.`` and ending: the parameter, without what holds the
        blocks and without ending.
    blocks
        What holds the blocks.
    layouts
        By name of a tensor as in `tensors`: how llama.cpp lays it out; see `layout`.
    has_shifted_norms
        Whether norms are stored with one added.
    has_experts
        Whether matrices of experts are stored in one tensor each for gate, up and down.
    """

    model_type: str
    entries: Mapping[str, Whole | Number]
    tensors: Mapping[str, str]
    stated: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    blocks: str = "model.layers"
    layouts: Mapping[str, str] = field(default_factory=dict)
    has_shifted_norms: bool = False
    has_experts: bool = False
