"""ARCHITECTURE.md is true: its paths exist, its floors are the contracts'; faces open."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.architecture import PAGE, ROOT, drawn

PATHS = re.findall(r"`([\w./-]+/[\w./-]*)`", PAGE.read_text(encoding="utf-8"))
FACES = ["analysis.audit", "analysis.audit.evidence", "analysis.inference", "analysis.mixed"]
FACES += ["analysis.report", "analysis.store", "collect.schema", "collect.published"]


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_every_path_of_the_page_exists(path):
    assert (ROOT / path).exists(), path


def test_the_floors_are_those_of_the_contracts():
    assert len(PATHS) > 20
    text = PAGE.read_text(encoding="utf-8")
    assert text == drawn(text), "write them with: python -m tests.architecture"


@pytest.mark.parametrize("face", FACES)
def test_every_name_of_a_face_is_there(face):
    room = importlib.import_module(face)
    assert room.__doc__
    assert room.__all__
    for name in room.__all__:
        assert getattr(room, name) is not None, name


def test_the_toolbox_hands_on_every_method_it_holds():
    from analysis import inference

    held = {
        path.stem
        for path in Path(inference.__path__[0]).rglob("*.py")
        if not path.stem.startswith("__")
    }
    #: A part of `correlation`.
    held -= {"ranks"}
    assert set(inference.__all__) == held
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        inference.nothing  # noqa: B018


@pytest.mark.parametrize("package", ["analysis", "collect"])
def test_no_folder_is_crowded_and_none_is_deep(package):
    modules = [path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")]
    entries = Counter(path.parent for path in modules)
    for folder in list(entries):
        entries[folder] += len(list((ROOT / folder).glob("*/__init__.py")))
    assert max(entries.values()) <= 17, entries.most_common(3)
    assert max(len(path.parents) - 1 for path in modules) <= 4
