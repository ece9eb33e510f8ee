"""Batches of about equal length, padded on the right, through the body one after another."""

from contextlib import contextmanager

import torch
from hypothesis import given
from hypothesis import strategies as st

from collect.model.forward.passes import buckets, inputs, whole
from collect.prompts.tokens import Encoded, right_padded
from tests.collect.shown import loaded_family


def drawn(*lengths):
    """Return prompts of some lengths, numbered in the order given."""
    return [
        Encoded(f"p{place}", tuple(range(3, 3 + length)), (False,) * length)
        for place, length in enumerate(lengths)
    ]


def lengths_of(prompts, batch_size):
    """Return the lengths of the prompts in each batch."""
    return [[len(prompt) for prompt in batch] for batch in buckets(prompts, batch_size)]


def cost(batches):
    """Return what batches of these lengths cost: tokens with padding, and 64 for each batch."""
    return sum(64 + len(batch) * max(batch) for batch in batches)


def cuts(lengths, batch_size):
    """Yield every way to cut a list into batches of at most so many."""
    if not lengths:
        yield []
    for n in range(1, min(batch_size, len(lengths)) + 1):
        for rest in cuts(lengths[n:], batch_size):
            yield [lengths[:n], *rest]


def test_no_batch_has_prompts_on_both_sides_of_a_limit():
    result = buckets(drawn(2, 20, 8, 9, 30, 40), 3, (8, 20))
    assert [[len(prompt) for prompt in batch] for batch in result] == [[2, 8], [9, 20], [30, 40]]
    assert buckets([], 3, (8,)) == []


@given(st.lists(st.integers(1, 200), max_size=9), st.integers(1, 5))
def test_no_other_way_to_cut_is_cheaper(lengths, batch_size):
    result = lengths_of(drawn(*lengths), batch_size)
    assert [n for batch in result for n in batch] == sorted(lengths)
    assert cost(result) == min(cost(one) for one in cuts(sorted(lengths), batch_size))


def test_padding_stands_on_the_right_with_explicit_positions():
    padded = right_padded(drawn(17, 3, 9), torch.device("cpu"))
    assert padded["attention_mask"].sum(-1).tolist() == [17, 3, 9]
    assert padded["attention_mask"][1].tolist() == [1, 1, 1, *[0] * 14]
    assert padded["position_ids"].tolist() == [list(range(17))] * 3


def test_a_body_is_given_what_it_takes():
    batch = tuple(drawn(4, 2))
    assert "position_ids" in inputs(loaded_family("gpt2"), batch)
    assert inputs(loaded_family("bloom"), batch).keys() == {"input_ids", "attention_mask"}


class Diary:
    """Writes down what a pass tells its watcher."""

    def __init__(self):
        self.entries = []

    @contextmanager
    def attached(self, _decoder):
        self.entries.append("on")
        yield
        self.entries.append("off")

    def watch(self, index):
        self.entries.append(index)

    def finish(self, index, states):
        assert torch.is_inference_mode_enabled()
        self.entries.append((index, tuple(states.shape)))


def test_a_watcher_is_told_of_each_batch_before_and_after_it_runs():
    diary, batches = Diary(), [tuple(drawn(4, 2)), tuple(drawn(3))]
    done = []
    for index in whole(loaded_family("gpt2"), batches, diary):
        assert not torch.is_inference_mode_enabled()
        done.append(index)
    assert done == [0, 1]
    assert diary.entries == ["on", 0, (0, (2, 4, 64)), 1, (1, (1, 3, 64)), "off"]
