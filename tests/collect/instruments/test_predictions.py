"""The distribution of the next token against hand counts and an independent computation."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from collect.instruments.predictions import predictions


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
