"""Gradient descent on the next token: a recipe and a text in, a trained network out.

One thread, one seed, deterministic kernels: the same recipe gives the same weights, bit for
bit, on the same machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

from collect.errors import InputError
from collect.job.settings import progress_bar
from collect.prompts.tokenizer import byte_tokenizer, pair_tokenizer
from collect.training.architecture import initialised_network
from collect.training.optimiser import optimisers, schedulers
from collect.training.recipe import Recipe
from collect.training.text import Windows, cut_tokens, cut_windows, draw_batch, training_part

#: What is called after a step at which the recipe wants the network measured: with the step,
#: the network, in evaluation mode, and its held-out loss.
Watch = Callable[[int, Any, float], None]


@dataclass(frozen=True, slots=True)
class Training:
    """A trained network and its held-out loss before and after [nats per byte].

    Attributes
    ----------
    n_steps
        Steps taken: all of the schedule's, or fewer where it stopped at a loss.
    trajectory
        Step and held-out loss at each of the recipe's checkpoints that was reached.
    """

    network: Any
    loss_before: float
    loss_after: float
    n_steps: int
    trajectory: tuple[tuple[int, float], ...] = ()


def fit(
    recipe: Recipe,
    text: bytes,
    *,
    start: Mapping[str, torch.Tensor] | None = None,
    n_held_out: int | None = None,
    watch: Watch | None = None,
    quiet: bool = True,
) -> Training:
    """Return the network of a recipe trained on a text, with its loss on held-out windows.

    Parameters
    ----------
    recipe, text
        What to train, on what.
    start
        State of a network of the same shape to go on from, in place of the first draw.
    n_held_out
        Held-out windows to measure the loss on, evenly spaced; None for all.
    watch
        Called at each of the recipe's checkpoints.
    quiet
        Show no bar; see `collect.job.settings.progress_bar`.
    """
    windows = some_held_out(windows_of(recipe, text), n_held_out)
    n_steps = recipe.schedule.steps
    with _reproducible(recipe.seed):
        network = initialised_network(recipe)
        if start is not None:
            network.load_state_dict(start)
        before = loss_per_byte(network, windows, recipe.schedule.batch_size)
        with progress_bar(n_steps, recipe.name, "step", quiet=quiet) as bar:
            trajectory = _descend(network, recipe, windows, watch, bar)
        n_steps = trajectory[-1][0] if _has_stopped(recipe, trajectory) else n_steps
        after = loss_per_byte(network, windows, recipe.schedule.batch_size)
    _require_finite(after, f"after the last of {n_steps} steps", recipe)
    return Training(network, before, after, n_steps, tuple(trajectory))


def tokenizer_of(recipe: Recipe, text: bytes) -> Any:
    """Return the tokenizer of a recipe, learnt from the training part of its text if need be."""
    if recipe.n_vocabulary is None:
        return byte_tokenizer(recipe.geometry.context)
    try:
        return pair_tokenizer(training_part(text), recipe.n_vocabulary, recipe.geometry.context)
    except ValueError as error:
        raise InputError(
            f"The text of {recipe.name} must be long enough for n_vocabulary; {error}.",
            "Ask for fewer tokens, or give a longer text.",
        ) from error


def windows_of(recipe: Recipe, text: bytes) -> Windows:
    """Return the windows of a text in the tokens of a recipe."""
    if recipe.n_vocabulary is None:
        return cut_windows(text, recipe.geometry.context)
    tokenizer = tokenizer_of(recipe, text).backend_tokenizer
    token_ids = tokenizer.encode(text.decode("utf-8", "replace")).ids
    return cut_tokens(token_ids, len(text), recipe.geometry.context)


def some_held_out(windows: Windows, n: int | None) -> Windows:
    """Return the windows with n of the held-out ones, evenly spaced; None for all."""
    if n is None or n >= len(windows.held_out):
        return windows
    chosen = torch.linspace(0, len(windows.held_out) - 1, n).long()
    return replace(windows, held_out=windows.held_out[chosen])


def next_token_loss(network: Any, windows: torch.Tensor, z_loss: float = 0.0) -> torch.Tensor:
    """Return the mean cross-entropy of every token given those before it [nats per token].

    Parameters
    ----------
    network
        Model over tokens.
    windows
        Tokens, shape (window, context + 1).
    z_loss
        Factor on the mean squared logarithm of the softmax's normaliser, which is added.
    """
    logits = network(input_ids=windows[:, :-1], use_cache=False).logits
    loss = cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    return loss + z_loss * logits.logsumexp(-1).square().mean() if z_loss else loss


@torch.no_grad()
def held_out_loss(network: Any, windows: torch.Tensor, batch_size: int) -> float:
    """Return the mean loss over windows that are not trained on [nats per token]."""
    network.eval()
    batches = torch.split(windows, batch_size)
    total = sum(next_token_loss(network, batch).item() * len(batch) for batch in batches)
    return total / len(windows)


def loss_per_byte(network: Any, windows: Windows, batch_size: int) -> float:
    """Return the mean loss over the held-out windows [nats per byte]."""
    return held_out_loss(network, windows.held_out, batch_size) / windows.bytes_per_token


def _descend(
    network: Any, recipe: Recipe, windows: Windows, watch: Watch | None, bar: Any
) -> list[tuple[int, float]]:
    """Train the network in place, advance a progress bar, and return the held-out losses."""
    stepping = optimisers(network, recipe)
    scheduling = schedulers(stepping, recipe)
    seed = recipe.seed if recipe.data_seed is None else recipe.data_seed
    generator = torch.Generator().manual_seed(seed)
    settings, batch_size = recipe.optimiser, recipe.schedule.batch_size
    trajectory: list[tuple[int, float]] = []
    trajectory += _watch(network, recipe, windows, watch, 0)
    network.train()
    for step in range(recipe.schedule.steps):
        if _has_stopped(recipe, trajectory):
            break
        batch = draw_batch(windows.training, batch_size, generator)
        loss = next_token_loss(network, batch, settings.z_loss)
        _require_finite(loss.item(), f"at step {step}", recipe)
        torch.autograd.backward(loss)
        clip_grad_norm_(network.parameters(), settings.clip)
        for optimiser in stepping:
            optimiser.step()
            optimiser.zero_grad()
        for scheduler in scheduling:
            scheduler.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
        bar.update()
        trajectory += _watch(network, recipe, windows, watch, step + 1)
    return trajectory


def _watch(
    network: Any, recipe: Recipe, windows: Windows, watch: Watch | None, step: int
) -> list[tuple[int, float]]:
    """Return step and held-out loss if a checkpoint is due, after the watcher has looked."""
    if step not in recipe.schedule.checkpoints:
        return []
    loss = loss_per_byte(network, windows, recipe.schedule.batch_size)
    if watch is not None:
        watch(step, network, loss)
    network.train()
    return [(step, loss)]


def _has_stopped(recipe: Recipe, trajectory: list[tuple[int, float]]) -> bool:
    """Return whether the last checkpoint reached the loss at which training ends."""
    goal = recipe.schedule.stop_loss
    return goal is not None and bool(trajectory) and trajectory[-1][1] <= goal


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
