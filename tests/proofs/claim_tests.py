"""Single tests of claims 7, 16, 19 and 21 on papers with planted truths; writes the shipped table.

``python -m tests.proofs.claim_tests [PAPERS]`` writes ``data/published/claim_test_rate.csv``, but
for the rows of the rule once in force (`tests.proofs.verdict_rates` at commit 964b3d42).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.delia2026.tournament import claim_choice, of_claims
from analysis.store import open_store
from analysis.tidy.frame import Floats
from analysis.tidy.spreadsheet import to_csv
from tests.proofs.simulated.correlation import correlated
from tests.proofs.simulated.density import beside_suites, falling_p
from tests.proofs.simulated.design import Bools, Design, design_of
from tests.proofs.simulated.heritage import exchanged_p, fisher_p
from tests.proofs.simulated.papers import TRUTHS, of_tuned, papers

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "data/published/claim_test_rate.csv"
SEED, EXCHANGES = 20261126, 999


def answers(
    design: Design, made: Mapping[str, Floats], rng: np.random.Generator
) -> dict[int, dict[str, Bools]]:
    """Return which papers each test says yes of, shape (papers,) each."""
    gains = made["penultimate"]
    below = gains < 0
    printed = fisher_p(below, design.hunted, design.ours)
    by_suite = exchanged_p(below, design, design.known)
    pythia = np.asarray(design.models["suite"] == "Pythia") & design.penultimate
    rho, depth = (design.numbers(name)[pythia] for name in ("rho", "n_layers"))
    given = correlated(rho, np.exp(gains[:, pythia]), depth)
    of_depth = correlated(depth, np.exp(gains[:, pythia]))
    norms = design.weighed & design.penultimate
    return {
        7: {
            "Fisher at .001": printed < 0.001,
            "Fisher, all models, at .001": fisher_p(below, design.penultimate, design.ours) < 0.001,
            "suites exchanged": by_suite < 0.05,
            "suites exchanged, log gain": exchanged_p(gains, design, design.known) < 0.05,
        },
        16: {
            "within Pythia": (given[0] < 0) & (given[3] / 2 < 0.05),
            **_within_suites(design, gains, rng),
        },
        19: _tuned(design, made),
        21: {
            "printed tests alone": (of_depth[3] < 0.05)
            & (printed < 0.05)
            & (_rowwise(made["ratio"][:, norms], gains[:, norms], rng, exchanged=False) < 0.05),
            "units exchanged": (_exchanged(depth, gains[:, pythia], rng) < 0.05)
            & (by_suite < 0.05)
            & (_rowwise(made["ratio"][:, norms], gains[:, norms], rng, exchanged=True) < 0.05),
        },
    }


def _within_suites(design: Design, gains: Floats, rng: np.random.Generator) -> dict[str, Bools]:
    """Judge the slope on rho beside suites and log depth, by t and by exchange within suites."""
    left = beside_suites(design, gains)
    moved = np.array([left.rho[_within(left.codes, rng)] for _ in range(EXCHANGES)])
    moved -= (moved @ left.basis) @ left.basis.T
    slopes = (left.gains @ moved.T) / np.sqrt((moved**2).sum(axis=1))
    own = (left.gains @ left.rho) / np.sqrt(left.rho @ left.rho)
    p = (1 + (slopes <= own[:, None] + 1e-12).sum(axis=1)) / (EXCHANGES + 1)
    return {"within suites": falling_p(left) < 0.05, "rho exchanged within suites": p < 0.05}


def _within(codes: Floats, rng: np.random.Generator) -> Floats:
    order = np.arange(len(codes))
    for one in np.unique(codes):
        places = np.flatnonzero(codes == one)
        order[places] = rng.permutation(places)
    return order


def _tuned(design: Design, made: Mapping[str, Floats]) -> dict[str, Bools]:
    """Judge pairs of base and tuned models by their last block."""
    places = design.pairs["place"].to_numpy()
    base, tuned = made["last"][:, places], made[of_tuned("last")][:, places]
    about = base - base.mean(axis=1, keepdims=True)
    ways = [tuned[:, list(order)] for order in permutations(range(len(places)))]
    products = np.stack([(about * one).sum(axis=1) for one in ways])
    p = (products >= products[0] - 1e-12).mean(axis=0)
    return {
        "tuned models exchanged": p <= 0.05,
        "same side in all pairs": ((base > 0) == (tuned > 0)).all(axis=1),
    }


def _exchanged(x: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """Return the two-sided p of the correlation of x with each row of y, x exchanged."""
    about = x - x.mean()
    ways = np.array([rng.permutation(about) for _ in range(EXCHANGES)])
    drawn, own = np.abs(y @ ways.T), np.abs(y @ about)
    return np.asarray((1 + (drawn >= own[:, None] - 1e-12).sum(axis=1)) / (EXCHANGES + 1))


def _rowwise(x: Floats, y: Floats, rng: np.random.Generator, *, exchanged: bool) -> Floats:
    """Return the p of the correlation of each row of x with the same row of y."""
    test = (lambda a, b: _exchanged(a, b, rng)) if exchanged else (lambda a, b: correlated(a, b)[3])
    return np.array([test(a, b[None, :])[0] for a, b in zip(x, y, strict=True)])


def rates(n_papers: int) -> pd.DataFrame:
    """Return one row per claim, test and truth: `share_yes` [1], its Monte Carlo error, papers."""
    design, rng = design_of(open_store(ROOT / "data/published")), np.random.default_rng(SEED)
    rows = []
    for truth in TRUTHS:
        made = papers(design, truth, n_papers, rng)
        for claim_id, by_test in answers(design, made, rng).items():
            for test in of_claims.TESTS[claim_id]:
                share = float(by_test[test].mean())
                error = float(np.sqrt(share * (1 - share) / n_papers))
                rows.append((claim_id, test, truth, share, error, n_papers))
    names = ["claim_id", "test", "truth", "share_yes", "yes_error", "n_papers"]
    return pd.DataFrame(rows, columns=names)


def main(n_papers: int) -> int:
    """Write the table and print it."""
    table = pd.read_csv(TABLE)
    result = pd.concat([table[table["test"] == claim_choice.IN_FORCE], rates(n_papers)])
    TABLE.write_text(to_csv(result), encoding="utf-8")
    wide = result.pivot_table(
        index=["claim_id", "test"], columns="truth", values="share_yes", sort=False
    )
    print(wide.to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
