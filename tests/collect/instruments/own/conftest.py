"""A quantity that is the norm of the stream, and a tiny model to measure it on."""

from __future__ import annotations

import pytest

import collect
from collect.instruments import quantities
from collect.instruments.own.definition import OwnQuantity
from tests.collect.conftest import tiny_model, tiny_tokenizer

TEXTS = ["The sky is", "A b"]


def width(site, layer, states, attention):
    """Return the norm of each token's state."""
    return states.norm(dim=-1)


def own(**changes):
    """Return a quantity that is the norm of the stream, with changes."""
    how = {"name": "width", "unit": "activation units", "description": "Norm", "measure": width}
    return OwnQuantity(**{**how, **changes})


def measured(model, *asked):
    """Return the frames of a model object for two prompts: stream, and what is asked besides."""
    return collect.measure(model, tiny_tokenizer(), TEXTS, quantities=["stream", *asked])


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Forget what a test registers."""
    monkeypatch.setattr(quantities, "_REGISTERED", {})


@pytest.fixture
def model():
    return tiny_model("gpt2")
