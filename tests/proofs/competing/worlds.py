"""Worlds: what is planted in a simulated paper, and whether it makes a statement true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.delia2026.tournament import criterion
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import DEPTH, SCALE, SHAPE, Layout, centred

#: Degrees of freedom of the heavy tails.
TAIL = 3


@dataclass(frozen=True, slots=True)
class World:
    """Shares of the components, and the form of what is drawn, one of `criterion.FORMS`."""

    name: str  #: what rules, or the name of a combination
    shares: Mapping[str, float]  #: of the variance; "named lab" is a component of lab
    form: str = "normal"

    def share(self, component: str) -> float:
        """Return the share of a component [1]."""
        named = self.shares.get("named lab", 0.0) if component == "lab" else 0.0
        return self.shares.get(component, 0.0) + named

    def is_true(self, statement: str, *, reverse: bool = False) -> bool:
        """Tell whether the first of a statement has the larger share, or the second."""
        first, second = (sum(map(self.share, side)) for side in criterion.STATEMENTS[statement])
        return second > first + 1e-9 if reverse else first > second + 1e-9


def worlds(
    form: str = "normal",
    alone: Sequence[str] = criterion.ALONE,
    shares: Sequence[float] = criterion.SHARES,
) -> Iterator[World]:
    """Return the worlds of the criterion in one form."""
    for name, planted in criterion.TOGETHER.items():
        yield World(name, planted, form)
    for name in alone:
        for share in shares:
            yield World(name, {name: share}, form)


def papers(layout: Layout, world: World, n_papers: int, rng: np.random.Generator) -> Floats:
    """Return simulated log gains in standard deviations, shape (papers, models)."""
    heavy = world.form == "heavy-tailed"
    left = np.sqrt(max(0.0, 1 - sum(world.shares.values())))
    result = left * _draws(rng, (n_papers, len(layout)), heavy=heavy)
    for name, share in world.shares.items():
        effect = _effect(layout, name, n_papers, rng, heavy=heavy)
        effect = effect - effect.mean(axis=1, keepdims=True)
        result += np.sqrt(share) * effect / effect.std(axis=1, keepdims=True)
    if world.form == "outlier":
        result[:, layout.aberrant] += criterion.AWAY * left
    return result


def _effect(
    layout: Layout, name: str, n_papers: int, rng: np.random.Generator, *, heavy: bool
) -> Floats:
    def of_levels(codes: Integers) -> Floats:
        return _draws(rng, (n_papers, int(codes.max()) + 1), heavy=heavy)[:, codes]

    if name == "lab":
        return of_levels(layout.labs)
    if name == "suite":
        return of_levels(layout.suites)
    if name == "named lab":
        return np.tile(-(layout.labs == layout.named).astype(float), (n_papers, 1))
    if name == "shape":
        columns = centred(layout.models[list(SHAPE)].to_numpy(dtype=np.float64))
        return rng.standard_normal((n_papers, len(SHAPE))) @ (columns / columns.std(axis=0)).T
    values = {"depth": np.log(layout.models[DEPTH]), "scale": layout.models[SCALE]}[name]
    return np.tile(-values.to_numpy(dtype=np.float64), (n_papers, 1))


def _draws(rng: np.random.Generator, shape: tuple[int, int], *, heavy: bool) -> Floats:
    if not heavy:
        return rng.standard_normal(shape)
    return rng.standard_t(TAIL, shape) * np.sqrt((TAIL - 2) / TAIL)
