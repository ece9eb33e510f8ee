"""An input table that is scaled or normed while it is trained, and folded into plain rows after.

The embedding of a token is one row of the table, so a factor on it, or a LayerNorm behind it,
is a function of the row alone. The network trains with the function in place; the checkpoint
keeps the rows the function gives. What it computes is the same, and every program can load it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm
from torch.nn.utils import parametrize

from collect.training.recipe import Recipe

_EPS = 1e-5


class Scaled(nn.Module):
    """The table times a fixed number, as Granite's ``embedding_multiplier`` does it."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, table: Tensor) -> Tensor:
        """Return the rows of ``table`` (n_vocabulary, d) times the factor."""
        return table * self.factor


class Normed(nn.Module):
    """A LayerNorm over each row, with gain and bias, as BLOOM has it behind its embedding."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, table: Tensor) -> Tensor:
        """Return the rows of ``table`` (n_vocabulary, d), each centred and scaled."""
        return layer_norm(table, self.gain.shape, self.gain, self.bias, _EPS)


def shape_table(network: Any, recipe: Recipe) -> None:
    """Put the norm, then the scale that a recipe asks for on the input table of a network."""
    table = network.get_input_embeddings()
    if recipe.norms_embedding_itself:
        parametrize.register_parametrization(table, "weight", Normed(recipe.geometry.d_model))
    if recipe.scales_embedding_itself:
        factor = recipe.architecture.embedding_scale or 1.0
        parametrize.register_parametrization(table, "weight", Scaled(factor))


def fold_table(network: Any) -> None:
    """Replace the input table by the rows it gives, and untie it from an output table.

    The table that was trained stays as it is: a copy of a network shares its class, from which
    `torch.nn.utils.parametrize` would take the weight.
    """
    table = network.get_input_embeddings()
    if not parametrize.is_parametrized(table, "weight"):
        return
    head = network.get_output_embeddings()
    if head.weight is table.parametrizations.weight.original:
        head.weight = nn.Parameter(head.weight.detach().clone())
        network.config.tie_word_embeddings = False
    rows = table.weight.detach().clone()
    folded = nn.Embedding.from_pretrained(rows, freeze=False, padding_idx=table.padding_idx)
    network.set_input_embeddings(folded)
