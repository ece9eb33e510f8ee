"""What families do to the output of their head before the softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def unchanged(logits: Tensor, _config: Any) -> Tensor:
    """Return logits as the head gives them."""
    return logits


def soft_capped(logits: Tensor, config: Any) -> Tensor:
    """Return c tanh(logits / c), c being ``final_logit_softcapping``; no cap, no change."""
    cap: float | None = config.final_logit_softcapping
    return logits if cap is None else (logits / cap).tanh() * cap


def multiplied(logits: Tensor, config: Any) -> Tensor:
    """Return logits times ``logit_scale``, where there is one."""
    scale: float | None = config.logit_scale
    return logits if scale is None else logits * scale


def divided(logits: Tensor, config: Any) -> Tensor:
    """Return logits over ``logits_scaling``."""
    scale: float = config.logits_scaling
    return logits / scale


def multiplied_by_scaling(logits: Tensor, config: Any) -> Tensor:
    """Return logits times ``logits_scaling``."""
    scale: float = config.logits_scaling
    return logits * scale


def soft_capped_as(name: str) -> Callable[[Tensor, Any], Tensor]:
    """Return the soft cap c tanh(logits / c) whose c is an entry; no entry, no cap."""

    def capped(logits: Tensor, config: Any) -> Tensor:
        cap: float | None = getattr(config, name, None)
        return logits if cap is None else (logits / cap).tanh() * cap

    return capped
