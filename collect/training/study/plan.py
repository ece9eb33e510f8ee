"""What a design comes to: its runs, what it cannot tell apart, and the minutes it takes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from collect.schema.counting import counted
from collect.training.recipe import Recipe
from collect.training.study.design import Cell, Design
from collect.training.text import read_text

#: Processor seconds of one step over 1,536 bytes per block of width 64, measured once.
_SECONDS = 24 / 300 / 4

#: How the time of a block grows with its width: 2.3 times from 64 to 128.
_WIDTH_POWER = 1.2

#: Changed whenever the same recipe would be measured otherwise.
_MEASUREMENT = 1


@dataclass(frozen=True, slots=True)
class Run:
    """One network to train and measure.

    Attributes
    ----------
    run_id
        Hash of everything that determines its numbers.
    cell, seed, recipe
        What it is.
    text
        The training text.
    parent
        The run whose network is trained on; None for a network drawn anew.
    """

    run_id: str
    cell: Cell
    seed: int
    recipe: Recipe
    text: Path
    parent: Run | None = None

    @property
    def seconds(self) -> float:
        """Processor seconds that the run is expected to take, its parent's left out."""
        shape, schedule = self.recipe.geometry, self.recipe.schedule
        windows = schedule.batch_size * shape.context / 1536
        width: float = (shape.d_model / 64) ** _WIDTH_POWER
        return _SECONDS * schedule.steps * windows * shape.n_layers * width

    def named(self, design: Design) -> dict[str, str | int | None]:
        """Return the columns that name the run and its place in a design, as its tables do."""
        return {
            "study_run_id": self.run_id,
            "study": design.head.name,
            "block": self.cell.block.name,
            "cell": self.cell.name,
            "seed": self.seed,
            "parent_id": None if self.parent is None else self.parent.run_id,
        }


def runs(design: Design) -> list[Run]:
    """Return the runs of a design in order, a parent before what is trained on from it."""
    by_id: dict[str, Run] = {}
    parents: dict[tuple[str, str, int], Run] = {}
    hashes: dict[Path, str] = {}
    for cell in design.cells():
        for seed in cell.block.seeds:
            recipe = design.recipe(cell, seed)
            text = design.path.parent / recipe.text
            if text not in hashes:
                hashes[text] = hashlib.sha256(read_text(text)).hexdigest()
            continued = design.head.continued
            alone = {name: level for name, level in cell.levels.items() if name != continued}
            key = (cell.block.name, json.dumps(alone), seed)
            is_child = len(alone) < len(cell.levels)
            parent = parents[key] if is_child else None
            run = Run(
                _run_id(design, recipe, hashes[text], parent), cell, seed, recipe, text, parent
            )
            by_id.setdefault(run.run_id, run)
            if not is_child:
                parents[key] = run
    return list(by_id.values())


def as_text(design: Design) -> str:
    """Return the plan of a design as a person reads it: runs, aliases, minutes."""
    planned = runs(design)
    minutes = sum(run.seconds for run in planned) / 60
    lines = [
        f"{design.head.name}: {counted(len(planned), 'run')}, about {minutes:.0f} core minutes"
    ]
    for block in design.blocks:
        of_block = [run for run in planned if run.cell.block == block]
        cells = {run.cell.name for run in of_block}
        seconds = sum(run.seconds for run in of_block)
        lines.append(
            f"  {block.name}: {counted(len(cells), 'cell')}, {counted(len(of_block), 'run')}, "
            f"{seconds / 60:.0f} minutes"
        )
    n_parents = sum(run.parent is not None for run in planned)
    if n_parents:
        lines.append(f"  {n_parents} of the runs train on from another")
    lines += [f"  {run.run_id}  {run.cell.name}  seed {run.seed}" for run in planned]
    return "\n".join(lines)


def _run_id(design: Design, recipe: Recipe, text: str, parent: Run | None) -> str:
    """Return a hash of the study and of what determines the numbers; labels do not."""
    content = asdict(recipe)
    for key in ("name", "lab", "suite", "year", "text"):
        del content[key]
    whole = {
        "study": design.head.name,
        "recipe": content,
        "text": text,
        "parent": None if parent is None else parent.run_id,
        "windows": [design.head.n_held_out, design.head.n_measured],
        "measurement": _MEASUREMENT,
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]
