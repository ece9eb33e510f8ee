"""Examples in docstrings give what they say, and every public function says what it does."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import analysis
import collect

MODULES = sorted(
    module.name
    for package in (analysis, collect)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_public_names_have_a_docstring(name):
    module = importlib.import_module(name)
    own = [
        value
        for key, value in vars(module).items()
        if not key.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == name
    ]
    assert inspect.getdoc(module)
    assert [value.__name__ for value in own if not inspect.getdoc(value)] == []
