"""Whether intervals of predictions hold what they are for as often as they promise.

``python -m tests.proofs.known_levels 1000 [WORD]`` draws responses and effects of linear and
binomial designs (of those whose name has the word), fits each, and counts how often 95 % intervals
hold the mean at fitted levels, an observation there, one where the first group's level is new, and
one where all are; of a binomial the probability. A count's error is the standard deviation of a
draw's share of rows held over the root of the draws. The exit code is 1 if the coverage at fitted
levels in one of the six `LINEAR` is not .94 to .96; the others show the limits.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from analysis import mixed
from analysis.mixed.binomial import BinomialModel
from analysis.tidy.frame import Floats

SEED = 20261125

#: Responses that are fitted in one pass.
BATCH = 50

#: What the coverage at fitted levels may be.
LEAST, MOST = 0.94, 0.96


@dataclass(frozen=True)
class Group:
    """A grouping column and the deviations of its intercepts and slopes, which correlate by .3."""

    column: str
    intercept: float
    slope: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """A design: its formula without the response, its rows and its groups."""

    name: str
    formula: str
    rows: pd.DataFrame
    groups: tuple[Group, ...]
    weights: str | None = None


def effects(design: Drawn, rng: np.random.Generator) -> list[Floats]:
    """Return what each group adds to every row, levels drawn anew."""
    parts = []
    for group in design.groups:
        codes, levels = pd.factorize(design.rows[group.column])
        first, other = rng.normal(size=(2, len(levels)))
        slopes = group.slope * (0.3 * first + np.sqrt(1 - 0.3**2) * other)
        parts.append((group.intercept * first)[codes] + slopes[codes] * design.rows["x"].to_numpy())
    return parts


def held(found: pd.DataFrame, low: str, high: str, truth: Floats) -> float:
    """Return the share of rows whose interval holds the truth."""
    return float(((found[low] <= truth) & (truth <= found[high])).mean())


def linear(design: Drawn, rng: np.random.Generator, n_draws: int) -> list[dict[str, float]]:
    """Return the shares held in draws of one design; the fixed part is zero and sigma is one."""
    n = len(design.rows)
    weights = design.rows[design.weights].to_numpy() if design.weights else np.ones(n)
    parts = [effects(design, rng) for _ in range(n_draws)]
    drawn = {
        f"y{place}": np.sum(each, axis=0) + rng.normal(size=n) / np.sqrt(weights)
        for place, each in enumerate(parts)
    }
    rows = design.rows.assign(**drawn)
    models = [
        mixed.fit(f"{name} ~ {design.formula}", rows, weights=design.weights) for name in drawn
    ]
    observed, result = ("predicted_low", "predicted_high"), []
    for model, each in zip(models, parts, strict=True):
        others, mean = effects(design, rng), np.sum(each, axis=0)
        known, partly = known_and_partly(model, design)
        truths = {
            "observation": (known, mean),
            "first new": (partly, mean - each[0] + others[0]),
            "all new": (model.predict(design.rows), np.sum(others, axis=0)),
        }
        shares = {"mean": held(known, "conf_low", "conf_high", mean)}
        for name, (found, truth) in truths.items():
            shares[name] = held(found, *observed, truth + rng.normal(size=n))
        result.append(shares)
    return result


def binomial(design: Drawn, rng: np.random.Generator, n_draws: int) -> list[dict[str, float]]:
    """Return the shares held in draws of a binary response; the fixed part is zero."""
    result = []
    for _ in range(n_draws):
        parts, others = effects(design, rng), effects(design, rng)
        truths = expit(np.sum(parts, axis=0)), expit(np.sum([others[0], *parts[1:]], axis=0))
        drawn = design.rows.assign(y=rng.random(len(truths[0])) < truths[0])
        both = known_and_partly(mixed.fit_binomial(f"y ~ {design.formula}", drawn), design)
        shares = [
            held(found, "conf_low", "conf_high", truth)
            for found, truth in zip(both, truths, strict=True)
        ]
        result.append(dict(zip(("mean", "first new"), shares, strict=True)))
    return result


def known_and_partly(
    model: mixed.MixedModel | BinomialModel, design: Drawn
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return predictions of the rows, and of the rows with a new level of the first group."""
    rows, n = design.rows, len(design.rows)
    partly = rows.assign(**{design.groups[0].column: "never fitted"})
    found = model.predict(pd.concat([rows, partly], ignore_index=True), groups="known")
    return found[:n], found[n:]


