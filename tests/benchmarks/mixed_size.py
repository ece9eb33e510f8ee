"""How often each test rejects: size under no effect, power under an effect, 7 labs, 24 models.

``python tests/benchmarks/mixed_size.py [SIMULATIONS]`` prints shares of p below 0.05 and 0.01
with their Monte-Carlo standard errors, of 2,000 rows by `mixed_rows` a time.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd
from mixed_rows import rows

from analysis import mixed
from analysis.mixed.model import MixedModel
from analysis.mixed.reading.statistics import Statistics

FIXED = "y ~ heritage + rho + scale + depth"
WITH_LAB = FIXED + " + (1 | lab) + (1 | model) + (1 | prompt)"
WITHOUT_LAB = FIXED + " + (1 | model) + (1 | prompt)"
MAXIMAL = FIXED + " + (1 | lab) + (1 + depth | model) + (1 | prompt)"

N_ROWS = 2_000
SEED = 5
LAB_EFFECT = 0.6  # two standard deviations among labs


def main() -> None:
    """Simulate both hypotheses and print the table."""
    n_simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"{N_ROWS} rows, 24 models, 7 labs; seed {SEED}")
    print(f"{'test':<36}{'n':>6}{'size .05':>16}{'size .01':>16}{'power .05':>16}")
    start = time.perf_counter()
    null = _p_values(0.0, n_simulations)
    alternative = _p_values(LAB_EFFECT, n_simulations)
    for name, p_values in null.items():
        cells = [_share(p_values, 0.05), _share(p_values, 0.01)]
        # The effect of depth is null in both.
        cells.append("" if name.startswith("depth") else _share(alternative[name], 0.05))
        print(f"{name:<36}{len(p_values):>6}" + "".join(f"{cell:>16}" for cell in cells))
    print(f"{time.perf_counter() - start:.0f} s")


def _simulated(lab_effect: float, rng: np.random.Generator) -> pd.DataFrame:
    deviations = {"lab": (0.30, 7), "model": (0.25, 24), "prompt": (0.20, 25), "slope": (0.15, 24)}
    effects = {name: rng.normal(0, sd, size) for name, (sd, size) in deviations.items()}
    drawn = rows(N_ROWS, rng, effects)
    # The made rows have an effect of heritage and of depth already.
    return drawn.assign(
        y=drawn["y"] + (lab_effect - 0.25) * drawn["heritage"] + 0.4 * drawn["depth"]
    )


def _p_values(lab_effect: float, n_simulations: int) -> dict[str, list[float]]:
    rng = np.random.default_rng(SEED)
    p_values: dict[str, list[float]] = {}
    for _ in range(n_simulations):
        drawn = mixed.collect_statistics(MAXIMAL, _simulated(lab_effect, rng))
        for name, p_value in _tests(drawn).items():
            p_values.setdefault(name, []).append(p_value)
    return p_values


def _tests(drawn: Statistics) -> dict[str, float]:
    """Return the p-value of every test of the lab-level effect, and of depth."""
    with_lab = mixed.fit_statistics(WITH_LAB, drawn)
    without_lab = mixed.fit_statistics(WITHOUT_LAB, drawn)
    maximal = mixed.fit_statistics(MAXIMAL, drawn)

    def of(model: MixedModel, term: str, df: str) -> float:
        contrast = np.eye(len(model.terms))[[model.terms.index(term)]]
        return float(model.inference.tests(contrast, df).p_values[0])

    return {
        "no (1|lab), Wald z": of(without_lab, "heritage", "wald"),
        "no (1|lab), Kenward-Roger": of(without_lab, "heritage", "kenward-roger"),
        "Wald z": of(with_lab, "heritage", "wald"),
        "Satterthwaite": of(with_lab, "heritage", "satterthwaite"),
        "Kenward-Roger": of(with_lab, "heritage", "kenward-roger"),
        "depth: intercepts only, KR": of(with_lab, "depth", "kenward-roger"),
        "depth: slopes by model, Satt.": of(maximal, "depth", "satterthwaite"),
        "depth: slopes by model, KR": of(maximal, "depth", "kenward-roger"),
    }


def _share(p_values: list[float], level: float) -> str:
    share = float(np.mean(np.array(p_values) <= level))
    return f"{share:.3f} ± {np.sqrt(share * (1 - share) / len(p_values)):.3f}"


if __name__ == "__main__":
    main()
