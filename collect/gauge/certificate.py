"""The certificate of a changed checkpoint: how far logits and every quantity moved, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collect.gauge.logits import Difference
from collect.gauge.measured import measured
from collect.gauge.quantity import change, values
from collect.model.checkpoint.decoder import Decoder
from collect.prompts.tokens import Encoded

#: Name of the file beside the weights.
FILE = "gauge.json"


Values = Mapping[str, NDArray[np.float64]]


def values_of(network: Decoder, prompts: Sequence[Encoded]) -> Values:
    """Return the values on prompts of every quantity that a network in float64 has."""
    return values(measured({"network": network}, prompts))["network"]


def quantities(before: Values, after: Values) -> list[dict[str, Any]]:
    """Return how the quantities of a network differ before and after a change.

    Returns
    -------
    One entry per quantity of `quantity.QUERIES` that the network has, with its mean before and
    after, and the largest change of a single value over the largest value.
    """
    return [_entry(name, of_before, after) for name, of_before in before.items()]


def _entry(name: str, before: NDArray[np.float64], later: Values) -> dict[str, Any]:
    after = later[name]
    return {
        "quantity": name,
        "n_values": len(before),
        "mean_before": float(before.mean()),
        "mean_after": float(after.mean()),
        "largest_change": change(before, after),
    }


def as_json(difference: Difference) -> dict[str, float]:
    """Return a difference of logits by name."""
    return asdict(difference) | {"relative": difference.relative}
