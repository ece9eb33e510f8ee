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


def quantities(before: Decoder, after: Decoder, prompts: Sequence[Encoded]) -> list[dict[str, Any]]:
    """Return how the quantities of two networks in float64 differ on prompts.

    Returns
    -------
    One entry per quantity of `quantity.QUERIES` that the network has, with its mean before and
    after, and the largest change of a single value over the largest value.
    """
    by_network = values(measured({"before": before, "after": after}, prompts))
    return [
        _entry(name, of_before, by_network["after"])
        for name, of_before in by_network["before"].items()
    ]


def _entry(
    name: str, before: NDArray[np.float64], later: Mapping[str, NDArray[np.float64]]
) -> dict[str, Any]:
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
