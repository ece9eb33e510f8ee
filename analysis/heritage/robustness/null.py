"""What the tests of position do where suites are alike: rows drawn anew at this very design.

Models keep their numbers of blocks and suites. Their means in the parts of depth are drawn about
the slopes by depth alone, with the covariance between models that was fitted; single blocks are
drawn about these with the deviation of their own part, as the first and last parts vary most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from analysis.heritage.robustness import suites_by_block as suites
from analysis.heritage.robustness.blocks import in_parts
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, require_count

#: Levels at which the share of rejections is counted.
ALPHAS = (0.01, 0.05)


def alike(blocks: pd.DataFrame, cut: str = "quarter") -> Callable[[np.random.Generator], Floats]:
    """Return a source of log gains for the rows of ``in_parts(blocks, cut)``, suites alike.

    Parameters
    ----------
    blocks
        As `blocks.published_blocks` returns them.
    cut
        ``quarter`` or ``distance``.
    """
    rows = in_parts(blocks, cut)
    model = suites.fit(blocks, cut)
    modes = model.inference.modes[0]
    names = [column.name for column in modes.block.columns]
    part = pd.Categorical(rows["part"], [_part(name) for name in names]).codes
    models = pd.factorize(rows["model_id"])[0]
    means = pd.DataFrame({"part": part, "n_layers": rows["n_layers"], "y": rows["log_gain"]})
    fitted = np.zeros(len(rows))
    for _, group in means.groupby("part"):
        design = np.column_stack([np.ones(len(group)), group["n_layers"]])
        fitted[group.index] = design @ np.linalg.lstsq(design, group["y"].to_numpy())[0]
    within = rows["log_gain"] - rows.groupby(["model_id", "part"])["log_gain"].transform("mean")
    cells = rows.groupby("part")["model_id"].nunique()
    spread = within.groupby(rows["part"]).apply(lambda e: np.square(e).sum() / len(e))
    spread *= rows.groupby("part").size() / (rows.groupby("part").size() - cells)
    noise = np.sqrt(rows["part"].map(spread).to_numpy(dtype=np.float64))
    root = _root(modes.covariance)

    def draw(rng: np.random.Generator) -> Floats:
        effects = rng.standard_normal((models.max() + 1, len(root))) @ root.T
        drawn = fitted + effects[models, part] + noise * rng.standard_normal(len(rows))
        return np.asarray(drawn, dtype=np.float64)

    return draw


def sizes(
    blocks: pd.DataFrame, *, rng: np.random.Generator, n_draws: int, cut: str = "quarter"
) -> pd.DataFrame:
    """Return how often each test rejects where suites are alike.

    Parameters
    ----------
    blocks
        As `blocks.published_blocks` returns them.
    rng
        Source of the draws.
    n_draws
        Sets of rows to draw; the mixed model is fitted to each.
    cut
        ``quarter`` or ``distance``.

    Returns
    -------
    One row per part, method and level: `part`, `method`, `alpha`, `test_size`, `n_resamples`; the
    part ``any`` is of Holm's adjustment over all parts.
    """
    require_count("n_draws", n_draws)
    draw, rows = alike(blocks, cut), in_parts(blocks, cut).drop(columns="part")
    items = []
    for _ in range(n_draws):
        drawn = rows.assign(log_gain=draw(rng))
        together = suites.part_tests(suites.fit(drawn, cut), cut)
        plain = suites.part_by_part(drawn, cut)
        items += [together[["part", "p_value"]].assign(method="mixed model")]
        items += [plain[["part", "p_value"]].assign(method="part by part")]
        any_part = pd.DataFrame({"part": ["any"], "p_value": [together["p_adjusted"].min()]})
        items += [any_part.assign(method="mixed model")]
    every = pd.concat(items, ignore_index=True)
    shares = [
        (every["p_value"] <= alpha)
        .groupby([every["part"], every["method"]])
        .mean()
        .rename("test_size")
        .reset_index()
        .assign(alpha=alpha, n_resamples=n_draws)
        for alpha in ALPHAS
    ]
    result = pd.concat(shares, ignore_index=True)
    glossary.checked(result.columns)
    return result


def _part(name: str) -> str:
    """Return the part of a random effect such as ``part[last quarter]``."""
    return name.partition("[")[2].removesuffix("]")


def _root(covariance: Floats) -> Floats:
    """Return a square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(values.clip(0)), dtype=np.float64)
