"""Deviations of a few numbers, counted by hand."""

import pytest
import torch

from collect.model.conformance.deviations import (
    above_diagonal,
    normalised,
    place_deviation,
    row_deviation,
    sum_deviation,
    whole_deviation,
)

MAPS = torch.tensor([[[[1.0, 0.0, 9.0], [0.25, 0.75, 9.0], [9.0, 9.0, 9.0]]]])


def test_rows_and_columns_of_padding_do_not_count():
    assert row_deviation(MAPS, [2], has_sinks=False) == 0
    assert above_diagonal(MAPS, [2]) == 0
    assert row_deviation(MAPS, [3], has_sinks=False) == 26
    assert above_diagonal(MAPS, [3]) == 9


def test_attention_to_the_very_next_token_counts():
    ahead = torch.tensor([[[[0.75, 0.25], [0.5, 0.5]]]])
    assert above_diagonal(ahead, [2]) == 0.25
    assert row_deviation(ahead, [2], has_sinks=False) == 0


def test_a_norm_of_two_features_counted_by_hand():
    vectors, gain, bias = torch.tensor([[1.0, 7.0]]), torch.tensor([2.0, 10.0]), torch.ones(2)
    centred = normalised(vectors, gain, bias, eps=7.0, is_centred=True)
    assert torch.allclose(centred, torch.tensor([[-0.5, 8.5]]))
    plain = normalised(vectors, gain, None, eps=0.0, is_centred=False)
    assert torch.allclose(plain, torch.tensor([[0.4, 14.0]]))


def test_vectors_of_another_width_are_wholly_off():
    assert place_deviation(torch.zeros(1, 3), torch.zeros(1, 2)) == 1
    assert place_deviation(torch.tensor([[1.0, 4.0]]), torch.tensor([[1.0, 3.0]])) == 0.25


def test_rows_may_fall_short_of_one_with_a_sink_but_not_exceed_it():
    short = MAPS * 0.5
    assert row_deviation(short, [2], has_sinks=False) == 0.5
    assert row_deviation(short, [2], has_sinks=True) == 0
    assert row_deviation(1.5 * MAPS, [2], has_sinks=True) == 0.5
    assert row_deviation(-MAPS, [2], has_sinks=True) == 1


def test_a_deviation_is_relative_to_the_largest_number_of_the_token():
    terms = [torch.tensor([[3.0, -4.0], [800.0, 0.0]]), torch.tensor([[1.0, 3.0], [-799.0, 0.0]])]
    assert sum_deviation(terms, torch.tensor([[4.0, -1.0], [1.0, 0.0]])) == 0
    assert sum_deviation(terms, torch.tensor([[4.0, 1.0], [1.0, 0.0]])) == 0.5
    assert sum_deviation(terms, torch.tensor([[4.0, -1.0], [1.0, 8.0]])) == pytest.approx(0.01)
    assert sum_deviation([torch.zeros(1, 2)], torch.zeros(1, 2)) == 0


def test_heads_are_compared_on_the_scale_of_all_tokens():
    result = torch.tensor([[8.0, 0.0], [0.0, 1.0]])
    assert whole_deviation(result, result + torch.tensor([[0.0, 0.0], [0.0, -1.0]])) == 0.125
