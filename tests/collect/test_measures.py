"""Every measured quantity against a hand count or an independent computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from collect.measures import (
    attention_statistics,
    centred_norms,
    frobenius_norms,
    next_token,
    next_token_logits,
    spectral_norms,
    token_norms,
)

matrices = st_numpy.arrays(
    np.float32,
    st_numpy.array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.floats(-1e3, 1e3, width=32),
)


def test_the_norm_of_3_4_is_5():
    states = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert token_norms(states).tolist() == [5.0, 0.0]
    assert token_norms(states).dtype == torch.float64


def test_the_centred_norm_ignores_a_shift_of_all_features():
    states = torch.tensor([[3.0, -1.0], [103.0, 99.0]])
    assert centred_norms(states).tolist() == pytest.approx([math.sqrt(8), math.sqrt(8)])


def test_norms_of_half_precision_states_are_not_rounded_to_half_precision():
    states = torch.full((1, 1001), 0.1, dtype=torch.bfloat16)
    exact = float(states[0, 0]) * math.sqrt(1001)
    assert token_norms(states).item() == pytest.approx(exact, rel=1e-12)
    assert abs(float(states.norm()) / exact - 1) > 1e-4


def test_norms_of_long_vectors_keep_their_digits():
    states = torch.ones(4_000_000) * 0.1
    exact = float(np.linalg.norm(states.numpy().astype(np.float64)))
    assert token_norms(states).item() == pytest.approx(exact, rel=1e-10)


def test_attention_statistics_of_a_map_counted_by_hand():
    weights = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]])
    statistics = attention_statistics(weights)
    assert statistics.mass.tolist() == [3.0]
    assert statistics.diagonal.tolist() == [2.0]
    assert statistics.first_column.tolist() == [1.75]
    assert statistics.above_diagonal.tolist() == [0.0]
    assert statistics.entropy.tolist() == pytest.approx([math.log(2) + 1.5 * math.log(2)])
    assert statistics.sum_squares.tolist() == [1 + 0.5 + 0.375]
    assert statistics.row_error.tolist() == [0.0]


def test_attention_statistics_see_what_a_causal_map_must_not_have():
    weights = torch.tensor([[[0.75, 0.25], [0.5, 0.25]]])
    statistics = attention_statistics(weights)
    assert statistics.above_diagonal.tolist() == [0.25]
    assert statistics.row_error.tolist() == [0.25]


@given(n=st.integers(1, 8), seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_attention_entropy_equals_scipys_and_lies_between_0_and_ln_n(n, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(2, n, n, generator=generator, dtype=torch.float64)
    weights = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf).softmax(-1)
    entropy = attention_statistics(weights).entropy
    expected = scipy.stats.entropy(weights.numpy(), axis=-1).sum(-1)
    assert entropy.numpy() == pytest.approx(expected, abs=1e-12)
    assert (entropy >= 0).all()
    assert (entropy <= math.lgamma(n + 1) + 1e-12).all()


def test_the_next_token_of_a_uniform_distribution_has_entropy_ln_n():
    distribution = next_token(torch.zeros(1, 50_000))
    assert distribution.entropy.item() == pytest.approx(math.log(50_000), rel=1e-14)
    assert distribution.top_probability.item() == pytest.approx(1 / 50_000)


def test_the_next_token_is_the_largest_logit_and_impossible_tokens_add_nothing():
    distribution = next_token(torch.tensor([[0.0, math.log(3), -math.inf, -1e30]]))
    assert distribution.top_token_id.tolist() == [1]
    assert distribution.top_probability.tolist() == pytest.approx([0.75])
    expected = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert distribution.entropy.tolist() == pytest.approx([expected])


def test_logits_are_float32_even_from_half_precision_weights():
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(2, 16, generator=generator).bfloat16()
    weight = torch.randn(9000, 16, generator=generator).bfloat16()
    bias = torch.randn(9000, generator=generator).bfloat16()
    logits = next_token_logits(states, weight, bias)
    expected = states.double() @ weight.double().T + bias.double()
    assert logits.dtype == torch.float32
    assert torch.allclose(logits.double(), expected, atol=1e-5)


@given(matrix=matrices)
@settings(deadline=None, max_examples=60)
def test_the_spectral_norm_equals_the_largest_singular_value_in_float64(matrix):
    expected = np.linalg.svd(matrix.astype(np.float64), compute_uv=False)[0]
    found = spectral_norms(torch.from_numpy(matrix)).item()
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)


@given(matrix=matrices)
@settings(deadline=None, max_examples=60)
def test_the_spectral_norm_lies_between_frobenius_over_root_rank_and_frobenius(matrix):
    sigma_max = spectral_norms(torch.from_numpy(matrix)).item()
    frobenius = frobenius_norms(torch.from_numpy(matrix)).item()
    rank_at_most = min(matrix.shape)
    assert sigma_max <= frobenius * (1 + 1e-12)
    assert frobenius <= sigma_max * math.sqrt(rank_at_most) * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("shape", [(8, 64, 512), (8, 512, 64), (300, 300)])
def test_spectral_norms_of_heads_equal_float64_singular_values(shape):
    heads = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    expected = torch.linalg.svdvals(heads.double())[..., 0]
    assert torch.allclose(spectral_norms(heads), expected, rtol=1e-7, atol=0)


def test_nearly_equal_singular_values_are_told_apart():
    matrix = torch.diag(torch.tensor([1.0, 1.0 + 1e-6, 0.5]))
    assert spectral_norms(matrix).item() == pytest.approx(float(matrix[1, 1]), rel=1e-12)


def test_the_frobenius_norm_of_ones_is_the_root_of_their_number():
    assert frobenius_norms(torch.ones(2, 3, 12)).tolist() == [6.0, 6.0]
