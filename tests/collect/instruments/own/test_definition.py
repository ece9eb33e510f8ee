"""What defines a quantity of one's own: its parts, its version, entry points."""

import sys
from functools import partial

import numpy as np
import pytest
import torch

from collect.errors import InputError
from collect.instruments import quantities
from collect.instruments.own import examples
from tests.collect.instruments.own.conftest import measured, own


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "Width"}, "small letters, digits and underscores"),
        ({"name": "stream"}, "not one of all, weights"),
        ({"level": "layer"}, "level of quantity width must be one of token, prompt"),
        ({"sites": ()}, "site of quantity width must be one of embedding.* found 'none'"),
        ({"needs": ("gradients",)}, "must be one of attention, logits; found 'gradients'"),
        ({"unit": ""}, "must have a unit"),
        ({"sites": ("block_input",), "needs": ("attention",)}, "attention only at"),
        ({"layers": (1.5,)}, r"layers of a quantity must be whole numbers; .* \(1.5,\)"),
        ({"measure": 5}, "a function as measure"),
        ({"parameters": None}, "a mapping as parameters"),
    ],
)
def test_an_ill_formed_definition_is_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        own(**changes)


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


def test_a_definition_measured_by_an_earlier_version_keeps_its_hash():
    """Hashes as the version before wrote them, which followed closures and objects too."""
    assert own().sha256 == "99c68f9f05c4ab8d092781212f741f88781018c37e2295db461e8a33f4f62e2f"
    direction = torch.arange(3.0)
    parameters = {"direction": direction, "by": 2, "names": ["a", "b"], "array": np.arange(4)}
    assert (
        own(parameters=parameters, version="2").sha256
        == "3f79703bfefe6f5a8c2a35f9f7c0505eb7386717acfb3d2afd6c47a0182deb74"
    )
    assert (
        examples.probe_projection([1.0, 2.0]).sha256
        == "016a1f4449c5e509929ee12e9746817fc0c7cca6e86e550807a7ce2fd1172247"
    )


def test_parameters_defaults_and_version_are_part_of_the_version():
    changes = [
        {"measure": scaled, "parameters": {"by": 1}},
        {"measure": scaled, "parameters": {"by": 2}},
        {"measure": by_default(1)},
        {"measure": by_default(2)},
        {"version": "1"},
        {"version": "2"},
    ]
    versions = [own(**change).sha256 for change in changes]
    assert len({*versions}) == len(changes)
    assert versions == [own(**change).sha256 for change in changes]


@pytest.mark.parametrize(
    ("made", "name"), [(enclosed, "place"), (lambda place: Feature(place).method, "self")]
)
def test_a_value_from_around_a_function_is_warned_of_and_told_apart_by_version(made, name):
    with pytest.warns(UserWarning, match=f"version of width: {name},") as warned:
        quantity = own(measure=made(1))
    assert len(warned) == 1
    with pytest.warns(UserWarning, match="version="):
        assert own(measure=made(2)).sha256 == quantity.sha256
    assert own(measure=made(1), version="1").sha256 != own(measure=made(2), version="2").sha256


@pytest.mark.parametrize(
    "measure", [Feature(1), partial(scaled, by=1), eval("lambda *given: given[2][:, 0]")]
)
def test_a_function_without_source_text_needs_a_version(measure):
    with pytest.raises(InputError, match="width has no source text") as refusal:
        own(measure=measure)
    assert "version=" in refusal.value.hint
    assert own(measure=measure, version="1").sha256 != own(measure=measure, version="2").sha256


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
