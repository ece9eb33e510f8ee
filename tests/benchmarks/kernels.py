"""CPU time of what Quarto pays for each page: a kernel of its own that runs all its chunks.

    python -m tests.benchmarks.kernels [--code FOLDER ...] [--pages NAME ...] [--chunks]

As Quarto does, each page starts a fresh ipykernel through nbclient in the folder of the pages, with
the imports that Quarto itself makes in it, and runs chunks and inline code in their order.
Quarto, pandoc and nbclient are not counted; the end of the kernel is, in the last column alone.
Caches are as they are: run it twice for a rendering in which nothing changed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: What Quarto's own first cell imports where it is installed, then takes out of the name space.
OF_QUARTO = "import matplotlib.pyplot, pandas\n%reset -f"
#: Chunks that take less are not printed [s].
LEAST = 0.05
#: The columns, each with the sources whose chunks it counts; the page has all others.
STAGES = {
    "kernel": (),
    "set-up": ("_parameters.qmd", "_setup.qmd", "_setup_text.qmd"),
    "shared": ("_findings.qmd", "_study_numbers.qmd"),
    "page": (),
}


def main() -> None:
    """Print the table of each checkout."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--code", nargs="+", default=[ROOT], type=Path, help="checkouts (this one)")
    parser.add_argument("--pages", nargs="+", default=[], help="stems of pages (all)")
    parser.add_argument("--rounds", type=int, default=1, help="turns; their median is shown (1)")
    parser.add_argument("--chunks", action="store_true", help="print what each chunk took as well")
    parser.add_argument("--client", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        print(json.dumps(run_page(given.client)))
        return
    for code in [folder.resolve() for folder in given.code]:
        print(f"\n{code.name} [CPU s]\n\n| page | {' | '.join(STAGES)} | all |")
        print("|---|" + "--:|" * (len(STAGES) + 1))
        sums: Counter[str] = Counter()
        for page in given.pages or pages_of(code):
            rounds = [of_page(code, page) for _ in range(given.rounds)]
            taken = {name: statistics.median(it[0][name] for it in rounds) for name in rounds[0][0]}
            sums.update(taken)
            print_row(page, taken)
            for place, spent in rounds[-1][1] if given.chunks else []:
                if spent >= LEAST:
                    print(f"|  {place} | {spent:.2f} |")
        print_row("all", sums)


def pages_of(code: Path) -> list[str]:
    """Return the stems of the pages that the project of a checkout lists."""
    listed = [
        line.strip().removeprefix("- ")
        for line in (code / "quarto" / "_quarto.yml").read_text(encoding="utf-8").splitlines()
    ]
    return [name.removesuffix(".qmd") for name in listed if name.endswith(".qmd")]


def defaults(code: Path) -> dict[str, str]:
    """Return the variables that Quarto sets where the environment has none of the name."""
    file = code / "quarto" / "_environment"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def print_row(name: str, taken: dict[str, float]) -> None:
    """Print what a page took in each stage, and altogether."""
    cells = [f"{taken[stage]:.2f}" for stage in (*STAGES, "all")]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def of_page(code: Path, page: str) -> tuple[dict[str, float], list[tuple[str, float]]]:
    """Return the CPU time [s] of a page's kernel by stage and by chunk, run by a new client."""
    source = code / "quarto" / f"{page}.qmd"
    ran = subprocess.run(
        [sys.executable, __file__, "--client", str(source)],
        cwd=source.parent,
        env={**defaults(code), **os.environ, "PYTHONPATH": f"{code}{os.pathsep}{ROOT}"},
        check=False,
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise SystemExit(f"{source}: {ran.stderr[-2000:]}")
    by_stage, by_chunk = json.loads(ran.stdout.splitlines()[-1])
    return by_stage, [tuple(it) for it in by_chunk]


def run_page(source: Path) -> tuple[dict[str, float], list[tuple[str, float]]]:
    """Run a page in a kernel; called in the client's process, whose only child the kernel is."""
    import nbformat.v4 as notebook  # the table needs none of these
    from nbclient import NotebookClient

    from tests.benchmarks.times import children_seconds, tree_seconds

    cells = [("kernel", OF_QUARTO), *cells_of(source)]
    taken: Counter[str] = Counter(dict.fromkeys(STAGES, 0.0))
    by_chunk = []
    book = notebook.new_notebook(cells=[notebook.new_code_cell(code) for _, code in cells])
    client = NotebookClient(book, timeout=None, kernel_name="python3")
    with client.setup_kernel():
        kernel = client.km.provisioner.process.pid
        known = 0.0
        for number, ((place, _), cell) in enumerate(zip(cells, book.cells, strict=True)):
            client.execute_cell(cell, number)
            used = tree_seconds(kernel)
            name = place.partition(":")[0]
            stage = next((it for it, files in STAGES.items() if name in files), "page")
            taken["kernel" if not number else stage] += used - known
            by_chunk.append((place, used - known))
            known = used
    return {**taken, "all": children_seconds()}, by_chunk


def cells_of(source: Path) -> list[tuple[str, str]]:
    """Return place and code of what a kernel runs of a page, inline code included."""
    from analysis.report.making.markup import INLINE_CODE  # the checkout's own
    from analysis.report.reading.source import Prose, read_source

    cells = []
    for block in read_source(source).blocks:
        if not isinstance(block, Prose):
            cells.append((block.place, block.code))
            continue
        lines = [line for line in block.lines if not line.fence]
        asked = [match[1].strip() for line in lines for match in INLINE_CODE.finditer(line.text)]
        if asked:
            named = {str(number): expression for number, expression in enumerate(asked)}
            place = f"{lines[0].place} inline"
            cells.append((place, f"get_ipython().user_expressions({named!r});"))
    return cells


if __name__ == "__main__":
    main()
