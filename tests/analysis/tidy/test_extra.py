"""Packages of an extra that are not installed."""

import sys

import pytest

from analysis.tidy.errors import MissingExtraError
from analysis.tidy.extra import extra


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypandoc", None)
    with pytest.raises(MissingExtraError) as caught:
        extra("pypandoc")
    assert str(caught.value) == (
        "Making pages needs the package 'pypandoc'; it is not installed.\n"
        'hint: Run: pip install "thermoscope[report]"'
    )
