"""What the pass of one batch leaves behind: a few numbers for each token, head and prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from collect.instruments.attention_maps import AttentionStatistics, MeanMapStatistics
    from collect.instruments.geometry import Geometry
    from collect.instruments.predictions import Predictions


@dataclass(frozen=True, slots=True)
class Norms:
    """Lengths of vectors, each (n_places, n_tokens), the tokens prompt after prompt.

    ``places`` are pairs (layer, site).
    """

    places: tuple[tuple[int, str], ...]
    norm: Tensor
    norm_centred: Tensor
    top_share: Tensor
    top_feature: Tensor


@dataclass(frozen=True, slots=True)
class Updates:
    """What parts of blocks add to the stream, each (n_places, n_tokens), prompt after prompt.

    ``places`` are pairs (layer, part); NaN stands for what is not defined.
    """

    places: tuple[tuple[int, str], ...]
    norm: Tensor
    norm_centred: Tensor
    ratio: Tensor
    cosine: Tensor
    input_norm: Tensor


@dataclass(slots=True)
class Observation:
    """What the pass of one batch leaves behind, prompts in the order of the batch.

    Attributes
    ----------
    norms, updates
        Of all sites, and of all parts of blocks.
    attention, attention_mean
        By layer: (n_prompts, n_heads) and (n_prompts,).
    geometry, embedding_correlation
        By (layer, site): one entry per prompt.
    predictions
        Distributions after every token, prompt after prompt.
    legacy
        By (layer, metric): (n_prompts,).
    """

    norms: Norms | None = None
    updates: Updates | None = None
    attention: dict[int, AttentionStatistics] = field(default_factory=dict)
    attention_mean: dict[int, MeanMapStatistics] = field(default_factory=dict)
    geometry: dict[tuple[int, str], list[Geometry]] = field(default_factory=dict)
    embedding_correlation: dict[tuple[int, str], list[float]] = field(default_factory=dict)
    predictions: Predictions | None = None
    legacy: dict[tuple[int, str], Tensor] = field(default_factory=dict)
