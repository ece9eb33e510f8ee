"""What a function holds is read and left as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest
import torch

from collect.instruments.own.identity import code_of, digest_of


def holding(held):
    return lambda *_: held


def test_an_open_file_stays_open_and_its_owners(tmp_path):
    with (tmp_path / "log").open("w") as log:
        assert code_of(holding(log)) == code_of(holding(log))
        log.write("still mine")
    assert (tmp_path / "log").read_text() == "still mine"


@pytest.mark.parametrize(
    "made", [torch.Tensor.to_sparse, torch.Tensor.bfloat16, torch.Tensor.clone]
)
def test_tensors_of_every_kind_are_told_apart_by_their_numbers(made):
    first, second = torch.arange(2000.0), torch.arange(2000.0)
    second[1000] = 7.0
    assert digest_of(made(first)) == digest_of(made(first.clone())) != digest_of(made(second))
    assert code_of(holding([made(first)])) != code_of(holding([made(second)]))


class Probe:
    def __init__(self, vector):
        self.vector = vector


def of_module(vector):
    module = torch.nn.Linear(3, 1)
    module.weight.data[0] = vector
    module.bias.data.zero_()
    return module


def of_function(vector):
    return lambda states: states @ vector


@pytest.mark.parametrize(
    "made", [Probe, of_module, of_function, lambda vector: {(1, "a"): vector, 1: [Probe(vector)]}]
)
def test_what_objects_hold_tells_functions_apart(made):
    first, second = torch.zeros(3), torch.ones(3)
    assert code_of(holding(made(first))) == code_of(holding(made(first.clone())))
    assert code_of(holding(made(first))) != code_of(holding(made(second)))


def test_what_holds_itself_has_an_end():
    circle = Probe(torch.zeros(3))
    circle.own = [circle]
    assert code_of(holding(circle)) == code_of(holding(circle))


def test_a_whole_model_is_no_part_of_what_a_quantity_is():
    from tests.collect.conftest import tiny_model

    codes = {code_of(holding(tiny_model("llama", seed=seed))) for seed in (0, 1)}
    assert len(codes) == 1


def test_a_tensor_without_numbers_is_described():
    assert digest_of(torch.empty(2, device="meta")) != digest_of(torch.empty(3, device="meta"))


OfOneSlot = type("OfOneSlot", (), {"__slots__": "word"})


def slotted(word):
    found = OfOneSlot()
    found.word = word
    return found


class Private:
    __slots__ = ("__weakref__", "__word")

    def __init__(self, word):
        self.__word = word


@pytest.mark.parametrize(
    "made",
    [
        slotted,
        Private,
        lambda word: {1: word, "1": "a"},
        lambda word: np.array([[{"word": word}, None]], dtype=object),
    ],
)
def test_what_is_held_out_of_sight_tells_functions_apart(made):
    assert code_of(holding([made("a")])) == code_of(holding([made("a")]))
    assert code_of(holding([made("a")])) != code_of(holding([made("b")]))


def linked(n):
    link = None
    for _ in range(n):
        link = Probe(link)
    return link


def nested(n):
    within = []
    for _ in range(n):
        within = [within]
    return within


class Unwilling:
    @property
    def dtype(self):
        raise RuntimeError("not yet")

    def __getattr__(self, name):
        raise KeyError(name)

    def __repr__(self):
        raise ValueError("in no words")


class Remote(Mapping):
    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2

    def __getitem__(self, key):
        raise OSError(key)


@pytest.mark.parametrize("made", [partial(linked, 2000), partial(nested, 5000), Unwilling, Remote])
def test_what_lies_too_deep_or_does_not_show_itself_is_described(made):
    assert code_of(holding(made())) == code_of(holding(made()))


def test_a_net_of_sets_is_walked_through_in_time():
    knots = [Probe(set()) for _ in range(40)]
    for knot in knots:
        knot.vector.update(knots)
    assert code_of(holding(knots)) == code_of(holding(knots))


HELD = """
from collect.instruments.own.identity import digest_of
class Owner:
    def first(self): ...
    def second(self): ...
owner = Owner()
shared = {(name, owner) for name in "abcdefgh"}
print(digest_of([shared, {Owner.first, owner.second}, {frozenset("abcdefgh"): 1}]))
"""


def test_another_process_finds_the_same_in_a_set():
    def found(seed):
        command, there = [sys.executable, "-c", HELD], {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(command, env=there, check=True, capture_output=True).stdout

    assert len({found(seed) for seed in "1234"}) == 1