def crossing(*sizes: int, n: int) -> pd.DataFrame:
    """Return n rows in every cell of factors a, b, ... with so many levels, x from -1 to 1."""
    cells = np.indices(sizes).reshape(len(sizes), -1).repeat(n, axis=1)
    rows = pd.DataFrame({"ab"[k]: [f"{'ab'[k]}{i}" for i in code] for k, code in enumerate(cells)})
    rows["ab"] = rows["a"] + rows.get("b", "")
    return rows.assign(x=np.tile(np.linspace(-1, 1, n), int(np.prod(sizes))))


def thinned(rows: pd.DataFrame, column: str, share: float) -> pd.DataFrame:
    """Return ever fewer rows of the later levels, to a share of the last, x spread in each."""
    places = rows.groupby("ab").cumcount()
    codes = pd.factorize(rows[column])[0]
    spread = (places * (np.sqrt(5) - 1) / 2) % 1
    return rows[spread < share ** (codes / codes.max())].reset_index(drop=True)


LINEAR = (
    Drawn("one-way, 3 x 30", "1 + (1 | a)", crossing(3, n=30), (Group("a", 2.0),)),
    Drawn(
        "one-way, 8 x 40 to 4",
        "1 + (1 | a)",
        thinned(crossing(8, n=40), "a", 0.1),
        (Group("a", 1.0),),
    ),
    Drawn(
        "nested, 6 x 4 x 10 to 2",
        "x + (1 | a / b)",
        thinned(crossing(6, 4, n=10), "b", 0.2),
        (Group("a", 1.0), Group("ab", 1.0)),
    ),
    Drawn(
        "crossed, 5 x 6 x 5",
        "x + (1 | a) + (1 | b)",
        crossing(5, 6, n=5),
        (Group("a", 1.0), Group("b", 1.0)),
    ),
    Drawn(
        "crossed, 6 x 8 x 8 to 2, weighted",
        "x + (1 | a) + (1 | b)",
        thinned(crossing(6, 8, n=8), "a", 0.25).assign(w=lambda rows: 1.5 + rows["x"]),
        (Group("a", 1.0), Group("b", 0.7)),
        "w",
    ),
    Drawn(
        "slopes, 20 x 20 to 5",
        "x + (1 + x | a)",
        thinned(crossing(20, n=20), "a", 0.25),
        (Group("a", 1.0, 1.0),),
    ),
)
#: Theta is held in the standard error of the mean: of few groups, whose variance is sometimes
#: estimated near zero, it is too small.
FEW = (
    Drawn("few groups, 3 x 30", "1 + (1 | a)", crossing(3, n=30), (Group("a", 1.0),)),
    Drawn(
        "few groups, slopes, 10 x 20 to 5",
        "x + (1 + x | a)",
        thinned(crossing(10, n=20), "a", 0.25),
        (Group("a", 1.0, 1.0),),
    ),
)
BINOMIAL = (
    Drawn("binomial, one-way, 12 x 30", "1 + (1 | a)", crossing(12, n=30), (Group("a", 1.0),)),
    Drawn(
        "binomial, crossed, 10 x 12 x 5",
        "x + (1 | a) + (1 | b)",
        crossing(10, 12, n=5),
        (Group("a", 1.0), Group("b", 1.0)),
    ),
)


def main(n_draws: int, word: str = "") -> int:
    """Print the coverage in every design whose name has the word, and return the exit code."""
    failed = False
    print(f"{n_draws} draws each, seed {SEED}, intervals at 95 %")
    for design in (each for each in (*LINEAR, *FEW, *BINOMIAL) if word in each.name):
        rng, once = np.random.default_rng(SEED), binomial if "binomial" in design.name else linear
        sizes = [min(BATCH, n_draws - start) for start in range(0, n_draws, BATCH)]
        shares = pd.DataFrame([each for size in sizes for each in once(design, rng, size)])
        error = shares.std() / np.sqrt(n_draws)
        told = (f"{name} {shares[name].mean():.4f} ({error[name]:.4f})" for name in shares)
        print(f"{design.name}: {', '.join(told)}", flush=True)
        if any(design is each for each in LINEAR):
            means = shares[["mean", "observation"]].mean()
            failed |= not means.between(LEAST, MOST).all()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:3]))
