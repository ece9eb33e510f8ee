"""Norms of weights: against the singular value decomposition in float64, and by hand."""

import math

import pytest
import torch

from collect.instruments.weights.singular import grams, head_norms, product_norms, whole_norms

#: Asked of the method: relative errors of products in float64.
TOLERANCE = 1e-12


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def spectrum(values, n_columns):
    """Return four matrices with the given singular values."""
    n_rows = len(values)
    left = torch.linalg.qr(draw(4, n_rows, n_rows).double())[0]
    right = torch.linalg.qr(draw(4, n_columns, n_rows, seed=1).double())[0]
    return (left * values.double() @ right.mT).float()


def kinds(n_rows, n_columns):
    """Return matrices (4, n_rows, n_columns) that make a method show its errors."""
    random = 0.02 * draw(4, n_rows, n_columns)
    alike = torch.linspace(1, 0.1, n_rows)
    alike[1] = 0.9999
    return {
        "random": random,
        "one large": random + 0.1 * draw(4, n_rows, 1, seed=2) * draw(n_columns, seed=3),
        "two alike": spectrum(alike, n_columns),
        "equal": torch.full((4, n_rows, n_columns), 0.1),
        "around a mean": 0.1 + 0.001 * random,
        "a few huge": random**7,
        "bfloat16": random.bfloat16(),
        "float16": random.half(),
        "float64": random.double(),
        "tiny": random * 1e-36,
        "huge": random * 1e37,
        "pruned": random * (torch.arange(n_rows) < 2)[:, None],
    }


def error(result, true):
    return float((result / true - 1).abs().max())


@pytest.mark.parametrize("kind", kinds(2, 2))
def test_norms_of_heads_are_those_of_the_decomposition(kind):
    matrices = kinds(128, 2048)[kind]
    values = torch.linalg.svdvals(matrices.double())
    norms = head_norms(matrices)
    assert norms.sigma_max.dtype == norms.frobenius.dtype == torch.float64
    assert error(norms.sigma_max, values[:, 0]) < TOLERANCE
    assert error(norms.frobenius, values.square().sum(-1).sqrt()) < TOLERANCE


@pytest.mark.parametrize("kind", kinds(2, 2))
def test_norms_of_a_whole_matrix_are_those_of_the_decomposition(kind):
    matrix = kinds(513, 520)[kind][0]
    values = torch.linalg.svdvals(matrix.double())
    for way in (matrix, matrix.mT):
        norms = whole_norms(way)
        assert error(norms.sigma_max, values[:1]) < 1e-9
        assert error(norms.frobenius, values.square().sum().sqrt()) < 1e-9


def test_norms_of_a_matrix_one_can_count_by_hand():
    # W W^T = [[9, 12], [12, 41]] has the eigenvalues 5 and 45.
    matrix = torch.tensor([[3.0, 0.0], [4.0, 5.0]])
    for norms in (head_norms(matrix[None]), whole_norms(matrix), grams(matrix[None]).norms()):
        assert norms.sigma_max.item() == pytest.approx(math.sqrt(45), rel=1e-14)
        assert norms.frobenius.item() == pytest.approx(math.sqrt(50), rel=1e-14)


def test_a_gain_multiplies_the_columns():
    matrices, gain = draw(3, 128, 1024), draw(1024, seed=1).double()
    folded = torch.linalg.svdvals(matrices.double() * gain)[:, 0]
    assert error(head_norms(matrices, gain).sigma_max, folded) < TOLERANCE
    assert error(grams(matrices, gain).norms().sigma_max, folded) < 1e-12
    assert torch.equal(matrices, draw(3, 128, 1024))


def test_a_product_is_measured_without_being_formed():
    left, right = draw(4, 300, 16), draw(4, 16, 200, seed=1)
    values = torch.linalg.svdvals(left.double() @ right.double())
    norms = product_norms(grams(left.mT), grams(right))
    assert error(norms.sigma_max, values[:, 0]) < 1e-12
    assert error(norms.frobenius, values.square().sum(-1).sqrt()) < 1e-12


@pytest.mark.parametrize("rank", [0, 1, 15])
def test_a_product_of_a_pruned_head_is_measured(rank):
    left, right = draw(2, 300, 16), draw(2, 16, 200, seed=1)
    right = right * (torch.arange(16) >= 16 - rank)[:, None]
    true = torch.linalg.svdvals(left.double() @ right.double())[:, 0]
    result = product_norms(grams(left.mT), grams(right)).sigma_max
    assert torch.allclose(result, true, rtol=1e-12, atol=0)
