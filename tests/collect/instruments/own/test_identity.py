"""What a function holds is read and left as it is."""

from __future__ import annotations

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


def test_a_tensor_without_numbers_is_described():
    assert digest_of(torch.empty(2, device="meta")) != digest_of(torch.empty(3, device="meta"))
