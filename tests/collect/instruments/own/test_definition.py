"""What defines a quantity of one's own: its parts, what its function holds, entry points."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest
import torch

from collect.errors import InputError
from collect.instruments import quantities
from tests.collect.instruments.own.conftest import measured, own


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "Width"}, "small letters, digits and underscores"),
        ({"name": "stream"}, "not one of all, weights"),
        ({"level": "layer"}, "level of quantity width must be one of token, prompt"),
        ({"sites": ()}, "site of quantity width must be one of embedding.* found 'none'"),
        ({"needs": ("gradients",)}, "must be one of attention, logits; found 'gradients'"),
        ({"unit": ""}, "must say its unit"),
        ({"sites": ("block_input",), "needs": ("attention",)}, "must have run where it is looked"),
        ({"sites": "block"}, "must be one of embedding.* found 'block'"),
        ({"layers": (1.5,)}, r"layers of a quantity must be whole numbers; .* \(1.5,\)"),
        ({"positions": "-1"}, "positions of a quantity must be whole numbers; .* '-1'"),
        ({"name": 5}, "small letters, digits and underscores"),
        ({"unit": None}, "must say its unit"),
        ({"measure": 5}, "must be a function and its further arguments .* has int and dict"),
        ({"parameters": None}, "must be a function .* has function and NoneType"),
    ],
)
def test_an_ill_formed_definition_is_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        own(**changes)


def test_one_place_need_not_be_put_between_brackets():
    found = own(sites="block_mid", needs="attention", layers=-1, positions=range(2))
    assert (found.sites, found.needs) == (("block_mid",), ("attention",))
    assert (found.layers, found.positions) == ((-1,), (0, 1))
    assert (
        found.sha256
        == own(sites=("block_mid",), needs=("attention",), layers=(-1,), positions=(0, 1)).sha256
    )


class Feature:
    """A callable with a state, as a probe is often written."""

    def __init__(self, place):
        self.place = place

    def __call__(self, site, layer, states, attention):
        return states[:, self.place]

    def method(self, site, layer, states, attention):
        return states[:, self.place]


def enclosed(place):
    return lambda site, layer, states, attention: states[:, place]


def by_default(place):
    return lambda site, layer, states, attention, place=place: states[:, place]


def scaled(site, layer, states, attention, by):
    return states.norm(dim=-1) * by


@pytest.mark.parametrize(
    "made",
    [
        enclosed,
        by_default,
        Feature,
        lambda place: Feature(place).method,
        lambda place: partial(scaled, by=place),
        lambda place: partial(enclosed(place)),
        lambda place: enclosed([torch.arange(2000.0), torch.full((2000,), place)]),
    ],
)
def test_what_a_function_holds_is_part_of_its_definition(made):
    assert own(measure=made(1)).sha256 == own(measure=made(1)).sha256
    assert own(measure=made(1)).sha256 != own(measure=made(2)).sha256


def test_arrays_within_a_parameter_count_to_the_last_number():
    first = [torch.zeros(2000), np.zeros(2000)]
    second = [torch.zeros(2000), np.zeros(2000)]
    second[1][1000] = 1
    assert own(parameters={"two": first}).sha256 == own(parameters={"two": first}).sha256
    assert own(parameters={"two": first}).sha256 != own(parameters={"two": second}).sha256


def test_a_function_that_fills_what_it_holds_is_the_one_that_was_defined(model):
    seen = []

    def counting(site, layer, states, attention):
        seen.append(layer)
        return states.norm(dim=-1)

    quantity = own(measure=counting)
    (row,) = measured(model, quantity)["own_quantity"].to_dict("records")
    assert len(seen) == 2 * 3
    assert row["definition_sha256"] == quantity.sha256


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package as pip does: a module, and metadata with its entry points."""
    (tmp_path / "theirs.py").write_text(
        "import collect\n\n"
        "@collect.quantity('mean_abs', unit='activation units', description='Mean feature')\n"
        "def mean_abs(site, layer, states, attention):\n"
        "    return states.abs().mean(-1)\n\n"
        "WIDTH = collect.OwnQuantity('their_width', '1', 'Norm', mean_abs)\n"
    )
    (tmp_path / "fallen.py").write_text("1 / 0")
    metadata = tmp_path / "theirs-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        f"[{quantities.GROUP}]\nmean_abs = theirs:mean_abs\ntheir_width = theirs:WIDTH\n"
        "other = theirs:mean_abs\nfallen = fallen:X\nmissing = theirs:NOT_THERE\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("theirs", "fallen"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    sys.modules.pop("theirs", None)


def test_an_entry_point_of_another_package_makes_a_quantity_known(installed, model):
    asked = ["their_width,mean_abs", "stream"]
    assert quantities.chosen(asked) == ("stream", "mean_abs", "their_width")
    frames = measured(model, "mean_abs")
    assert set(frames["own_value"]["measure"]) == {"mean_abs"}
    for name, sentence in {
        "other": r"must be a quantity of that name; theirs:mean_abs is not",
        "fallen": r"must load; fallen:X does not: ZeroDivisionError",
        "missing": r"must load; theirs:NOT_THERE does not: AttributeError",
    }.items():
        with pytest.raises(InputError, match=sentence):
            quantities.chosen([name])
    with pytest.raises(InputError, match="last_states, fallen, mean_abs, missing"):
        quantities.chosen(["none_such"])
