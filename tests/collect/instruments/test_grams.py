"""Every measured quantity against a hand count or an independent computation."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from collect.instruments.attention_maps import attention_statistics
from collect.instruments.grams import (
    correlations,
    difference,
    grams,
    grams_and_largest,
    largest_features,
    lengths,
    ratios,
    token_norms,
)
from collect.measures.predictions import predictions


def test_the_norm_of_3_4_is_5():
    states = torch.tensor([[[3.0, 4.0], [0.0, 0.0], [9.0, 9.0]], [[0.0, 2.0]] * 3])
    assert token_norms(states, [2, 1]).tolist() == [5.0, 0.0, 2.0]
    assert token_norms(states, [3, 3]).dtype == torch.float64


def test_the_products_of_two_vectors_counted_by_hand():
    products = grams([torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[1.0, -1.0]]])], [1])
    assert difference(products, 1, 2).tolist() == [
        [[2.0, 7.0, 0.0, 7.0], [7.0, 25.0, -1.0, 26.0], [0.0, -1.0, 2.0, -3.0], [7, 26, -3, 29]]
    ]


@given(seed=st.integers(0, 1000), n=st.integers(1, 9), d=st.integers(1, 40))
@settings(deadline=None, max_examples=30)
def test_products_do_not_depend_on_how_many_tokens_are_worked_on_at_a_time(seed, n, d):
    generator = torch.Generator().manual_seed(seed)
    vectors = [torch.randn(2, n, d, generator=generator) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("collect.instruments.grams._AT_A_TIME", 1)
        alone = grams(vectors, [n, 1])
    rows = np.stack([np.ones((2, n, d)), *(of.double().numpy() for of in vectors)], axis=2)
    expected = np.einsum("ptid,ptjd->ptij", rows, rows)
    expected = np.concatenate([expected[0], expected[1, :1]])
    assert torch.equal(alone, grams(vectors, [n, 1]))
    assert alone.numpy() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("n_vectors", [1, 2, 3])
def test_what_is_known_of_a_vector_is_taken_and_changes_no_bit(dtype, n_vectors, monkeypatch):
    generator = torch.Generator().manual_seed(n_vectors)
    vectors = [torch.randn(2, 5, 70, generator=generator).to(dtype) for _ in range(3)][:n_vectors]
    n_tokens = [5, 3]
    products = grams(vectors, n_tokens)
    monkeypatch.setattr("collect.instruments.grams._AT_A_TIME", 300)
    for known in (grams(vectors[:1], n_tokens), products):
        assert torch.equal(grams(vectors, n_tokens, known), products)
        for row, vector in enumerate(vectors, start=1):
            result, largest = grams_and_largest(vectors, n_tokens, row, known)
            assert torch.equal(result, products)
            sizes, features = largest_features(vector, n_tokens)
            assert torch.equal(largest[0], sizes)
            assert torch.equal(largest[1], features)
    wrong = grams(vectors, n_tokens, torch.zeros(8, 2, 2, dtype=torch.float64))
    assert not wrong[:, 1, 1].any()
    assert torch.equal(wrong[:, 2:, 2:], products[:, 2:, 2:])


@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-4, 1.0, 1e4]))
@settings(deadline=None, max_examples=30)
def test_the_products_of_a_difference_are_those_of_the_difference(seed, scale):
    generator = torch.Generator().manual_seed(seed)
    stream = torch.randn(1, 5, 50, generator=generator)
    after = stream + scale * torch.randn(1, 5, 50, generator=generator)
    result = difference(grams([stream, after], [5]), 2, 1)
    change = after.double() - stream.double()
    expected = grams([stream, after, change], [5])
    assert torch.allclose(result, expected, rtol=1e-6, atol=1e-13 * (1 + scale))
    # How a product is summed, and so its last bits, may depend on its place: (i, j) or (j, i).
    assert torch.equal(result[:, -1], result[:, :, -1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_lengths_are_those_of_float64_whatever_the_number_format(dtype):
    generator = torch.Generator().manual_seed(2)
    states = (50 * torch.randn(6, 777, generator=generator) + 30).to(dtype)
    wide = states.double().numpy()
    norm, centred = lengths(grams([states[None]], [6]), 1)
    assert norm.numpy() == pytest.approx(np.linalg.norm(wide, axis=-1), rel=1e-13)
    about_mean = wide - wide.mean(-1, keepdims=True)
    assert centred.numpy() == pytest.approx(np.linalg.norm(about_mean, axis=-1), rel=1e-12)


def test_ratio_and_cosine_of_an_update_counted_by_hand():
    stream = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    update = torch.tensor([[0.0, 10.0], [1.0, 1.0], [0.0, 0.0]])
    ratio, cosine = ratios(grams([stream[None], update[None]], [3]), 2, 1)
    assert ratio.tolist() == pytest.approx([2.0, math.nan, 0.0], nan_ok=True)
    assert cosine.tolist() == pytest.approx([0.8, math.nan, math.nan], nan_ok=True)


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1e-3, 1.0, 1e3]))
@settings(deadline=None, max_examples=60)
def test_the_log_gain_is_half_the_log_of_one_and_twice_rc_and_r_squared(seed, scale):
    generator = torch.Generator().manual_seed(seed)
    stream = torch.randn(1, 4, 33, generator=generator)
    after = stream + scale * torch.randn(1, 4, 33, generator=generator)
    products = difference(grams([stream, after], [4]), 2, 1)
    ratio, cosine = ratios(products, 3, 1)
    log_gain = (lengths(products, 2)[0] / lengths(products, 1)[0]).log()
    assert torch.allclose(
        log_gain, (1 + 2 * ratio * cosine + ratio**2).log() / 2, rtol=0, atol=1e-13
    )


def test_a_correlation_is_one_for_a_shifted_multiple_and_undefined_without_spread():
    vectors = torch.tensor([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [0.1, 0.1, 0.1]])
    others = torch.tensor([[3.0, 5.0, 9.0], [-1.0, -2.0, -4.0], [2.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    result = correlations(grams([vectors[None], others[None]], [4]), 1, 2).tolist()
    expected = scipy.stats.pearsonr([1, 2, 4], [2, 1, 2]).statistic
    assert result == pytest.approx([1, -1, expected, math.nan], nan_ok=True)


def test_rows_of_padding_do_not_count():
    maps = torch.full((2, 1, 3, 3), 1 / 3)
    maps[0, 0, :2] = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    statistics, of_mean = attention_statistics(maps, [2, 3])
    assert statistics.mass[:, 0].tolist() == pytest.approx([2.0, 3.0])
    assert statistics.above_diagonal[:, 0].tolist() == pytest.approx([0.0, 1.0])
    assert statistics.sum_squares[:, 0].tolist() == pytest.approx([1.5, 1.0])
    assert of_mean.n_small.tolist() == [1, 0]


def naive_statistics(of_head):
    """Count the statistics of one map entry by entry."""
    names = ("mass", "diagonal", "first_column", "above_diagonal", "distance", "entropy")
    result = dict.fromkeys((*names, "sum_squares"), 0.0)
    for (i, j), weight in np.ndenumerate(of_head.astype(np.float64)):
        result["mass"] += weight
        result["diagonal"] += weight * (i == j)
        result["first_column"] += weight * (j == 0)
        result["above_diagonal"] += weight * (j > i)
        result["distance"] += weight * abs(i - j)
        result["entropy"] -= weight * math.log(weight) if weight > 0 else 0.0
        result["sum_squares"] += weight**2
    return result


@given(n=st.integers(1, 7), seed=st.integers(0, 1000), spread=st.sampled_from([0.1, 1, 30]))
@settings(deadline=None, max_examples=25)
def test_attention_statistics_equal_those_counted_entry_by_entry(n, seed, spread):
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(2, 3, n, n, generator=generator)
    maps = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf).softmax(-1)
    maps *= torch.rand(2, 3, n, 1, generator=generator)  # rows of a softmax with a sink
    statistics, _ = attention_statistics(maps, [n, n])
    for (prompt, head), _ in np.ndenumerate(np.empty((2, 3))):
        for name, expected in naive_statistics(maps[prompt, head].numpy()).items():
            result = getattr(statistics, name)[prompt, head].item()
            assert result == pytest.approx(expected, rel=1e-12, abs=1e-13)


@given(n=st.integers(1, 9), n_heads=st.integers(1, 3), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_the_mean_map_has_the_statistics_of_the_average_over_heads(n, n_heads, seed):
    generator = torch.Generator().manual_seed(seed)
    maps = torch.randn(1, n_heads, n, n, generator=generator).softmax(-1)
    mean = maps.double().numpy().mean(1)[0]
    expected = naive_statistics(mean)
    result = attention_statistics(maps, [n])[1]
    for name in ("mass", "diagonal", "first_column", "distance", "entropy", "sum_squares"):
        assert getattr(result, name).item() == pytest.approx(expected[name], rel=1e-12, abs=1e-13)
    assert result.n_small.item() == int((mean < 0.01).sum())


def of_logits(logits, coming):
    """Take the states for logits."""
    return predictions(logits, lambda states: states, torch.tensor(coming))


def test_the_top_token_has_the_largest_logit_and_impossible_tokens_add_nothing():
    result = of_logits(torch.tensor([[0.0, math.log(3), -math.inf, -1e30]]), [0])
    assert result.top_token_id.tolist() == [1]
    assert result.top_probability.tolist() == pytest.approx([0.75])
    expected = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert result.entropy.tolist() == pytest.approx([expected])
    assert result.surprisal.tolist() == pytest.approx([math.log(4)])


def test_more_tokens_than_are_held_at_a_time_equal_scipy_in_float64():
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(150, 8, generator=generator)
    head = torch.randn(8, 301, generator=generator)
    coming = torch.randint(0, 301, (150,), generator=generator)
    held = []

    def logits(few):
        held.append(len(few))
        return few @ head

    result = predictions(states, logits, coming)
    log_probabilities = scipy.special.log_softmax((states @ head).double().numpy(), axis=-1)
    assert held == [64, 64, 22]
    assert result.entropy.numpy() == pytest.approx(
        scipy.stats.entropy(np.exp(log_probabilities), axis=-1), rel=1e-10
    )
    assert result.top_token_id.tolist() == log_probabilities.argmax(-1).tolist()
    assert result.top_probability.numpy() == pytest.approx(np.exp(log_probabilities.max(-1)))
    at_coming = log_probabilities[np.arange(150), coming.numpy()]
    assert result.surprisal.numpy() == pytest.approx(-at_coming, rel=1e-12)
