"""A design: one TOML file that says which networks a study trains, and what it measures.

Factors have named levels, and a level is a part of a recipe that is laid over the base. Runs
cross all levels, or a fraction of them; blocks repeat the crossing over a part of the levels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from collect.errors import InputError
from collect.process.sections import read_toml, require, require_positive, section
from collect.training.recipe import PLAIN_NAME, Recipe, recipe_of

#: A part of a recipe: its keys, or tables of them.
Patch = Mapping[str, Any]

_HINT = "The designs in data/study are complete ones to start from."


@dataclass(frozen=True, slots=True)
class Head:
    """The plain keys of a design.

    Attributes
    ----------
    name, lab, year
        As in the recipes that come of it; ``name`` is the suite.
    seeds
        Each cell is trained once per seed.
    n_held_out
        Held-out windows that the loss is measured on, evenly spaced.
    n_measured
        Held-out windows that the stream is measured on, evenly spaced.
    continued
        Factor whose levels are laid over a recipe that has been trained to the end, to train
        its network on; None for none.
    base_fraction
        Two-level factors whose combinations span the fraction.
    """

    name: str
    lab: str
    year: int
    seeds: tuple[int, ...]
    n_held_out: int = 96
    n_measured: int = 24
    continued: str | None = None
    base_fraction: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(
            PLAIN_NAME.fullmatch(self.name) is not None,
            f"name must be made of letters, digits, '.', '_' and '-'; found {self.name!r}",
        )
        require(
            len(self.seeds) > 0 and len(set(self.seeds)) == len(self.seeds),
            f"seeds must differ, and there must be one; found {list(self.seeds)}",
        )
        for key in ("n_held_out", "n_measured"):
            require_positive(key, getattr(self, key))


@dataclass(frozen=True, slots=True)
class Block:
    """Some levels of some factors, and seeds of their own; the other factors keep all levels."""

    name: str
    levels: Mapping[str, tuple[str, ...]]
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels in a block: what runs of several seeds share.

    ``levels`` holds the factors that apply; a cell that is not trained on lacks the factor
    ``continued``.
    """

    block: Block
    levels: Mapping[str, str]

    @property
    def name(self) -> str:
        """The levels, joined by slashes."""
        return "/".join(self.levels.values())


@dataclass(frozen=True, slots=True)
class Design:
    """What a design file says.

    Attributes
    ----------
    path
        The file; texts are relative to it.
    head
        Its plain keys.
    base
        The recipe that the levels are laid over.
    factors
        By factor, by level: what it changes.
    labels
        By label, by factor, by level: what else a level is called, for example whose recipe it
        imitates.
    fraction
        Which combinations are run; None for all.
    blocks
        One or several.
    """

    path: Path
    head: Head
    base: Patch
    factors: Mapping[str, Mapping[str, Patch]]
    labels: Mapping[str, Mapping[str, Mapping[str, str]]]
    blocks: tuple[Block, ...]
    fraction: Fraction | None = None

    def cells(self) -> Iterator[Cell]:
        """Yield the cells block by block; one that is trained on comes before what follows it."""
        for block in self.blocks:
            for levels in self._combinations(block):
                if self.head.continued is not None:
                    alone = {k: v for k, v in levels.items() if k != self.head.continued}
                    if levels[self.head.continued] == self._levels(block, self.head.continued)[0]:
                        yield Cell(block, alone)
                yield Cell(block, levels)

    def _levels(self, block: Block, factor: str) -> tuple[str, ...]:
        return block.levels.get(factor, tuple(self.factors[factor]))

    def _combinations(self, block: Block) -> Iterator[dict[str, str]]:
        if self.fraction is None:
            crossed = itertools.product(*(self._levels(block, name) for name in self.factors))
            yield from (dict(zip(self.factors, levels, strict=True)) for levels in crossed)
            return
        for signs in self.fraction.rows():
            yield {
                name: tuple(self.factors[name])[(1 + sign) // 2]
                for name, sign in zip(self.fraction.factors, signs, strict=True)
            }

    def recipe(self, cell: Cell, seed: int) -> Recipe:
        """Return the recipe of a cell and seed."""
        content: dict[str, Any] = dict(self.base)
        try:
            for factor, level in cell.levels.items():
                content = laid_over(content, self.factors[factor][level])
        except ValueError as error:
            raise InputError(
                f"The design {self.path}, cell {cell.name}, cannot be run: {error}.", _HINT
            ) from error
        content |= {
            "name": f"{cell.name.replace('/', '-')}-s{seed}",
            "lab": self.head.lab,
            "suite": self.head.name,
            "year": self.head.year,
            "seed": seed,
        }
        return recipe_of(content, f"The design {self.path}, cell {cell.name}")

    def levels_and_labels(self, cell: Cell) -> dict[str, str]:
        """Return the level of each factor of a cell, and what else those levels are called."""
        labelled = dict(cell.levels)
        for label, of_factors in self.labels.items():
            for factor, names in of_factors.items():
                if factor in cell.levels:
                    labelled[label] = names[cell.levels[factor]]
        return labelled


def laid_over(content: dict[str, Any], patch: Patch) -> dict[str, Any]:
    """Return a recipe's table with another laid over it; tables are joined key by key."""
    joined = dict(content)
    for key, value in patch.items():
        if isinstance(value, dict):
            below = joined.get(key, {})
            require(isinstance(below, dict), f"{key} must be a table; found {below!r}")
            joined[key] = laid_over(below, value)
        else:
            joined[key] = value
    return joined


def read_design(path: Path) -> Design:
    """Return the design that a TOML file spells out, every one of its recipes checked."""
    table = read_toml(path, "design", "Give the path of a design, as in data/study.")
    where = f"The design {path}"
    base, factors, labels, generators = (
        table.pop(name, {}) for name in ("base", "factors", "labels", "generators")
    )
    listed = table.pop("blocks", [])
    head = section(Head, table, where, verdict="cannot be run", hint=_HINT)
    try:
        require(len(factors) > 0, "it must have factors; found none")
        require(
            head.continued is None or head.continued in factors,
            f"continued must name a factor; found {head.continued!r}",
        )
        fraction = _fraction(head, factors, generators)
        blocks = [Block("all", {}, head.seeds)] if not listed else [_block(b, head) for b in listed]
        design = Design(path, head, base, factors, labels, tuple(blocks), fraction)
        for cell in design.cells():
            design.levels_and_labels(cell)
            design.recipe(cell, head.seeds[0])
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"{where} cannot be run: it has no {error}.", _HINT) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{where} cannot be run: {error}.", _HINT) from error
    return design


