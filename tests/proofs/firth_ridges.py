"""Ends of Firth's intervals under separation against a search from many starts.

Every end is where the profile, the highest penalised likelihood with that coefficient held, equals
its critical value: the coefficients of our end must have that value, no start may find a higher
maximum there, and none a higher one with every coefficient free. The starts are coefficients in
random directions, of sizes from a third of a logit to fifty, and the estimate scaled up; they are
ordered by a likelihood that is written here from its formula, and climbed from by scipy's BFGS.
Ends that the starts do not reach (they find lower ridges) are counted.

    python -m tests.proofs.firth_ridges --sets 100 --starts 3000 --seed 1
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from analysis.inference.association import firth as ours
from analysis.inference.association.penalised import maximise
from analysis.inference.association.ridges import highest as highest_of_ours
from analysis.tidy.frame import Floats

CLIMBED = 6

CRITICAL = float(stats.chi2.ppf(0.95, 1))

#: A likelihood higher by more than this is another maximum; BFGS arrives to about 1e-8.
TOLERANCE = 1e-5


def separated(rng: np.random.Generator) -> pd.DataFrame:
    """Return 16 to 60 rows that two to four predictors, factors among them, separate."""
    n_rows, n_columns = int(rng.integers(16, 61)), int(rng.integers(2, 5))
    while True:
        columns = rng.normal(size=(n_rows, n_columns))
        if rng.random() < 0.3:
            columns[:, 0] = columns[:, 0] > 0
        linear = columns @ rng.normal(size=n_columns) + 0.3 * rng.normal()
        outcome = linear > 0
        if 3 <= outcome.sum() <= n_rows - 3:
            return pd.DataFrame(columns, columns=list("abcd")[:n_columns]).assign(y=outcome * 1)


def penalised(design: Floats, response: Floats, coefficients: Floats) -> Floats:
    """Return l + log|X'WX| / 2 for coefficients of shape (starts, p)."""
    linear = coefficients @ design.T
    fit = log_expit(np.where(response == 1, linear, -linear)).sum(axis=1)
    weights = expit(linear) * expit(-linear)
    roots = np.sqrt(weights)[:, :, None] * design
    sizes = np.linalg.svd(roots, compute_uv=False)
    with np.errstate(divide="ignore"):
        return np.asarray(fit + np.log(sizes).sum(axis=1))


def highest(
    design: Floats, response: Floats, starts: Floats, held: int | None, value: float
) -> float:
    """Return the highest penalised likelihood that the starts lead to."""
    free = [column for column in range(design.shape[1]) if column != held]
    starts = starts.copy()
    if held is not None:
        starts[:, held] = value
    values = np.concatenate(
        [penalised(design, response, part) for part in np.array_split(starts, 20)]
    )

    def negative(part: Floats) -> float:
        whole = np.full((1, design.shape[1]), value)
        whole[0, free] = part
        return -float(penalised(design, response, whole)[0])

    best = np.argsort(-values)[:CLIMBED]
    return max(
        -float(minimize(negative, starts[start, free], method="BFGS", options={"gtol": 1e-7}).fun)
        for start in best
    )


def excesses(
    frame: pd.DataFrame, n_starts: int, rng: np.random.Generator
) -> Iterator[tuple[str, float, float]]:
    """Yield, of the maximum and each end, how far ours and the starts' lie below their value."""
    names = list(frame.columns[:-1])
    rows = ours.firth(frame, "y ~ " + " + ".join(names))
    design = np.column_stack([np.ones(len(frame)), frame[names]])
    response = frame["y"].to_numpy(dtype=float)
    estimate = rows["estimate"].to_numpy()
    top = float(penalised(design, response, estimate[None])[0])
    sizes = np.exp(rng.uniform(-1, 4, size=(n_starts, 1)))
    starts = rng.normal(size=(n_starts, design.shape[1])) * sizes
    scaled = estimate * np.linspace(0.5, 8, 31)[:, None]
    starts = np.concatenate([scaled, starts])
    yield "maximum", 0.0, 2 * (top - highest(design, response, starts, None, 0.0))
    for held, row in enumerate(rows.to_dict("records")):
        for side, sign in (("conf_low", -1), ("conf_high", 1)):
            own = own_excess(design, response, held, sign * row["std_error"])
            found = highest(design, response, starts, held, row[side])
            theirs = 2 * (top - found) - CRITICAL
            yield f"{row['term']} {side} {row[side]:.5g}", own, theirs


def own_excess(design: Floats, response: Floats, held: int, reach: float) -> float:
    """Return by how much the ratio exceeds its critical value at the coefficients of our end."""
    turned, unit = ours.turned(design, held)
    best = highest_of_ours(turned, response, (maximise(turned, response),))
    point = ours.end(turned, response, best, reach * unit, CRITICAL)
    pair = np.array([best.coefficients, point.coefficients])
    top, value = penalised(turned, response, pair)
    return float(2 * (top - value) - CRITICAL)


def main() -> None:
    """Print one line per maximum or end that differs, and the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--starts", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    n_ends, n_faults, n_lower = 0, 0, 0
    for number in range(arguments.sets):
        frame = separated(rng)
        n_ends += 2 * frame.shape[1]
        for name, own, theirs in excesses(frame, arguments.starts, rng):
            n_lower += theirs > 2 * TOLERANCE
            if abs(own) > 2 * TOLERANCE or theirs < -2 * TOLERANCE:
                n_faults += 1
                print(
                    f"set {number}, {len(frame)} rows, {name}: {own:.5f}, {theirs:.5f}", flush=True
                )
    print(
        f"{datetime.now(UTC):%Y-%m-%d}: seed {arguments.seed}, {arguments.sets} separated sets, "
        f"{n_ends} ends, {arguments.starts} starts each: {n_faults} differ; {n_lower} that the "
        "starts do not reach"
    )
    raise SystemExit(n_faults > 0)


if __name__ == "__main__":
    main()
