"""Gradient descent on the next byte: a recipe and a text in, a trained network out.

One thread, one seed, deterministic kernels: the same recipe gives the same weights, bit for
bit, on the same machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

from collect.errors import InputError
from collect.job.settings import progress_bar
from collect.training.architecture import initialised_network
from collect.training.optimiser import optimisers, schedulers
from collect.training.recipe import Recipe
from collect.training.text import cut_windows, draw_batch

#: Gradients longer than this are shortened to it.
LONGEST_GRADIENT = 1.0


@dataclass(frozen=True, slots=True)
class Training:
    """A trained network and its held-out loss before and after [nats per byte]."""

    network: Any
    loss_before: float
    loss_after: float


def fit(recipe: Recipe, text: bytes, *, quiet: bool = True, progress: bool = False) -> Training:
    """Return the network of a recipe trained on a text, with its loss on held-out windows.

    `quiet` and `progress` say when to show a bar; see `collect.job.settings.progress_bar`.

    Raises
    ------
    InputError
        If the text is too short or the loss ceases to be finite.
    """
    windows = cut_windows(text, recipe.geometry.context)
    n_steps = recipe.schedule.steps
    with _reproducible(recipe.seed):
        network = initialised_network(recipe)
        before = held_out_loss(network, windows.held_out, recipe.schedule.batch_size)
        with progress_bar(n_steps, recipe.name, "step", quiet=quiet, progress=progress) as bar:
            _descend(network, recipe, windows.training, bar)
        after = held_out_loss(network, windows.held_out, recipe.schedule.batch_size)
    _require_finite(after, f"after the last of {n_steps} steps", recipe)
    return Training(network, before, after)


def next_byte_loss(network: Any, windows: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of every byte given those before it [nats per byte].

    Parameters
    ----------
    network
        Model over bytes.
    windows
        Bytes, shape (window, context + 1).
    """
    logits = network(input_ids=windows[:, :-1], use_cache=False).logits
    return cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())


@torch.no_grad()
def held_out_loss(network: Any, windows: torch.Tensor, batch_size: int) -> float:
    """Return the mean loss over windows that are not trained on [nats per byte]."""
    network.eval()
    batches = torch.split(windows, batch_size)
    total = sum(next_byte_loss(network, batch).item() * len(batch) for batch in batches)
    return total / len(windows)


def _descend(network: Any, recipe: Recipe, windows: torch.Tensor, bar: Any) -> None:
    """Train the network in place, and advance a progress bar step by step."""
    stepping = optimisers(network, recipe)
    scheduling = schedulers(stepping, recipe)
    generator = torch.Generator().manual_seed(recipe.seed)
    network.train()
    for step in range(recipe.schedule.steps):
        loss = next_byte_loss(network, draw_batch(windows, recipe.schedule.batch_size, generator))
        _require_finite(loss.item(), f"at step {step}", recipe)
        torch.autograd.backward(loss)
        clip_grad_norm_(network.parameters(), LONGEST_GRADIENT)
        for optimiser in stepping:
            optimiser.step()
            optimiser.zero_grad()
        for scheduler in scheduling:
            scheduler.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
        bar.update()


def _require_finite(loss: float, when: str, recipe: Recipe) -> None:
    if not math.isfinite(loss):
        raise InputError(
            f"The loss of {recipe.name} must stay finite; found {loss} {when}.",
            f"Lower optimiser.learning_rate, now {recipe.optimiser.learning_rate}.",
        )


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """Run torch seeded, on one thread and deterministically; restore its state afterwards."""
    n_threads = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)
            torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
