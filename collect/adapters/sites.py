"""What to watch in one block, and what each part of it adds to the stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Contribution:
    """The vector a part of a block adds to the stream: scale times what ``module`` returns.

    The output may be a tuple or list (the first entry counts) and may be flattened to (tokens, d).
    It must be read while the hook runs: Falcon adds to it in place afterwards.
    """

    module: nn.Module
    scale: float

    def of(self, output: Any, like: Tensor) -> Tensor:
        """Return the vectors from the module's output, in the shape of ``like``."""
        vectors: Tensor = (output[0] if isinstance(output, tuple | list) else output).view_as(like)
        return vectors if self.scale == 1.0 else vectors * self.scale


@dataclass(frozen=True, slots=True)
class Sites:
    """What to watch in one block.

    Attributes
    ----------
    block
        Its first argument is the stream that enters, its (first) output the stream that leaves.
    attention
        Its first argument is what attention reads; see ``Decoder.attention_maps`` for the rest.
    ffn_input
        Its first argument is what the feed-forward part reads, after its norm; it may be
        flattened to (tokens, d).
    mid
        Its first argument is the stream between attention and feed-forward, perhaps flattened;
        None when the two are parallel.
    attention_update, ffn_update
        What each part adds.
    norms_after
        The norms that the sums after attention and after feed-forward go through (post-norm),
        or None.
    adds_to_norm
        True when what is added to is not the stream but what attention, or feed-forward, reads.
    """

    block: nn.Module
    attention: nn.Module
    ffn_input: nn.Module
    mid: nn.Module | None
    attention_update: Contribution
    ffn_update: Contribution
    norms_after: tuple[nn.Module, nn.Module] | None
    adds_to_norm: bool
