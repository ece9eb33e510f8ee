"""The first draw of a network's matrices, by the part they play.

A recipe says the spread free of scale, c = sigma sqrt(d_model), because sigma alone means
another thing in every width: 0.02 is c = 0.55 in GPT-2 and c = 0.16 at d_model 64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from collect.training.recipe import Recipe


def draw(network: Any, recipe: Recipe) -> None:
    """Draw again, from torch's generator, each matrix that the recipe says a spread for.

    What ``initial`` leaves out stays as transformers drew it: nothing is drawn when the
    recipe has no ``initial``.
    """
    with torch.no_grad():
        for role, parameter in roles(network, recipe):
            sigma = spread(role, recipe)
            if sigma is not None:
                parameter.normal_(0.0, sigma) if sigma > 0 else parameter.zero_()


def roles(network: Any, recipe: Recipe) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yield the part that each matrix plays, and the matrix; vectors play none.

    The parts are "embedding" (tokens, positions, and the output table where it is tied),
    "attention_write" and "ffn_write" (what writes into the stream) and "inner" (the rest).
    """
    tables = {
        id(parameter)
        for module in network.modules()
        if isinstance(module, torch.nn.Embedding)
        for parameter in module.parameters()
    }
    attention, ffn = recipe.layout.writes
    for name, parameter in network.named_parameters():
        if parameter.ndim < 2:
            continue
        if id(parameter) in tables:
            yield "embedding", parameter
        elif name.endswith(attention):
            yield "attention_write", parameter
        elif name.endswith(ffn):
            yield "ffn_write", parameter
        else:
            yield "inner", parameter


def spread(role: str, recipe: Recipe) -> float | None:
    """Return the standard deviation that a recipe asks of a part; None where it asks for none.

    With d = d_model, L = n_layers and c from ``initial``: c / sqrt(d), times the rule of the
    matrices that write into the stream. Where ``initial`` gives a rule but no c, the
    recipe's ``initializer_range`` takes its place, or transformers' usual 0.02.
    """
    initial, root = recipe.initial, math.sqrt(recipe.geometry.d_model)
    if role == "embedding":
        return None if initial.embedding is None else initial.embedding / root
    if initial.inner is None and (role == "inner" or initial.residual is None):
        return None
    inner = (
        (recipe.initializer_range or _USUAL_SIGMA)
        if initial.inner is None
        else initial.inner / root
    )
    if role == "inner":
        return inner
    rule = initial.residual or recipe.layout.residual
    n_layers = recipe.geometry.n_layers
    return {
        "none": inner,
        "depth": inner / math.sqrt(2 * n_layers),
        "depth_ffn": inner / math.sqrt(n_layers) if role == "ffn_write" else inner,
        "wang": 2 / (n_layers * root),
        "zero": 0.0,
    }[rule]


#: Default of every configuration in `collect.training.families`.
_USUAL_SIGMA = 0.02
