"""For each verb a command that succeeds, and one for each further way in which it ends.

``@`` stands for a folder that `prepare` fills. Words are what follows ``thermoscope``.
"""

from __future__ import annotations

import shlex
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

from tests.collect.conftest import tiny_model
from tests.collect.gguf_files import tiny, write
from tests.collect.job.states import dumps
from tests.faults import commands

#: Commands of the verbs, by how they end.
_WRITTEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

#: Success.
GOOD: dict[str, str] = _WRITTEN["good"]

_OF_STORES = ("claims", "claim", "study", "sql", "l-star", "signs", "specifications", "stated")
_ADDRESS = "--data http://127.0.0.1:9/nothing "

#: Wrong input.
WRONG = {name: f"--data @/nowhere {name}" for name in _OF_STORES} | _WRITTEN["wrong"]

#: A package of an extra that is missing: what succeeds otherwise, or what is here.
MISSING = {
    name: GOOD[name]
    for name in (
        "report",
        *("collect plan", "collect run", "collect look", "collect verify", "collect states"),
        *("collect compact", "collect publish", "collect train", "collect study"),
        *("collect dequantise", "collect gauge", "collect models"),
    )
} | {
    **{name: f"{_ADDRESS}{GOOD[name].split()[-1]}" for name in _OF_STORES},
    "claim": f"{_ADDRESS}claim 1",
    "sql": f"{_ADDRESS}sql 'SELECT 1'",
    "l-star": f"{_ADDRESS}l-star",
    "columns": f"{_ADDRESS}columns nothing",
    "collect status": "collect status @/locked",
    "collect check": "collect check @/locked",
}

#: A server that does not answer.
UNREACHED = {name: MISSING[name] for name in (*_OF_STORES, "columns")} | _WRITTEN["unreached"]

#: An output that cannot be written: it lies below a file.
BELOW_A_FILE: dict[str, str] = _WRITTEN["below_a_file"]

#: A model that is not what its adapter promises.
NONCONFORMING = {
    name: GOOD[name]
    for name in (
        *("collect plan", "collect run", "collect look", "collect verify", "collect states"),
        *("collect study", "collect gauge", "collect dequantise"),
    )
}


def words(command: str, folder: Path) -> list[str]:
    """Return a command as words, its folder named."""
    return [word.replace("@", str(folder)) for word in shlex.split(command)]


def placed(commands: Mapping[str, str], folder: Path) -> dict[str, list[str]]:
    """Return commands as words, by verb."""
    return {name: words(command, folder) for name, command in commands.items()}


def prepare(folder: Path) -> None:
    """Fill a folder with what the commands are given."""
    commands.prepare(folder, {"collect run"})
    tiny_model("llama").save_pretrained(folder / "llama")
    states = dumps.entered_and_left(folder / "llama", dumps.PROMPTS[0])
    dumps.stored("npz", states[1:].contiguous(), dumps.PROMPTS[0], folder)
    write("llama", tiny("llama"), folder / "tiny.gguf", pre="smollm")
    (folder / "right.md").write_text("They differ, t(10) = 2.23, p = .0499.\n")
    shutil.copytree(folder / "measured", folder / "locked")  # a unit is being measured there
    (folder / "locked" / "run" / "local--model@own.parquet").unlink()
    (folder / "locked" / ".locks").mkdir()
    (folder / "locked" / ".locks" / "local--model@own.lock").touch()
