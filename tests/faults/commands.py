"""Every command that writes, on an input so small that it takes a second.

Each knows a folder with what it is given and what lay at its output before.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from collect.published import catalogue
from tests.fuzz.published import DOCUMENT

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "tests" / "analysis" / "second_paper"

#: What every command may be given: a recipe, a design, prompts and a page.
GIVEN = Path(__file__).with_name("given")

#: Exit code of a command in this process, in its folder.
Act = Callable[[Path], int]


@dataclass(frozen=True)
class Writing:
    """A command that writes, and where its output lies; everything else must never change."""

    act: Act
    out: str
    #: Whether a killed command may leave nothing where there was something: a unit is complete or
    #: absent. Other outputs are as before or as after.
    may_vanish: bool = False


def verb(package: str, *arguments: str) -> Act:
    """Return what runs a verb of ``analysis`` or ``collect``; ``@`` stands for the folder."""

    def act(folder: Path) -> int:
        main = import_module(f"{package}.commands.cli").main
        return int(main([each.replace("@", str(folder)) for each in arguments]))

    return act


collect, analysis = partial(verb, "collect"), partial(verb, "analysis")


def codebook(folder: Path) -> int:
    """Write the codebook into the folder instead of the repository."""
    import_module("collect.record.publication.codebook").PATH = folder / "out" / "README.md"
    return collect("codebook")(folder)


def models(folder: Path) -> int:
    """Write the page of types into the folder instead of the repository."""
    import_module("collect.adapters.answers").PATH = folder / "out" / "TYPES.md"
    return collect("models", "--write")(folder)


def study(folder: Path) -> int:
    """Write the registered statements into the folder instead of the repository."""
    import_module("analysis.commands.checkout").writable_root = lambda: folder / "out"
    return analysis("study", "--write")(folder)


def report(folder: Path) -> int:
    """Render a small page with the embedded renderer; an error ends it as it ends the command."""
    from analysis.report import render_site
    from collect.process.cli import worded

    try:
        render_site(folder, folder / "out", engine="embedded")
    except Exception as error:
        problem, _hint, code = worded(error)
        print(problem)
        return code
    return 0


def kept_results(folder: Path) -> int:
    """Keep some of the report's results."""
    from analysis.report.cache import Results

    for name in ("one", "two", "three"):
        Results(name.encode(), folder / "out").cached("result", lambda: list(range(50_000)))
    return 0


#: A change of a model; the checkpoint that it replaces was changed with another seed.
GAUGE = (
    *("gauge", "@/model", "--out", "@/gauged/changed", "--prompts", "@/own.txt"),
    *("--transformations", "value_basis"),
)

AGAIN = ("run", "@/model", "--prompts", "@/own.txt", "--out", "@/measured", "--quiet")
PUBLISHED = ("--license", "CC-BY-4.0", "--creator", "A. Person", "--date", "2026-01-02")

COMMANDS: dict[str, Writing] = {
    "collect run": Writing(
        collect("run", "@/model", "--prompts", "@/own.txt", "--out", "@/out", "--quiet"),
        "out",
        may_vanish=True,
    ),
    "collect run --overwrite": Writing(collect(*AGAIN, "--overwrite"), "measured", may_vanish=True),
    "collect train": Writing(
        collect("train", "@/micro.toml", "--out", "@/out", "--quiet"), "out", may_vanish=True
    ),
    "collect gauge": Writing(collect(*GAUGE, "--overwrite"), "gauged", may_vanish=True),
    "collect study --out": Writing(
        collect("study", "@/design.toml", "--out", "@/out", "--quiet"), "out", may_vanish=True
    ),
    "collect study --merge": Writing(
        collect("study", "@/design.toml", "--out", "@/parts", "--merge", "@/merged"), "merged"
    ),
    "collect publish": Writing(
        collect("publish", "@/measured", *PUBLISHED, "--allow-dirty"), "measured"
    ),
    "collect codebook": Writing(codebook, "out"),
    "collect models": Writing(models, "out"),
    "collect database": Writing(
        collect(
            *("database", "@/paper", "@/measured"), *("--out", "@/out/all.duckdb", "--overwrite")
        ),
        "out",
    ),
    "collect published": Writing(collect("published", "@/raw", "--out", "@/out"), "out"),
    "collect reported": Writing(collect("reported", "@/reported", "--out", "@/out"), "out"),
    "analysis claims --write": Writing(
        analysis("--paper", "@/paper", "claims", "--write"), "paper"
    ),
    "analysis study --write": Writing(study, "out"),
    "analysis report": Writing(report, "out"),
    "analysis report's cache": Writing(kept_results, "out"),
}

#: What lies at an output before, so that losing it would show.
BEFORE = {
    "collect codebook": ("out/README.md", "the old codebook\n"),
    "collect models": ("out/TYPES.md", "the old page\n"),
    "collect database": ("out/all.duckdb", "an old database\n"),
    "collect published": ("out/published_value/results.parquet", "an old table\n"),
    "analysis claims --write": ("paper/verdicts.csv", "claim_id\n1\n"),
    "analysis study --write": ("out/reports/study.csv", "the old statements\n"),
    "analysis report": ("out/page.html", '<nav class="site-nav">the old page\n'),
}


def prepare(folder: Path, names: Collection[str]) -> None:
    """Write what some commands are given; what only others are given is left out."""
    shutil.copytree(GIVEN, folder)
    text = (ROOT / "data" / "text" / "kjv.txt").read_bytes()[:40_000]
    (folder / "text.txt").write_bytes(text)
    (folder / "_quarto.yml").write_text("project: {render: [page.qmd]}\n", encoding="utf-8")
    shutil.copytree(PAPER, folder / "paper", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "raw").mkdir()
    shutil.copytree(ROOT / "data" / "reported" / "sources" / "riskaverse", folder / "reported")
    name = min(name for name in catalogue.files() if name.endswith(".json"))
    (folder / "raw" / name).write_text(json.dumps(DOCUMENT), encoding="utf-8")
    measures = ("collect run", "collect gauge", "collect data", "collect publish")
    if any(name.startswith(measures) for name in names):
        _save_model(folder / "model")
        _require(collect(*AGAIN)(folder))
    if "collect gauge" in names:
        _require(collect(*GAUGE, "--seed", "1")(folder))
    if "collect study --merge" in names:
        _merged_in_part(folder)


def _require(code: int) -> None:
    if code:
        raise RuntimeError(f"what is prepared must succeed; its exit code is {code}")


def _merged_in_part(folder: Path) -> None:
    """Carry out a study whose rows were merged when one of its runs was still to do."""
    _require(collect("study", "@/design.toml", "--out", "@/parts", "--quiet")(folder))
    last = max((folder / "parts" / "study_run").iterdir())
    aside = last.rename(folder / last.name)
    _require(COMMANDS["collect study --merge"].act(folder))
    aside.rename(last)


def _save_model(directory: Path) -> None:
    from tests.collect.conftest import tiny_model, tiny_tokenizer

    tiny_model("gpt_neox").save_pretrained(directory)
    tiny_tokenizer().save_pretrained(directory)
