"""What a transformation is: a name, a reason to refuse, and a change of the weights in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from collect.gauge.transformations.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Transformation:
    """A family of changes of the weights, each of which leaves every logit as it is.

    Attributes
    ----------
    name
        As the command line and table ``gauge_invariance`` have it.
    refusal
        Returns why a network has no such freedom, or None.
    apply
        Changes the weights in place, by an element drawn with the generator.
    needs_own_head
        Returns whether the head must first be parted from the token embedding.
    """

    name: str
    refusal: Callable[[Wiring], str | None]
    apply: Callable[[Wiring, np.random.Generator], None]
    needs_own_head: Callable[[Wiring], bool] = lambda _wiring: False


def normal(rng: np.random.Generator, like: Tensor, *shape: int) -> Tensor:
    """Return standard normal numbers in the number format and on the device of a tensor."""
    return like.new_tensor(rng.standard_normal(shape))


def orthogonal(rng: np.random.Generator, like: Tensor, n: int) -> Tensor:
    """Return an orthogonal matrix (n, n), uniform over all of them (Mezzadri 2007)."""
    q, r = np.linalg.qr(rng.standard_normal((n, n)))
    return like.new_tensor(q * np.sign(np.diag(r)))


def invertible(rng: np.random.Generator, like: Tensor, n: int) -> Tensor:
    """Return a matrix (n, n) whose singular values lie between 1/2 and 2."""
    stretch = like.new_tensor(np.exp(rng.uniform(-1, 1, n) * np.log(2)))
    return (orthogonal(rng, like, n) * stretch) @ orthogonal(rng, like, n)


def signed_order(rng: np.random.Generator, like: Tensor, n: int) -> Tensor:
    """Return a permutation matrix (n, n) with signs: all that commutes with a symmetric clip."""
    matrix = np.zeros((n, n))
    matrix[np.arange(n), rng.permutation(n)] = rng.choice([-1.0, 1.0], n)
    return like.new_tensor(matrix)


def factors(rng: np.random.Generator, like: Tensor, n: int) -> Tensor:
    """Return n positive factors between 1/3 and 3."""
    return like.new_tensor(np.exp(rng.uniform(-1, 1, n) * np.log(3)))
