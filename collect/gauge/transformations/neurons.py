r"""Order and scale of hidden units in feed-forward.

A feed-forward layer computes :math:`W f(R x + b)`. A permutation P of its hidden units, in the
rows of R and b and the columns of W, changes nothing for any f that acts unit by unit; a gate's
rows go along, experts are permuted one by one.

A factor s on a row of R and b comes out of f as :math:`s^k` where f is homogeneous on positive
numbers, and W takes :math:`s^{-k}`: k = 1 for ReLU, 2 for its square, s > 0. In a gated layer,
:math:`W (f(G x) \circ (U x + b))`, the second factor is linear whatever f is, so a row of U and b
takes any s other than 0. GELU, SiLU and xIELU alone are not homogeneous: refused; so is a gate
that clips or adds one to U x, as GPT-OSS's. Reference: Dinh et al. (2017), "Sharp minima can
generalize for deep nets", section 2; Neyshabur et al. (2015), "Path-SGD".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from collect.gauge.transformations.block import Neurons
from collect.gauge.transformations.transformation import Transformation, factors
from collect.gauge.transformations.wiring import Wiring

#: Degree of homogeneity of activations on positive numbers.
_DEGREE = {"relu": 1, "relu2": 2}
_NAMES = ("hidden_act", "activation_function", "hidden_activation", "activation")


def degree(config: Any) -> int | None:
    """Return the degree of homogeneity of the activation; None where it has none."""
    named = (getattr(config, name, None) for name in _NAMES)
    return next((_DEGREE[name] for name in named if name in _DEGREE), None)


def scale_refusal(wiring: Wiring) -> str | None:
    """Return why hidden units have no free scale."""
    layers = wiring.blocks[0].neurons
    if layers[0].is_paired:
        return "the gate clips what it multiplies and adds one to it"
    if not layers[0].is_gated and degree(wiring.config) is None:
        return "the activation is not homogeneous, so a factor does not come out of it"
    return None


def apply_scale(wiring: Wiring, rng: np.random.Generator) -> None:
    """Scale every hidden unit by a random factor."""
    for block in wiring.blocks:
        for layer in block.neurons:
            scale = factors(rng, layer.writes.entries, layer.n)
            if layer.is_gated:
                scale *= torch.sign(scale.new_tensor(rng.standard_normal(layer.n)))
            power = 1 if layer.is_gated else degree(wiring.config)
            layer.writes.entries.div_(scale ** (power or 1))
            rows = slice(-layer.n, None) if layer.is_fused else slice(None)
            matrix = layer.reads[-1]
            matrix.entries[..., rows, :] *= scale[:, None]
            if matrix.bias is not None:
                matrix.bias[..., rows] *= scale


def apply_order(wiring: Wiring, rng: np.random.Generator) -> None:
    """Put the hidden units of every layer into a random order."""
    for block in wiring.blocks:
        for layer in block.neurons:
            order = torch.from_numpy(rng.permutation(layer.n))
            layer.writes.entries.copy_(layer.writes.entries[..., order])
            rows = _rows(layer, order)
            for matrix in layer.reads:
                matrix.entries.copy_(matrix.entries[..., rows, :])
                if matrix.bias is not None:
                    matrix.bias.copy_(matrix.bias[..., rows])


def _rows(layer: Neurons, order: Tensor) -> Tensor:
    """Return the rows of what reads, in the order of the units."""
    if layer.is_paired:
        return torch.stack([2 * order, 2 * order + 1], dim=-1).flatten()
    return torch.cat([order, order + layer.n]) if layer.is_fused else order


NEURON_SCALE = Transformation("neuron_scale", scale_refusal, apply_scale)
NEURON_ORDER = Transformation("neuron_order", lambda _wiring: None, apply_order)
