"""Claim 21 in simulated papers: each of the three laws has p < 0.05."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check
from analysis.delia2026.record.claims_printed import LEVEL
from analysis.tidy.defaults import BAND
from analysis.tidy.frame import Floats
from tests.proofs.simulated.correlation import correlated
from tests.proofs.simulated.design import Bools, Design
from tests.proofs.simulated.heritage import exchanged_p, fisher_p

FIRST, SECOND, THIRD = "depth", "heritage", "spectral signature"
#: Sets of `sets` in which labels are exchanged between suites.
SUITES = ("hunt", "every", "joined")


def three_laws_checks(
    design: Design, log_gains: Mapping[str, Floats], *, wrong_labels: bool
) -> list[list[Check]]:
    """Return the checks of claim 21, each over all papers, the printed p of a law first.

    The printed p of heritage is Fisher's of the hunt; the third law is printed without one.
    """
    n_papers = len(log_gains["penultimate"])
    unprinted = evidence.missing(THIRD, "as printed", "no p and no test are printed")
    return [
        *_significant(FIRST, _of_depth(design, log_gains, wrong_labels=wrong_labels)),
        *_significant(SECOND, _of_heritage(design, log_gains["penultimate"])),
        [unprinted] * n_papers,
        *_significant(THIRD, _of_norms(design, log_gains)),
    ]


#: What a reading is called, its p in each paper, and whether it can reach the level.
Tested = tuple[str, Floats, bool]


def _significant(part: str, tested: Iterator[Tested]) -> list[list[Check]]:
    return [
        [
            evidence.missing(part, name, "the table has an empty margin")
            if np.isnan(p)
            else Check(
                part, name, bool(p < LEVEL) if is_able else None, p_value=float(p), method=name
            )
            for p in p_values
        ]
        for name, p_values, is_able in tested
    ]


def _of_depth(
    design: Design, log_gains: Mapping[str, Floats], *, wrong_labels: bool
) -> Iterator[Tested]:
    pythia = np.asarray(design.models["suite"] == "Pythia") & design.penultimate
    depth, rho = (design.numbers(name)[pythia] for name in ("n_layers", "rho"))
    gains = {name: np.exp(log_gains[name][:, pythia]) for name in ("penultimate", "largest")}
    printed = correlated(rho if wrong_labels else depth, gains["penultimate"])[3]
    yield "printed r", printed, True
    for name, of_models in gains.items():
        yield f"r of depth, {name}", correlated(depth, of_models)[3], True


def _of_heritage(design: Design, log_gains: Floats) -> Iterator[Tested]:
    below = log_gains < 0
    yield "printed shares", fisher_p(below, sets(design)["hunt"], design.ours), True
    for name, chosen in sets(design).items():
        clear = np.abs(log_gains) >= BAND if "clear" in name else np.ones_like(below)
        yield f"Fisher; {name}", fisher_p(below, chosen & clear, design.ours), True
    for name in SUITES:
        yield f"suites; {name}", exchanged_p(below, design, sets(design)[name]), True


def _of_norms(design: Design, log_gains: Mapping[str, Floats]) -> Iterator[Tested]:
    both = design.weighed & design.penultimate
    logs, ratio = log_gains["penultimate"][:, both], log_gains["ratio"][:, both]
    yield "ratio by sign", grouped_p(ratio, logs < 0), False
    r_p = np.array([correlated(x, y[None, :])[3][0] for x, y in zip(ratio, logs, strict=True)])
    yield "ratio and gain", r_p, True
    value = design.spread * log_gains["value"][:, design.weighed]
    ours = design.ours[design.weighed]
    is_ours = np.broadcast_to(ours, value.shape)
    yield "|W_V| by lab", grouped_p(np.exp(value), is_ours), True
    yield "log |W_V| by lab", grouped_p(value, is_ours), True
    codes, names = pd.factorize(design.models["suite"][design.weighed])
    of_suite = np.eye(len(names))[codes]
    means = np.exp(value) @ (of_suite / of_suite.sum(axis=0))
    suites_ours = np.broadcast_to((ours @ of_suite) > 0, means.shape)
    yield "|W_V| by lab, suites", grouped_p(means, suites_ours), False


def sets(design: Design) -> dict[str, Bools]:
    """Return which models are in each reading of heritage, as `readings.model_sets` has them."""
    every, joined = design.penultimate, design.known
    return {
        **{"hunt": design.hunted, "hunt, kept": design.hunted & design.pre_norm},
        **{"hunt, clear": design.hunted, "every": every, "every, kept": every & design.pre_norm},
        **{"joined": joined, "joined, kept": joined & design.pre_norm, "joined, clear": joined},
    }


def grouped_p(values: Floats, group: Bools) -> Floats:
    """Return the exact two-sided p of the difference of two groups' means, NaN without both.

    ``values`` and ``group`` have shape (papers, units); all ways to choose as many units count.
    """
    n_units = values.shape[1]
    result = np.full(len(values), np.nan)
    for size in range(1, n_units):
        rows = group.sum(axis=1) == size
        ways = np.array(
            [np.isin(np.arange(n_units), chosen) for chosen in combinations(range(n_units), size)]
        )
        weights = np.where(ways, 1 / size, -1 / (n_units - size))
        differences = np.abs(values[rows] @ weights.T)
        single = np.where(group[rows], 1 / size, -1 / (n_units - size))
        observed = np.abs((values[rows] * single).sum(axis=1))
        result[rows] = (differences >= observed[:, None] * (1 - 1e-12)).mean(axis=1)
    return result
