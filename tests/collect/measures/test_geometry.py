"""Alignment, uniformity and rank of vectors whose answer is known, and against naive sums."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from collect.measures.geometry import geometry


def drawn(seed, n, d):
    """Draw n vectors around a common direction, lengths differing."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(n, d, generator=generator) + 0.5
    return vectors * torch.rand(n, 1, generator=generator).exp()


def test_equal_directions_are_aligned_uniform_at_zero_and_of_rank_one():
    result = geometry(torch.tensor([[1.0, 1.0], [2.0, 2.0], [0.5, 0.5]]))
    assert result.mean_cosine == pytest.approx(1)
    assert result.mean_cosine_body == pytest.approx(1)
    assert result.uniformity == pytest.approx(0, abs=1e-12)
    assert result.effective_rank == pytest.approx(1, abs=1e-6)


def test_three_vectors_counted_by_hand():
    result = geometry(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    assert result.mean_cosine == pytest.approx(2 * math.sqrt(0.5) / 3)
    assert result.mean_cosine_body == pytest.approx(math.sqrt(0.5))
    near, far = math.exp(-2 * (2 - math.sqrt(2))), math.exp(-4)
    assert result.uniformity == pytest.approx(math.log((far + 2 * near) / 3))
    large, small = math.sqrt(3), 1.0  # singular values
    shares = large / (large + small), small / (large + small)
    assert result.effective_rank == pytest.approx(math.exp(-sum(s * math.log(s) for s in shares)))


def test_a_single_vector_has_a_rank_and_nothing_to_be_compared_with():
    result = geometry(torch.tensor([[3.0, 4.0]]))
    assert result.effective_rank == pytest.approx(1)
    assert (result.mean_cosine, result.mean_cosine_body, result.uniformity) == (None, None, None)


def test_a_zero_vector_has_no_direction_but_does_not_spoil_the_rank():
    result = geometry(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert (result.mean_cosine, result.uniformity) == (None, None)
    assert result.mean_cosine_body == pytest.approx(0, abs=1e-15)
    assert result.effective_rank == pytest.approx(2)
    assert geometry(torch.zeros(3, 2)).effective_rank is None


@given(seed=st.integers(0, 500), n=st.integers(3, 12), d=st.integers(2, 12))
@settings(deadline=None, max_examples=40)
def test_geometry_equals_sums_over_pairs_and_singular_values_in_float64(seed, n, d):
    vectors = drawn(seed, n, d)
    wide = vectors.double().numpy()
    units = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    pairs = list(itertools.combinations(range(n), 2))
    cosines = [float(units[i] @ units[j]) for i, j in pairs]
    body = [float(units[i] @ units[j]) for i, j in pairs if i > 0]
    distances = [float(np.sum((units[i] - units[j]) ** 2)) for i, j in pairs]
    singular = np.linalg.svd(wide, compute_uv=False)
    shares = singular / singular.sum()
    result = geometry(vectors)
    assert result.mean_cosine == pytest.approx(np.mean(cosines), abs=1e-12)
    assert result.mean_cosine_body == pytest.approx(np.mean(body), abs=1e-12)
    assert result.uniformity == pytest.approx(np.log(np.mean(np.exp(-2 * np.array(distances)))))
    rank = np.exp(-np.sum(shares * np.log(shares)))
    assert result.effective_rank == pytest.approx(rank, rel=1e-6)


@given(seed=st.integers(0, 100))
@settings(deadline=None, max_examples=20)
def test_a_rotation_and_another_order_change_nothing_but_what_the_first_is(seed):
    vectors = drawn(seed, 6, 5).double()
    generator = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(5, 5, generator=generator, dtype=torch.float64)).Q
    result, moved = geometry(vectors), geometry((vectors @ rotation).flip(0))
    for name in ("mean_cosine", "uniformity", "effective_rank"):
        assert getattr(result, name) == pytest.approx(getattr(moved, name), rel=1e-9)
