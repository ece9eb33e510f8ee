"""A profile of lengths over depth, as asked for, in a network that computes what it did.

After the mean is taken out of the stream, |x_l + s 1|^2 = |x_l|^2 + d s^2: a shift s_l of its own
gives the length after every block any larger value, here as geometric mean over prompts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

#: Factor between neighbouring depths in the profiles that grow and shrink.
STEP = 1.25

GAUGES = ("shrinking", "flat", "growing")


def target(gauge: str, centred: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths of a gauge: shrinking or growing by `STEP` from block to block, or flat.

    Of centred lengths before block 0 and after each block, (n_prompts, L + 1), the smallest profile
    of this shape, (L + 1,), that none exceeds on average.
    """
    depth = np.arange(centred.shape[1])
    shape = STEP ** {"shrinking": -depth, "flat": 0 * depth, "growing": depth}[gauge].astype(float)
    least: NDArray[np.float64] = np.exp(np.log(centred).mean(0))
    lengths: NDArray[np.float64] = shape * (least / shape).max()
    return lengths


def shifts(
    lengths: NDArray[np.float64], centred: NDArray[np.float64], d_model: int
) -> NDArray[np.float64]:
    """Return the shift at each depth that gives the stream a geometric mean length, (L + 1,)."""
    pairs = zip(lengths, centred.T, strict=True)
    return np.array([_shift(float(length), of_depth, d_model) for length, of_depth in pairs])


def _shift(length: float, centred: NDArray[np.float64], d_model: int) -> float:
    def excess(shift: float) -> float:
        return float(np.log(np.hypot(centred, shift * d_model**0.5)).mean() - np.log(length))

    return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, length, xtol=1e-12))
