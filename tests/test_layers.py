"""Analysis needs no torch, and both packages are the ones in this repository."""

import subprocess
import sys
from pathlib import Path

import pytest

import analysis
import collect

ROOT = Path(__file__).parents[1]

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "transformers", "safetensors", "tokenizers"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def python_without_torch(statements):
    command = [sys.executable, "-c", BLOCKED + statements]
    how = {"capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(command, cwd=ROOT, check=False, **how)


@pytest.mark.slow
def test_every_module_of_analysis_imports_without_torch():
    answer = python_without_torch(
        """
import importlib, pkgutil
import analysis

names = [found.name for found in pkgutil.walk_packages(analysis.__path__, "analysis.")]
names = [name for name in names if not name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
assert len(names) > 5, names
"""
    )
    assert answer.returncode == 0, answer.stderr


def test_the_contract_and_the_command_line_import_without_torch():
    modules = ("schema", "commands.cli", "prompts.sets", "record.status", "record.integrity")
    answer = python_without_torch("\n".join(f"import collect.{module}" for module in modules))
    assert answer.returncode == 0, answer.stderr


def test_the_blocker_blocks():
    answer = python_without_torch("import collect.job.run")
    assert answer.returncode == 1
    assert "No module named 'torch'" in answer.stderr


@pytest.mark.parametrize("package", [analysis, collect])
def test_the_package_is_this_repositorys(package):
    assert Path(package.__file__).resolve().parents[1] == ROOT


@pytest.mark.parametrize("directory", ["tests", "data", "quarto", "reports"])
def test_no_other_directory_is_a_package(directory):
    assert list((ROOT / directory).rglob("__init__.py")) == []


def test_the_public_face_is_named_without_torch_and_needs_it_when_it_is_used():
    answer = python_without_torch(
        """
import collect
assert {"measure", "measure_step", "run", "MeasurementCallback"} <= set(dir(collect))
assert collect.CollectError.exit_code == 2
try:
    collect.measure
except ModuleNotFoundError as error:
    assert error.name == "torch", error
else:
    raise AssertionError("torch was not needed")
"""
    )
    assert answer.returncode == 0, answer.stderr


def test_safetensors_need_nothing_of_the_readers_of_gguf():
    code = """
import sys
for name in ("gguf", "transformers.modeling_gguf_pytorch_utils"):
    sys.modules[name] = None
import collect.model.checkpoint.shards, collect.model.checkpoint.location, collect.job.run
print("imported")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.stdout == "imported\n", done.stderr
