"""For each verb a command that succeeds, and one for each further way in which it ends.

``@`` stands for a folder that `prepare` fills. Words are what follows ``thermoscope``.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.collect.conftest import tiny_model
from tests.collect.gguf_files import tiny, write
from tests.collect.job.states import dumps
from tests.faults import commands

#: Success.
GOOD = {
    "claims": "--paper @/paper claims",
    "claim": "--paper @/paper claim 1",
    "study": "study",
    "sql": "--data @/measured sql 'SELECT 1'",
    "columns": "columns model",
    "l-star": "--data data/published l-star --profile trace_multi_head",
    "signs": "--data data/sample signs",
    "specifications": "specifications",
    "stated": "stated",
    "forensics": "forensics @/right.md",
    "report": "report --page reference --out @/pages",
    "init": "init @/audit",
    "database": "database @/measured --out @/new/x.duckdb",
    "collect plan": "collect plan @/model --prompts @/own.txt",
    "collect run": "collect run @/model --prompts @/own.txt --out @/new/run",
    "collect look": "collect look @/model",
    "collect verify": "collect verify @/model",
    "collect states": "collect states @/prompt.npz --model @/llama --engine jax"
    " --site block_output --against @/llama",
    "collect prompts": "collect prompts",
    "collect status": "collect status @/measured",
    "collect check": "collect check @/measured",
    "collect compact": "collect compact @/measured --out @/new/compact",
    "collect publish": "collect publish @/measured --license CC0-1.0 --creator us --allow-dirty",
    "collect train": "collect train @/micro.toml --out @/new/train",
    "collect study": "collect study @/design.toml --out @/new/study",
    "collect dequantise": "collect dequantise @/tiny.gguf --out @/new/tiny",
    "collect gauge": "collect gauge @/model --out @/new/gauge --prompts @/own.txt"
    " --transformations value_basis",
    "collect published": "collect published @/raw --out @/new/published",
    "collect reported": "collect reported @/reported --out @/new/reported",
    "collect codebook": "collect codebook --check",
    "collect models": "collect models",
}

_OF_STORES = ("claims", "claim", "study", "sql", "l-star", "signs", "specifications", "stated")
_ADDRESS = "--data http://127.0.0.1:9/nothing "

#: Wrong input.
WRONG = {
    **{name: f"--data @/nowhere {name}" for name in _OF_STORES},
    "claim": "claim 9999",
    "sql": "sql 'FROM nothing'",
    "columns": "columns nothing",
    "forensics": "forensics @/nowhere.md",
    "report": "report --page nothing",
    "init": "init @/measured",
    "database": "database @/nowhere",
    "collect plan": "collect plan @/nowhere",
    "collect run": "collect run @/nowhere --out @/wrong",
    "collect look": "collect look @/nowhere",
    "collect verify": "collect verify @/nowhere",
    "collect states": "collect states @/nowhere.npz --model @/llama --engine jax --out @/wrong",
    "collect prompts": "collect prompts nothing",
    "collect status": "collect status @/nowhere",
    "collect check": "collect check @/nowhere",
    "collect compact": "collect compact @/nowhere --out @/wrong",
    "collect publish": "collect publish @/nowhere --license CC0-1.0 --creator us",
    "collect train": "collect train @/nowhere.toml --out @/wrong",
    "collect study": "collect study @/nowhere.toml --out @/wrong",
    "collect dequantise": "collect dequantise @/model --out @/wrong",
    "collect gauge": "collect gauge @/nowhere --out @/wrong",
    "collect published": "collect published --out @/wrong",
    "collect reported": "collect reported @/nowhere --out @/wrong",
    "collect codebook": "collect codebook --nothing",
    "collect models": "collect models --nothing",
}

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
UNREACHED = {name: MISSING[name] for name in (*_OF_STORES, "columns")} | {
    "collect plan": "collect plan no/model",
    "collect run": "collect run no/model --out @/wrong",
    "collect look": "collect look no/model",
    "collect verify": "collect verify no/model",
    "collect states": "collect states @/prompt.npz --model no/model --engine jax"
    " --site block_output --out @/wrong",
    "collect dequantise": "collect dequantise no/model-gguf --out @/wrong",
    "collect gauge": "collect gauge no/model --out @/wrong",
    "collect published": "collect published --fetch --out @/wrong",
}

#: An output that cannot be written: it lies below a file.
BELOW_A_FILE = {
    "init": "init @/own.txt/audit",
    "report": "report --page reference --out @/own.txt/pages",
    "database": "database @/measured --out @/own.txt/x.duckdb",
    "collect run": "collect run @/model --out @/own.txt/run",
    "collect states": "collect states @/prompt.npz --model @/llama --engine jax"
    " --site block_output --out @/own.txt/states",
    "collect compact": "collect compact @/measured --out @/own.txt/compact",
    "collect train": "collect train @/micro.toml --out @/own.txt/train",
    "collect study": "collect study @/design.toml --out @/own.txt/study",
    "collect dequantise": "collect dequantise @/tiny.gguf --out @/own.txt/tiny",
    "collect gauge": "collect gauge @/model --out @/own.txt/gauge --prompts @/own.txt",
    "collect published": "collect published @/raw --out @/own.txt/published",
    "collect reported": "collect reported @/reported --out @/own.txt/reported",
}

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
