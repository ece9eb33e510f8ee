"""What the pass of one batch leaves behind: a few numbers for each token, head and prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor


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

    ``places`` are pairs (layer, part); NaN stands for what is not defined. ``layer_scale`` is
    None where blocks have no such number.
    """

    places: tuple[tuple[int, str], ...]
    norm: Tensor
    norm_centred: Tensor
    ratio: Tensor
    cosine: Tensor
    input_norm: Tensor
    layer_scale: Tensor | None = None


#: What the pass of one batch leaves behind, prompts in the order of the batch, by the table whose
#: rows are made of it; see `collect.instruments.rows`.
Observation: TypeAlias = "dict[str, Any]"
