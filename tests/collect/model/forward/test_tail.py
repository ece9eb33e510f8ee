"""Logits by the model's own code from known states are those of the whole model."""

import pytest
import torch

from collect.model.forward.tail import own_logits
from tests.collect.families import OF_EACH_ADAPTER
from tests.collect.shown import LONG, loaded_family, shown


@pytest.mark.parametrize("name", OF_EACH_ADAPTER)
@torch.no_grad()
def test_known_states_give_the_logits_of_the_whole_model_and_nothing_is_left_changed(name):
    placed, states = loaded_family(name), shown(name).streams["long"][-1]
    ids = torch.tensor([LONG.token_ids])
    right = placed.model(ids, use_cache=False).logits
    assert torch.allclose(own_logits(placed, states), right, atol=1e-5)
    assert torch.equal(placed.model(ids, use_cache=False).logits, right)


@torch.no_grad()
def test_a_head_read_by_slices_gives_the_logits_of_the_model(monkeypatch):
    """Slices of 40 rows, of which the last is shorter, with a bias beside them."""
    of = loaded_family("phi")
    states = torch.randn(2, 1, 64, generator=torch.Generator().manual_seed(0))
    whole_head = own_logits(of, states)
    monkeypatch.setattr("collect.model.checkpoint.decoder._HEAD_ROWS", 40)
    weight = of.head._parameters.pop("weight")
    assert weight.shape[0] % 40
    monkeypatch.setitem(of.head.__dict__, "weight", Stored(weight.detach()))
    assert torch.allclose(own_logits(of, states), whole_head, atol=1e-6)


class Stored:
    """A weight that can be sliced and is no tensor."""

    def __init__(self, weight):
        self.shape, self._weight = weight.shape, weight

    def __getitem__(self, places):
        return self._weight[places]
