"""Simulated papers: log gains of the real models in which one thing rules, and what goes with it.

Norms of weights go with what rules the gains, larger where gains are smaller, as the paper has it.
A tuned model keeps what rules and draws the rest anew; where nothing rules it keeps nothing.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.pages.verdict_rule import RULING, SHORT
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Design

#: What rules the gains of a paper.
TRUTHS = ("heritage", "depth", "recipe", "nothing", "density", "hierarchy", "three laws")
#: Truths in which several things rule, with the parts of each in what rules.
TOGETHER = {
    "hierarchy": {"lab": 12, "depth": 5, "scale": 1},
    "three laws": {"heritage": 1, "depth": 1},
}
#: Standard deviation of log gain over models [nat], as in the penultimate blocks of the paper.
SPREAD = 0.12
#: Correlation of what does not rule between two definitions of gain.
SHARED = 0.7
DEFINITIONS = ("penultimate", "largest", "over_blocks", "last")
#: Definitions of which tuned models are published too.
TUNED = ("last", "over_blocks")
#: Logarithms of norms that a paper reports of its models, in standard deviations over models.
NORMS = ("ratio", "value")


def of_tuned(definition: str) -> str:
    """Return the name of a definition of gain in tuned models."""
    return f"tuned {definition}"


def of_level(definition: str) -> str:
    """Return the name of a gain with a level of its own, which a bound speaks of."""
    return f"level of {definition}"


def papers(
    design: Design, truth: str, n_papers: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return log gains of simulated papers by definition, shape (papers, models) each [nat].

    Besides `DEFINITIONS` there are those of tuned models and of levels, and norms [SD]. Levels are
    the gains themselves, with mean 1, except where depth rules: there the largest gain of a block
    follows 10^(1/L), short by at most a tenth or so, and other gains lie below that bound.
    """
    n_models = len(design.models)
    effect = _effect(design, truth, n_papers, rng)
    ruled = effect.std(axis=1, keepdims=True) > 0
    shared = rng.standard_normal((n_papers, n_models))
    rest = SPREAD * np.sqrt(np.where(ruled, 1 - RULING, 1.0))
    result = {}
    for name in DEFINITIONS:
        single = rng.standard_normal((n_papers, n_models))
        noise = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * single
        result[name] = SPREAD * np.sqrt(RULING) * effect + rest * noise
    for name in TUNED:
        noise = rng.standard_normal((n_papers, n_models))
        result[of_tuned(name)] = SPREAD * np.sqrt(RULING) * effect + rest * noise
    for name in NORMS:
        noise = rng.standard_normal((n_papers, n_models))
        result[name] = rest / SPREAD * noise - np.sqrt(RULING) * effect
    bound = np.log(10) / design.numbers("n_layers")
    for name in ("largest", "penultimate", "last"):
        short = np.abs(rng.standard_normal((n_papers, n_models)))
        lawful = bound - (SHORT * bound if name == "largest" else SPREAD) * short
        result[of_level(name)] = lawful if truth == "depth" else result[name]
    return result


def _effect(design: Design, truth: str, n_papers: int, rng: np.random.Generator) -> Floats:
    """Return what rules, with mean 0 and standard deviation 1 over models in each paper."""
    if truth in TOGETHER:
        effect = sum(
            np.sqrt(part) * _effect(design, each, n_papers, rng)
            for each, part in TOGETHER[truth].items()
        )
    elif truth == "heritage":
        effect = np.tile(-design.ours.astype(np.float64), (n_papers, 1))
    elif truth == "depth":
        effect = np.tile(-np.log(design.numbers("n_layers")), (n_papers, 1))
    elif truth in ("density", "scale"):
        name = {"density": "rho", "scale": "log_parameters"}[truth]
        # Of models with norms alone nothing but the depth is known: they lie at the mean.
        values = design.models[name].astype("float64")
        effect = np.tile(-values.fillna(values.mean()).to_numpy(), (n_papers, 1))
    elif truth in ("recipe", "lab"):
        codes, levels = pd.factorize(design.models["suite" if truth == "recipe" else "lab"])
        effect = rng.standard_normal((n_papers, len(levels)))[:, codes]
    else:
        effect = np.zeros((n_papers, len(design.models)))
    centred = effect - effect.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    return np.asarray(centred / np.where(spread > 0, spread, 1))
