"""The optimisers of a recipe, and the schedule of their learning rate.

Muon is made for the matrices inside the blocks; embeddings, the output matrix, biases and
norms go to AdamW beside it. Muon's step is scaled to the size an AdamW step has
(``match_rms_adamw``), so one learning rate serves both and two suites differ in the rule alone.

Weight decay can be said in decay turns, kappa = sum over the steps of learning rate times decay:
how many e-foldings of shrinking a matrix sees, whatever the length of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.optim import SGD, AdamW, Muon, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from collect.training.recipe import Recipe

BETA1 = 0.9

#: Share of the peak learning rate that is left at the end of the cosine, unless said otherwise.
FINAL_SHARE = 0.1


def optimisers(network: torch.nn.Module, recipe: Recipe) -> list[Optimizer]:
    """Return the optimisers that together step every parameter of the network once."""
    rate, decay = recipe.optimiser.learning_rate, weight_decay(recipe)
    name = recipe.optimiser.name
    if name == "sgd":
        return [_sgd(network, recipe)]
    if name == "adamw":
        groups = _groups(network, list(network.parameters()), recipe)
        return [_adamw(groups, recipe)]
    hidden = hidden_matrices(network)
    chosen = {id(parameter) for parameter in hidden}
    rest = [parameter for parameter in network.parameters() if id(parameter) not in chosen]
    muon = Muon(hidden, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw")
    return [muon, _adamw(_groups(network, rest, recipe), recipe)]


def weight_decay(recipe: Recipe) -> float:
    """Return the decay rate of the matrices: as given, or kappa / sum of the learning rates."""
    if recipe.optimiser.weight_decay is not None:
        return recipe.optimiser.weight_decay
    turns = recipe.optimiser.decay_turns
    return 0.0 if turns is None else turns / total_rate(recipe)


def decay_turns(recipe: Recipe) -> float:
    """Return kappa, the sum over the steps of learning rate times decay [e-foldings]."""
    turns = recipe.optimiser.decay_turns
    return weight_decay(recipe) * total_rate(recipe) if turns is None else turns


def total_rate(recipe: Recipe) -> float:
    """Return the sum of the learning rate over the steps of the schedule."""
    share = _share(recipe)
    shares = (share(step) for step in range(recipe.schedule.steps))
    return recipe.optimiser.learning_rate * math.fsum(shares)


def equilibrium_scale(recipe: Recipe) -> float:
    """Return sqrt(lr / (2 decay)), where AdamW's weights settle if given the time [1].

    The root mean square that entries tend to when steps of size lr in unrelated directions
    balance the decay; infinite without decay. Two runs of equal kappa and other lengths share
    the turns, not this scale.

    Source: L. Wang and L. Aitchison, "How to set AdamW's weight decay as you scale model and
    dataset size" (2024); A. Kosson et al., "Rotational equilibrium" (2023).
    """
    decay = weight_decay(recipe)
    return math.sqrt(recipe.optimiser.learning_rate / (2 * decay)) if decay else math.inf


def hidden_matrices(network: torch.nn.Module) -> list[torch.nn.Parameter]:
    """Return the weight matrices inside the blocks: neither embeddings nor the output matrix."""
    tables = [module for module in network.modules() if isinstance(module, torch.nn.Embedding)]
    tables.append(network.get_output_embeddings())  # type: ignore[operator]
    outside = {id(parameter) for table in tables for parameter in table.parameters()}
    return [
        parameter
        for parameter in network.parameters()
        if parameter.ndim == 2 and id(parameter) not in outside
    ]


def schedulers(stepping: list[Optimizer], recipe: Recipe) -> list[LambdaLR]:
    """Return one scheduler per optimiser; all follow the same warm-up and cosine."""
    return [LambdaLR(optimiser, _share(recipe)) for optimiser in stepping]


def _share(recipe: Recipe) -> Callable[[int], float]:
    return partial(
        rate_share,
        steps=recipe.schedule.steps,
        warm_up=recipe.schedule.warm_up,
        final_share=recipe.optimiser.final_share,
    )


def rate_share(step: int, *, steps: int, warm_up: int, final_share: float = FINAL_SHARE) -> float:
    """Return the share of the peak learning rate at a step: linear warm-up times a cosine.

    >>> [round(rate_share(step, steps=4, warm_up=2), 3) for step in range(4)]
    [0.5, 0.868, 0.55, 0.232]
    """
    rise = min(1.0, (step + 1) / max(1, warm_up))
    cosine = (1 + math.cos(math.pi * step / steps)) / 2
    return rise * (final_share + (1 - final_share) * cosine)


def _groups(
    network: Any, parameters: list[torch.nn.Parameter], recipe: Recipe
) -> list[dict[str, Any]]:
    """Return the groups of an optimiser: matrices shrink, biases and norms do not.

    The input table has groups of its own where its rate or decay is another one. Its decay is
    divided by its rate, so that its turns are what ``embedding_decay`` makes of the others'.
    """
    settings, decay = recipe.optimiser, weight_decay(recipe)
    groups = _shrunk_and_not(parameters, settings.learning_rate, decay)
    if (settings.embedding_rate, settings.embedding_decay) == (1.0, 1.0):
        return groups
    table = {id(parameter) for parameter in network.get_input_embeddings().parameters()}
    apart = [parameter for parameter in parameters if id(parameter) in table]
    rest = [parameter for parameter in parameters if id(parameter) not in table]
    rate = settings.learning_rate * settings.embedding_rate
    of_table = decay * settings.embedding_decay / settings.embedding_rate
    return [
        *_shrunk_and_not(rest, settings.learning_rate, decay),
        *(group for group in _shrunk_and_not(apart, rate, of_table) if group["params"]),
    ]


def _shrunk_and_not(
    parameters: list[torch.nn.Parameter], rate: float, decay: float
) -> list[dict[str, Any]]:
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    vectors = [parameter for parameter in parameters if parameter.ndim < 2]
    return [
        {"params": matrices, "lr": rate, "weight_decay": decay},
        {"params": vectors, "lr": rate, "weight_decay": 0.0},
    ]


def _adamw(groups: list[dict[str, Any]], recipe: Recipe) -> AdamW:
    settings = recipe.optimiser
    return AdamW(groups, lr=settings.learning_rate, betas=(BETA1, settings.beta2))


def _sgd(network: Any, recipe: Recipe) -> SGD:
    """Return SGD with momentum, its decay divided so that its turns are those of AdamW.

    SGD adds the decay to the gradient, and momentum m repeats it 1 / (1 - m) times.
    """
    groups = _groups(network, list(network.parameters()), recipe)
    momentum = recipe.optimiser.momentum
    for group in groups:
        group["weight_decay"] *= 1 - momentum
    return SGD(groups, lr=recipe.optimiser.learning_rate, momentum=momentum)