def _fraction(
    head: Head, factors: Mapping[str, Mapping[str, Patch]], generators: Mapping[str, Any]
) -> Fraction | None:
    if not head.base_fraction:
        require(not generators, "generators must come with base_fraction; found none")
        return None
    require(head.continued is None, "a fraction must not have a continued factor")
    fraction = Fraction(
        head.base_fraction, {name: tuple(word) for name, word in generators.items()}
    )
    strange = sorted(set(factors) ^ set(fraction.factors))
    require(not strange, f"a fraction must have every factor and no other; {strange} differ")
    for factor in fraction.factors:
        n = len(factors[factor])
        require(n == 2, f"factor {factor} of a fraction must have 2 levels; found {n}")
    return fraction


def _block(entry: Mapping[str, Any], head: Head) -> Block:
    unknown = sorted(set(entry) - {"name", "seeds", "levels"})
    require(not unknown, f"a block must have only name, seeds and levels; found {unknown}")
    levels = {factor: tuple(chosen) for factor, chosen in entry.get("levels", {}).items()}
    return Block(entry["name"], levels, tuple(entry.get("seeds", head.seeds)))


@dataclass(frozen=True, slots=True)
class Fraction:
    """A regular fraction.

    Parameters
    ----------
    base
        Factors whose combinations are all run.
    generators
        By generated factor: its word, a product of base factors.
    """

    base: tuple[str, ...]
    generators: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        require(len(set(self.base)) == len(self.base), "base factors must differ")
        for name, word in self.generators.items():
            require(name not in self.base, f"factor {name} must not be both base and generated")
            require(
                len(set(word)) == len(word) > 1 and set(word) <= set(self.base),
                f"the generator of {name} must be two or more of {list(self.base)}; "
                f"found {list(word)}",
            )

    @property
    def factors(self) -> tuple[str, ...]:
        """Base factors, then generated ones."""
        return (*self.base, *self.generators)

    def rows(self) -> Iterator[tuple[int, ...]]:
        """Yield the signs, -1 or 1, of all factors in each run."""
        for row in self.columns():
            yield tuple(int(sign) for sign in row)

    def columns(self) -> np.ndarray:
        """Return the signs, shape (run, factor)."""
        signs = np.array(list(itertools.product((-1, 1), repeat=len(self.base))))
        place = {name: column for column, name in enumerate(self.base)}
        words = [(name,) for name in self.base] + list(self.generators.values())
        return np.stack([signs[:, [place[n] for n in word]].prod(1) for word in words], axis=1)
