"""The tournament: how often every rule says yes and no, by layout, world and statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from analysis.delia2026.tournament import criterion
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing import beliefs, exact, fits, lattice, shares
from tests.proofs.competing.layouts import Layout
from tests.proofs.competing.worlds import World, papers

ModelMethods = dict[str, Integers]
#: A rule: from papers to yes (1), no (-1) or neither (0) of every statement.
#: Rules whose forms are as large as the square of the rows, and the most rows they are tried with.
RESAMPLING = {"permutation", "bootstrap of suites", "bootstrap of labs"}
MOST_ROWS = 120
Rule = Callable[[Floats, np.random.Generator], ModelMethods]


def rules(
    layout: Layout, rng: np.random.Generator, *, names: Iterable[str] = criterion.RULES
) -> Callable[[Floats, np.random.Generator], dict[str, ModelMethods]]:
    """Return the rules prepared for a layout: from papers and draws to the answers of each."""
    chosen = set(names) - (RESAMPLING if len(layout) > MOST_ROWS else set())
    of_shares = lattice.lattice(layout)
    drawn = "parametric bootstrap" in chosen
    tied = lattice.ties(of_shares, rng) if drawn else {}
    is_believed = bool(chosen & {"posterior of new levels", "posterior of these levels"})
    nodes = beliefs.quadrature(layout) if is_believed else None
    of_labels = shares.prepared(layout, rng) if chosen & RESAMPLING else None
    prepared = exact.sides_of(layout, rng) if "exact bounds" in chosen else {}
    single: dict[str, Rule] = {
        "exact ratio": lambda y, rng: exact.exact_ratio(layout, y, rng),
        "prediction": lambda y, _: fits.prediction(layout, y),
        "least squares": lambda y, rng: fits.least_squares(layout, y, rng),
        "profile likelihood": lambda y, _: lattice.profile_likelihood(of_shares, y),
        "exact bounds": lambda y, _: exact.exact_bounds(prepared, y),
        "parametric bootstrap": lambda y, _: lattice.parametric_bootstrap(of_shares, tied, y),
    }

    if of_labels is not None:
        labels = of_labels
        single |= {
            "permutation": lambda y, _: shares.permutation(labels.exchanged, y),
            "bootstrap of suites": lambda y, _: shares.bootstrap(labels.suites, labels.leads, y),
            "bootstrap of labs": lambda y, _: shares.bootstrap(labels.labs, labels.leads, y),
        }

    def judged(responses: Floats, draws: np.random.Generator) -> dict[str, ModelMethods]:
        result = {name: rule(responses, draws) for name, rule in single.items() if name in chosen}
        if nodes is not None and "posterior of these levels" not in chosen:
            result["posterior of new levels"] = beliefs.of_new_levels(nodes, responses)
        elif nodes is not None:
            new, here = beliefs.posteriors(nodes, responses)
            result |= {"posterior of new levels": new, "posterior of these levels": here}
        return {name: result[name] for name in criterion.RULES if name in result}

    return judged


def rates(
    layout: Layout,
    worlds: Iterable[World],
    n_papers: int,
    seed: int,
    *,
    names: Iterable[str] = criterion.RULES,
) -> pd.DataFrame:
    """Return table ``rule_rate``: how often each rule answers what of each world and statement.

    Every world has draws of its own, so that it comes again alone.
    """
    judge = rules(layout, np.random.default_rng(seed), names=names)
    rows = []
    for world in worlds:
        rng = np.random.default_rng([seed, *f"{world}".encode()])
        for rule, answers in judge(papers(layout, world, n_papers, rng), rng).items():
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
