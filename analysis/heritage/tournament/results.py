"""The tournament: how often every rule says yes and no, by layout, world and statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.heritage.tournament import beliefs, criterion, exact, fits, lattice, shares
from analysis.heritage.tournament.layouts import Layout
from analysis.heritage.tournament.worlds import World, papers
from analysis.tidy.frame import Floats, Integers

Answers = dict[str, Integers]
#: A rule: from papers to yes (1), no (-1) or neither (0) of every statement.
#: Rules whose forms are as large as the square of the rows, and the most rows they are tried with.
RESAMPLING = {"permutation", "bootstrap of suites", "bootstrap of labs"}
MOST_ROWS = 120
Rule = Callable[[Floats, np.random.Generator], Answers]


def rules(
    layout: Layout, rng: np.random.Generator, *, names: Iterable[str] = criterion.RULES
) -> Callable[[Floats, np.random.Generator], dict[str, Answers]]:
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

    def judged(responses: Floats, draws: np.random.Generator) -> dict[str, Answers]:
        found = {name: rule(responses, draws) for name, rule in single.items() if name in chosen}
        if nodes is not None and "posterior of these levels" not in chosen:
            found["posterior of new levels"] = beliefs.of_new_levels(nodes, responses)
        elif nodes is not None:
            new, here = beliefs.posteriors(nodes, responses)
            found |= {"posterior of new levels": new, "posterior of these levels": here}
        return {name: found[name] for name in criterion.RULES if name in found}

    return judged


def rates(
    layout: Layout,
    worlds: Iterable[World],
    n_papers: int,
    seed: int,
    *,
    names: Iterable[str] = criterion.RULES,
) -> pd.DataFrame:
    """Return how often each rule answers what, one row per world, statement and rule.

    Every world has draws of its own, so that it comes again alone.

    Returns
    -------
    `layout`, `n_models`, `n_suites`, `world`, `share` (of the first component planted), `form`,
    `statement`, `truth` (yes, no, or tie), `rule`, `share_yes`, `share_no` (of papers) with
    `yes_error`, `no_error` (Monte Carlo standard errors), `n_papers`.
    """
    judge = rules(layout, np.random.default_rng(seed), names=names)
    rows = []
    for world in worlds:
        rng = np.random.default_rng([seed, *f"{world}".encode()])
        for rule, answers in judge(papers(layout, world, n_papers, rng), rng).items():
            for statement, found in answers.items():
                yes, no = float((found > 0).mean()), float((found < 0).mean())
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


def choice(found: pd.DataFrame) -> pd.DataFrame:
    """Return what the criterion says of every rule and statement on the present layout.

    Returns
    -------
    One row per statement and rule: `worst` (largest share of a false answer) in `worst_world`,
    `is_sized` (whether the criterion lets it be), `power` (mean share of yes where true) with
    `power_error`, `is_best`, and `is_chosen`.
    """
    present = found[found["layout"] == "present"]
    parts = []
    for statement, rows in present.groupby("statement", sort=False):
        table = pd.DataFrame([_of_rule(str(rule), own) for rule, own in rows.groupby("rule")])
        order = table["rule"].map(list(criterion.RULES).index)
        table = table.assign(statement=statement, order=order).sort_values("order")
        sized = table[table["is_sized"]]
        best = sized.loc[sized["power"].idxmax()] if len(sized) else None
        near = [] if best is None else _equal(sized, best)
        chosen = _chosen(table, near)
        parts.append(
            table.assign(is_best=table["rule"].isin(near), is_chosen=table["rule"] == chosen).drop(
                columns="order"
            )
        )
    return pd.concat(parts, ignore_index=True)


TODAY = "bootstrap of suites"


def _chosen(table: pd.DataFrame, near: list[str]) -> str:
    """Return the first of the equal rules, or today's where that is not clearly beaten."""
    if not near:
        return TODAY
    rows = table.set_index("rule")
    today, winner = rows.loc[TODAY], rows.loc[near[0]]
    apart = 2 * float(np.hypot(winner["power_error"], today["power_error"]))
    is_beaten = winner["power"] > today["power"] + apart or not today["is_sized"]
    return near[0] if is_beaten else TODAY


def _equal(sized: pd.DataFrame, best: pd.Series[Any]) -> list[str]:
    apart = 2 * np.hypot(sized["power_error"], float(best["power_error"]))
    return list(sized.loc[sized["power"] >= float(best["power"]) - apart, "rule"])


def _of_rule(rule: str, rows: pd.DataFrame) -> dict[str, object]:
    """Return size and power of one rule for one statement."""
    about = ["world", "share", "form", "n_papers"]
    wrong = pd.concat(
        [
            rows.loc[rows["truth"] != truth, [*about, f"share_{truth}"]].rename(
                columns={f"share_{truth}": "wrong"}
            )
            for truth in ("yes", "no")
        ]
    )
    first = wrong.sort_values("wrong", ascending=False).iloc[0]
    right = rows[rows["truth"] == "yes"]
    least = _least(wrong["wrong"].to_numpy(), wrong["n_papers"].to_numpy())
    return {
        "rule": rule,
        "worst": float(first["wrong"]),
        "worst_world": f"{first['world']} {first['share']:g}, {first['form']}",
        "is_sized": bool(least.max() <= criterion.LEVEL),
        "power": float(right["share_yes"].mean()),
        "power_error": float(np.sqrt((right["yes_error"] ** 2).sum())) / len(right),
    }


def _least(share: Floats, n: Integers) -> Floats:
    """Return the lower ends of Wilson's one-sided intervals."""
    z = stats.norm.ppf(criterion.SURE)
    middle = share + z**2 / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.asarray((middle - half) / (1 + z**2 / n))
