"""The tournament: how often every rule says yes and no, by layout, world and statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pandas as pd

from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing import beliefs, exact, lattice
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, papers

#: From papers to yes (1), no (-1) or neither (0) of every statement.
Answers = dict[str, Integers]
Rule = Callable[[Floats], Answers]
#: The rules that the criterion chose, and that which judges lists; the others lost and are at
#: commit 76e9150f.
RULES = (
    "parametric bootstrap",  # draws first, as it did at that commit
    "profile likelihood",
    "exact bounds",
    "posterior of new levels",
)


def rules(layout: Layout, rng: np.random.Generator, names: Iterable[str]) -> dict[str, Rule]:
    """Return the named rules, prepared for a layout."""
    of_shares = lattice.lattice(layout)
    prepare: dict[str, Callable[[], Rule]] = {
        "profile likelihood": lambda: partial(lattice.profile_likelihood, of_shares),
        "exact bounds": lambda: partial(exact.exact_bounds, exact.sides_of(layout, rng)),
        "parametric bootstrap": lambda: partial(
            lattice.parametric_bootstrap, of_shares, lattice.ties(of_shares, rng)
        ),
        "posterior of new levels": lambda: partial(
            beliefs.of_new_levels, beliefs.quadrature(layout)
        ),
    }
    return {name: prepare[name]() for name in RULES if name in names}


def rates(
    layout: Layout,
    worlds: Iterable[World],
    n_papers: int,
    seed: int,
    *,
    names: Iterable[str] = RULES,
) -> pd.DataFrame:
    """Return how often each rule answers what, one row per world, statement and rule.

    Every world has draws of its own, so that it comes again alone.

    Returns
    -------
    `layout`, `n_models`, `n_suites`, `world`, `share` (of the first component planted), `form`,
    `statement`, `truth` (yes, no, or tie), `rule`, `share_yes`, `share_no` (of papers) with
    `yes_error`, `no_error` (Monte Carlo standard errors), `n_papers`.
    """
    judges = rules(layout, np.random.default_rng(seed), names)
    rows = []
    for world in worlds:
        rng = np.random.default_rng([seed, *f"{world}".encode()])
        made = papers(layout, world, n_papers, rng)
        for rule, judge in judges.items():
            for statement, answers in judge(made).items():
                yes, no = float((answers > 0).mean()), float((answers < 0).mean())
                rows.append(
                    {
                        "layout": layout.name,
                        "n_models": len(layout),
                        "n_suites": int(layout.suites.max()) + 1,
                        "world": world.name,
                        "share": max(world.shares.values(), default=0.0),
                        "form": world.form,
                        "statement": statement,
                        "truth": _truth(world, statement),
                        "rule": rule,
                        "share_yes": yes,
                        "yes_error": _error(yes, n_papers),
                        "share_no": no,
                        "no_error": _error(no, n_papers),
                        "n_papers": n_papers,
                    }
                )
    return pd.DataFrame(rows)


def _truth(world: World, statement: str) -> str:
    if world.is_true(statement):
        return "yes"
    return "no" if world.is_true(statement, reverse=True) else "tie"


def _error(share: float, n: int) -> float:
    return float(np.sqrt(share * (1 - share) / n))
