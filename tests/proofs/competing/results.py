"""How often the profile likelihood says yes and no, by layout, world and statement."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from analysis.delia2026.tournament.designs import RULE
from tests.proofs.competing import lattice
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, papers


def rates(layout: Layout, worlds: Iterable[World], n_papers: int, seed: int) -> pd.DataFrame:
    """Return rows of table ``rule_rate``: how often the rule answers what of each statement.

    Every world has draws of its own, so that it comes again alone.
    """
    shares = lattice.lattice(layout)
    rows = []
    for world in worlds:
        rng = np.random.default_rng([seed, *f"{world}".encode()])
        answers = lattice.profile_likelihood(shares, papers(layout, world, n_papers, rng))
        for statement, result in answers.items():
            yes, no = float((result > 0).mean()), float((result < 0).mean())
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
                    "rule": RULE,
                    "share_yes": yes,
                    "yes_error": _error(yes, n_papers),
                    "share_no": no,
                    "no_error": _error(no, n_papers),
                    "n_papers": n_papers,
                }
            )
    return pd.DataFrame(rows)


def replaced(shipped: pd.DataFrame, result: pd.DataFrame) -> pd.DataFrame:
    """Return the shipped table with the rule's rows of the layouts of a result replaced."""
    is_again = (shipped["rule"] == RULE) & shipped["layout"].isin(result["layout"])
    return pd.concat([shipped[~is_again], result], ignore_index=True)


def _truth(world: World, statement: str) -> str:
    if world.is_true(statement):
        return "yes"
    return "no" if world.is_true(statement, reverse=True) else "tie"


def _error(share: float, n: int) -> float:
    return float(np.sqrt(share * (1 - share) / n))
