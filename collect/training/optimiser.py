"""The optimisers of a recipe, and the schedule of their learning rate.

Muon is made for the matrices inside the blocks; embeddings, the output matrix, biases and
norms go to AdamW beside it. Muon's step is scaled to the size an AdamW step has
(``match_rms_adamw``), so one learning rate serves both and two suites differ in the rule alone.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch.optim import AdamW, Muon, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from collect.training.recipe import Recipe

BETAS = (0.9, 0.95)

#: Share of the peak learning rate that is left at the end of the cosine.
FINAL_SHARE = 0.1


def optimisers(network: torch.nn.Module, recipe: Recipe) -> list[Optimizer]:
    """Return the optimisers that together step every parameter of the network once."""
    rate, decay = recipe.optimiser.learning_rate, recipe.optimiser.weight_decay
    if recipe.optimiser.name == "adamw":
        return [_adamw(list(network.parameters()), rate, decay)]
    hidden = hidden_matrices(network)
    chosen = {id(parameter) for parameter in hidden}
    rest = [parameter for parameter in network.parameters() if id(parameter) not in chosen]
    muon = Muon(hidden, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw")
    return [muon, _adamw(rest, rate, decay)]


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
    share = partial(rate_share, steps=recipe.schedule.steps, warm_up=recipe.schedule.warm_up)
    return [LambdaLR(optimiser, share) for optimiser in stepping]


def rate_share(step: int, *, steps: int, warm_up: int) -> float:
    """Return the share of the peak learning rate at a step: linear warm-up times a cosine.

    >>> [round(rate_share(step, steps=4, warm_up=2), 3) for step in range(4)]
    [0.5, 0.868, 0.55, 0.232]
    """
    rise = min(1.0, (step + 1) / max(1, warm_up))
    cosine = (1 + math.cos(math.pi * step / steps)) / 2
    return rise * (FINAL_SHARE + (1 - FINAL_SHARE) * cosine)


def _adamw(parameters: list[torch.nn.Parameter], rate: float, decay: float) -> AdamW:
    """Return AdamW that shrinks matrices, and leaves biases and norms unshrunk."""
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    vectors = [parameter for parameter in parameters if parameter.ndim < 2]
    return AdamW(
        [
            {"params": matrices, "weight_decay": decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=rate,
        betas=BETAS,
    )
