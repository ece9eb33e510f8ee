"""Run a checkout's own commands and write down all that they show.

Only the command lines are used, so that one program dumps any version of the code.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from tests.frozen.pages import parse_page

Dump = dict[str, list[str]]

#: Prose whose SQL blocks are run, and the data each is asked of.
ASKED = (
    "README.md",
    "data/README.md",
    "quarto/guides/_measure.qmd",
    "examples/trajectory/README.md",
)
#: Columns that are another at each run by design: times, and what machine it was.
VOLATILE = re.compile(
    r"^(run_id|created_at|started_at|finished_at|code_version|commit|duration_s)$"
)
RECIPE = "data/sample/recipes/llama-l4-adamw.toml"


def command(root: Path, *arguments: str, text: str | None = None) -> str:
    """Return what a command of the checkout prints; errors are part of it."""
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=root,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + (f"exit {done.returncode}\n{done.stderr}" if done.returncode else "")


def pages(root: Path, scratch: Path) -> Dump:
    """Return every block, cell and figure's frame of every page."""
    printed = command(root, "analysis", "report", "--out", str(scratch / "pages"))
    parsed = {path.stem: parse_page(path) for path in sorted((scratch / "pages").glob("*.html"))}
    assert parsed, printed
    return {
        f"page/{page}/{part}": rows
        for page, parts in parsed.items()
        for part, rows in parts.items()
    }


def claims(root: Path) -> Dump:
    """Return the verdicts and, claim by claim, each check as it is printed."""
    verdicts = command(root, "analysis", "claims", "--csv").splitlines()
    study = command(root, "analysis", "study", "--csv").splitlines()
    return {"claims": verdicts, "study": study}


def queries(root: Path) -> Dump:
    """Return what each SQL block in the README and the guides answers."""
    dump: Dump = {}
    for name in ASKED:
        text = (root / name).read_text(encoding="utf-8")
        for i, query in enumerate(re.findall(r"```sql\n(.*?)```", text, flags=re.DOTALL)):
            dump[f"query/{name}/{i}"] = command(
                root, "analysis", "sql", "-", text=query
            ).splitlines()
    return dump


def measured(root: Path, scratch: Path) -> Dump:
    """Train a twelfth of a shipped recipe, measure it, and hash every column of every table."""
    recipe = (root / RECIPE).read_text(encoding="utf-8")
    recipe = recipe.replace("../../text", str(root / "data/text"))
    recipe = recipe.replace("steps = 300", "steps = 25").replace("warm_up = 40", "warm_up = 4")
    path = scratch / "llama-l4-adamw.toml"
    path.write_text(recipe, encoding="utf-8")
    model, out = scratch / "models" / path.stem, scratch / "measured"
    printed = command(root, "collect", "train", str(path), "--out", str(model.parent), "--quiet")
    printed += command(
        root,
        *("collect", "run", str(model), "--prompts", "A_grand_unified", "--out", str(out)),
        *("--quantities", "all", "--quiet"),
    )
    tables = sorted(p for p in out.iterdir() if p.is_dir()) if out.exists() else []
    assert tables, printed
    return {
        f"table/{table.name}": column_hashes(table)
        for table in tables
        if any(table.rglob("*.parquet"))
    }


def column_hashes(table: Path) -> list[str]:
    """Return ``column: hash`` for each column of a table, its rows in one order."""
    source = f"read_parquet('{table}/**/*.parquet', union_by_name => true)"
    with duckdb.connect() as connection:
        names = sorted(connection.sql(f"FROM {source}").columns)
        stable = [name for name in names if not VOLATILE.match(name)]
        chosen = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in stable)
        rows = connection.sql(f"SELECT {chosen} FROM {source} ORDER BY ALL").fetchall()
    columns = dict(zip(stable, zip(*rows, strict=True), strict=True))
    return [f"rows: {len(rows)}"] + [
        f"{name}: {hashlib.sha256(repr(column).encode()).hexdigest()[:16]}"
        for name, column in columns.items()
    ]


def dump(root: Path, target: Path) -> None:
    """Write all of a checkout's output to a JSON file."""
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        parts = [pages(root, scratch), claims(root), queries(root), measured(root, scratch)]
    codebook = {"codebook": (root / "data/README.md").read_text(encoding="utf-8").splitlines()}
    everything = {key: rows for part in (*parts, codebook) for key, rows in part.items()}
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(everything, indent=0, ensure_ascii=False), encoding="utf-8")
