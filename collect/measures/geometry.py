"""How vectors lie to each other: alignment, spread over the sphere, rank.

Everything is float64, and none of it depends on the order of the vectors. None stands for what
is not defined, which it never is when an entry is not finite.

Of n vectors with directions u_i = x_i / |x_i|:

- mean cosine, the anisotropy (Ethayarajh 2019): (|sum u|^2 - n) / (n (n - 1));
- uniformity (Wang and Isola 2020, equation 2, with t = 2): ln of the mean of
  exp(-t |u_i - u_j|^2) over pairs i != j;
- effective rank (Roy and Vetterli 2007, definition 1): exp of -sum p_k ln p_k, with
  p_k = s_k / sum s the normalised singular values of the matrix of the vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from collect.measures.declaration import (
    AFTER_BLOCKS,
    BY_SITE,
    LAYER,
    N_TOKENS,
    PROMPT,
    RUN,
    SITE,
    Column,
    MeasuredTable,
    Quantity,
    count,
)
from collect.measures.device import on_processor

if TYPE_CHECKING:
    from torch import Tensor

#: Vectors whose cosines with all others are held at a time.
_ROWS = 256

#: Factor t on the squared distance in `uniformity`, as Wang and Isola choose it.
_SHARPNESS = 2.0


@dataclass(frozen=True, slots=True)
class Geometry:
    """`mean_cosine` of all vectors and of all but the first, `uniformity`, `effective_rank`."""

    mean_cosine: float | None
    mean_cosine_body: float | None
    uniformity: float | None
    effective_rank: float | None


def geometry(vectors: Tensor) -> Geometry:
    """Return how vectors lie to each other.

    Parameters
    ----------
    vectors
        (n, d), any floating type.
    """
    return summary(len(vectors), sums(vectors[None], [len(vectors)])[0].tolist())


def sums(vectors: Tensor, n_vectors: Sequence[int]) -> Tensor:
    """Return what the geometry of each of some sets is made of, read by `summary`.

    Nothing is read from the device where the vectors lie.

    Parameters
    ----------
    vectors
        (n_sets, n, d), any floating type.
    n_vectors
        How many of each set count, at most n.

    Returns
    -------
    (n_sets, 4) in float64: |sum u|^2 of all directions u and of all but the first, the sum of
    exp(-t |u_i - u_j|^2) over all i and j, and the entropy of the normalised singular values; NaN
    where one is not defined.
    """
    import torch

    unpadded = [vectors_of[:n].double() for vectors_of, n in zip(vectors, n_vectors, strict=True)]
    grams = [x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x for x in unpadded]
    by_set = []
    for x64, gram in zip(unpadded, grams, strict=True):
        if len(gram) == len(x64):
            lengths = gram.diagonal().sqrt()
            cosines = (gram / lengths).div_(lengths[:, None])
            body = cosines[1:, 1:].sum()
            by_set.append(torch.stack([cosines.sum(), body, _gaussian_kernel(cosines).sum()]))
            continue
        units = directions(x64)  # of so many vectors that the cosines are not held
        total = units.new_zeros(())
        for rows in units.split(_ROWS):
            total = total + _gaussian_kernel(rows @ units.T).sum()
        resultants = [_squared_resultant(units), _squared_resultant(units[1:])]
        by_set.append(torch.stack([*resultants, total]))
    return torch.cat([torch.stack(by_set), _rank_entropies(grams)[:, None]], dim=1)


def summary(n: int, numbers: Sequence[float]) -> Geometry:
    """Return the geometry of n vectors from their row of `sums`."""
    resultant, resultant_body, kernel, entropy = numbers
    mean_kernel = None if n < 2 else (kernel - n) / (n * (n - 1))
    return Geometry(
        mean_cosine=_mean_cosine(resultant, n),
        mean_cosine_body=_mean_cosine(resultant_body, n - 1),
        uniformity=None if mean_kernel is None else _defined(math.log(mean_kernel)),
        effective_rank=_defined(math.exp(entropy)),
    )


def directions(vectors: Tensor) -> Tensor:
    """Return the vectors (n, d) scaled to length 1 in float64; a zero vector becomes NaN."""
    import torch

    x64 = vectors.double()
    units: Tensor = x64 / torch.linalg.vector_norm(x64, dim=-1, keepdim=True)
    return units


def _squared_resultant(units: Tensor) -> Tensor:
    return units.sum(0).square().sum()


def _mean_cosine(resultant: float, n: int) -> float | None:
    return None if n < 2 else _defined((resultant - n) / (n * (n - 1)))


def _gaussian_kernel(cosines: Tensor) -> Tensor:
    """Return exp(-t |u_i - u_j|^2) of unit vectors, by |u_i - u_j|^2 = 2 - 2 cosine."""
    return (cosines - 1).mul_(2 * _SHARPNESS).exp_()


def _rank_entropies(grams: Sequence[Tensor]) -> Tensor:
    """Return the entropies of the normalised singular values behind some Gram matrices.

    The processor takes the matrices one by one; a device takes all at once, each with zeros
    around it, which add singular values of 0. NaN where an entry is not finite or all are 0.
    """
    import torch

    if on_processor(grams[0]):
        return torch.cat([_checked_entropy(gram[None]) for gram in grams])
    size = max(len(gram) for gram in grams)
    together = grams[0].new_zeros((len(grams), size, size))
    for around, gram in zip(together, grams, strict=True):
        around[: len(gram), : len(gram)] = gram
    return _rank_entropy(together)


def _checked_entropy(gram: Tensor) -> Tensor:
    """Return `_rank_entropy` of one matrix, quicker: a sum is finite only where all entries are."""
    return _spectral_entropy(gram) if math.isfinite(gram.sum()) else _rank_entropy(gram)


def _rank_entropy(grams: Tensor) -> Tensor:
    import torch

    is_finite = grams.isfinite().all(-1).all(-1)
    entropies = _spectral_entropy(grams.where(is_finite[:, None, None], 0.0))
    return entropies.where(is_finite, torch.nan)


def _spectral_entropy(grams: Tensor) -> Tensor:
    import torch

    eigenvalues = torch.linalg.eigvalsh(grams)
    singular_values = eigenvalues.clamp_min(0).sqrt()
    shares = singular_values / singular_values.sum(-1, keepdim=True)
    entropies: Tensor = torch.special.entr(shares).sum(-1)
    return entropies


def _defined(number: float) -> float | None:
    return None if math.isnan(number) else number


_SHARED = ("mean_cosine", "uniformity", "effective_rank")

_TOKENS = MeasuredTable(
    "token_geometry",
    "how the vectors of a prompt's tokens lie to each other.",
    key=(RUN, PROMPT, LAYER, SITE),
    columns=(
        N_TOKENS,
        Column(
            "mean_cosine",
            "Anisotropy: mean cosine over pairs of different tokens; NULL for a single token. "
            "Under LayerNorm it depends on how the weights are written; "
            "token_mean_cosine_centred does not (gauge_partner)",
        ),
        Column("mean_cosine_body", "The same without position 0; NULL for fewer than three tokens"),
        Column(
            "uniformity",
            "ln of the mean over pairs of exp(-2 |u_i - u_j|^2), u the unit vectors (Wang and "
            "Isola 2020); NULL for a single token",
            "nat",
        ),
        Column(
            "effective_rank",
            "exp of the entropy of the normalised singular values of the token matrix (Roy and "
            "Vetterli 2007)",
        ),
        Column(
            "embedding_correlation",
            "Mean over tokens of the Pearson correlation, over features, between the vector here "
            "and the token's input of block 0",
        ),
    ),
    n_rows=lambda e: e.n_prompts * e.n_sites,
    row_bytes=42.0,
    audited={
        **{f"token_{name}": name for name in (*_SHARED, "mean_cosine_body")},
        "embedding_correlation": "embedding_correlation",
    },
    where=AFTER_BLOCKS,
    grain=replace(BY_SITE, front=("block",)),
)

_PROMPTS = MeasuredTable(
    "prompt_geometry",
    "how the vectors at the last token lie to each other across prompts.",
    key=(
        replace(RUN, meaning=f"{RUN.meaning}, which names the prompt set"),
        LAYER,
        SITE,
    ),
    columns=(
        count("n_prompts", "Prompts of the set", least=1),
        Column(
            "mean_cosine",
            "Anisotropy: mean cosine over pairs of different prompts; NULL for a single prompt",
        ),
        Column("uniformity", "As in token_geometry, over pairs of prompts", "nat"),
        Column("effective_rank", "As in token_geometry, of the matrix with one row per prompt"),
    ),
    n_rows=lambda e: e.n_sites,
    row_bytes=150.0,
    audited={f"prompt_{name}": name for name in _SHARED},
    where=AFTER_BLOCKS,
    grain=replace(
        BY_SITE, unit="model, prompt set, layer", why="the same prompts have a row for each place"
    ),
)

QUANTITY = Quantity(
    "geometry",
    "how vectors lie to each other: cosines, rank",
    (_TOKENS, _PROMPTS),
    source="mean cosine: Ethayarajh 2019; uniformity: Wang & Isola 2020, equation 2; effective "
    "rank: Roy & Vetterli 2007, definition 1",
    of_states=True,
)
