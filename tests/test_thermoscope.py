"""`import thermoscope`: one list of names, imported late, and one sentence where it cannot work."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import thermoscope as ts

SOURCE = Path(ts.__file__)


def _run(code, cwd):
    program = [sys.executable, "-c", code]
    env = {"PYTHONPATH": str(SOURCE.parents[1]), "PATH": "/usr/bin:/bin"}
    return subprocess.run(program, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_the_names_for_types_are_those_at_run_time():
    body = next(node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If))
    typed = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in body.body
        for alias in node.names
    }
    assert set(ts.__all__) == set(ts.DEFINED) == set(typed)
    for name, (module, there) in typed.items():
        assert getattr(ts, name) is getattr(importlib.import_module(module), there), name


@pytest.mark.parametrize("name", ts.__all__)
def test_every_name_has_a_docstring_with_an_example(name):
    there = getattr(ts, name)
    assert inspect.getdoc(there)
    if not issubclass(there if isinstance(there, type) else object, BaseException):
        assert ">>> " in inspect.getdoc(there)


def test_nothing_heavy_is_imported_before_it_is_used(tmp_path):
    code = (
        "import sys, thermoscope as ts; print(sorted({'duckdb', 'pandas'} & {*sys.modules}));"
        "ts.mixed, ts.open_store, ts.fisher_test;"
        "print(sorted({'torch', 'transformers', 'statsmodels', 'pingouin'} & {*sys.modules}))"
    )
    done = _run(code, tmp_path)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"], done.stderr


@pytest.mark.parametrize("hiding", ["analysis.py", "analysis/__init__.py", "analysis/x.txt"])
def test_a_foreign_analysis_is_named(tmp_path, hiding):
    (tmp_path / hiding).parent.mkdir(exist_ok=True)
    (tmp_path / hiding).write_text("")
    done = _run("import thermoscope as ts; ts.mixed", tmp_path)
    if hiding.endswith(".txt"):  # a folder without code hides no package
        assert done.returncode == 0, done.stderr
    else:
        assert done.stderr.splitlines()[-1].startswith("ImportError: ")
        assert "'analysis'" in done.stderr.splitlines()[-1]
        assert str(tmp_path) in done.stderr.splitlines()[-1]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        ts.nothing  # noqa: B018
    assert "open_store" in dir(ts)
