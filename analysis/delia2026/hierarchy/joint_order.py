"""The whole order of lab, geometry and scale as one event of one posterior.

Lab, suite, shape, depth and scale are sources of variance (`sources.design`); geometry is shape and
depth together. Each source's deviation over the residual one is half-Cauchy before the data. The
six orders are disjoint events over the same nodes, so their probabilities add up to one, before
the data and after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from analysis.delia2026.sign import sources
from analysis.inference.posterior import hierarchy
from analysis.inference.posterior.hierarchy import Prior
from analysis.tidy import glossary, prose
from analysis.tidy.frame import Floats

#: The sources of every place in the order.
PLACES = {"lab": ("lab",), "geometry": ("shape", "depth"), "scale": ("scale",)}
CLAIMED = " > ".join(PLACES)

#: What is set against scale: parts of geometry, and the whole.
GEOMETRIES = (("shape",), ("depth",), ("shape", "depth"))

#: Medians of a source's deviation over that of models of one suite.
WIDTHS = (0.5, sources.MIDDLE, 2.0)
NODES = 2**13
PRIOR, POSTERIOR = "prior", "posterior"


def orders(models: pd.DataFrame, *, n_nodes: int = NODES) -> pd.DataFrame:
    """Return the probability of each order before and after the data, by width of the prior.

    Parameters
    ----------
    models
        One row per model: `lab`, `suite`, `rho`, `d_head`, `n_layers`, `log_parameters` and
        `log_gain` [nat], which is taken in its own standard deviations.
    n_nodes
        Nodes of the quadrature, a power of two.

    Returns
    -------
    `prior_scale`, `ranking`, `stage` (prior or posterior), `probability`, `n_effective`.
    """
    rows = []
    for width, names, squares, stages in _weigh(models, n_nodes):
        sizes = {place: _sum(names, squares, parts) for place, parts in PLACES.items()}
        for stage, weights in stages.items():
            for first, second, third in permutations(PLACES):
                holds = (sizes[first] > sizes[second]) & (sizes[second] > sizes[third])
                rows.append(
                    {
                        "prior_scale": width,
                        "ranking": f"{first} > {second} > {third}",
                        "stage": stage,
                        "probability": float(weights[holds].sum()),
                        "n_effective": float(1 / np.square(weights).sum()),
                    }
                )
    return glossary.table(rows)


def pairs(models: pd.DataFrame, *, n_nodes: int = NODES) -> pd.DataFrame:
    """Return the probability that geometry, or a part of it, has more variance than scale.

    Parameters
    ----------
    models, n_nodes
        As for `orders`.

    Returns
    -------
    `prior_scale`, `ranking` (``shape > scale``, ``depth > scale``, ``shape and depth > scale``),
    `stage`, `probability`.
    """
    return glossary.table(
        [
            {
                "prior_scale": width,
                "ranking": f"{' and '.join(parts)} > scale",
                "stage": stage,
                "probability": float(
                    weights[
                        _sum(names, squares, parts) > _sum(names, squares, PLACES["scale"])
                    ].sum()
                ),
            }
            for width, names, squares, stages in _weigh(models, n_nodes)
            for stage, weights in stages.items()
            for parts in GEOMETRIES
        ]
    )


def _weigh(
    models: pd.DataFrame, n_nodes: int
) -> Iterator[tuple[float, Sequence[str], Floats, dict[str, Floats]]]:
    """Yield by width the sources, their variances at the nodes and the nodes' weights by stage."""
    gains = models["log_gain"].to_numpy(dtype=np.float64)
    standard = (gains - gains.mean()) / gains.std()
    design = sources.design(models)
    for width in WIDTHS:
        rng = np.random.default_rng(sources.SEED)
        nodes = hierarchy.quadrature(design, Prior(width), rng=rng, n_nodes=n_nodes)
        after = hierarchy.weights(nodes, standard[None, :])[:, 0]
        before = np.full(n_nodes, 1 / n_nodes)
        yield width, design.names, np.square(nodes.ratios), {PRIOR: before, POSTERIOR: after}


def _sum(names: Sequence[str], squares: Floats, parts: Sequence[str]) -> Floats:
    """Return the variance of several sources at every node."""
    total: Floats = squares[:, [names.index(part) for part in parts]].sum(axis=1)
    return total


def parted(table: pd.DataFrame) -> str:
    """Return in two sentences which part of geometry leads scale, for the middle prior.

    ``table`` is what `pairs` returned.
    """
    chosen = table[(table["prior_scale"] == sources.MIDDLE) & (table["stage"] == POSTERIOR)]
    share = chosen.set_index("ranking")["probability"].map(prose.percent)
    return (
        f"The posterior probability that depth has more variance than scale is "
        f"{share['depth > scale']}. For head density and head width, without depth, it is "
        f"{share['shape > scale']}."
    )


def said(table: pd.DataFrame) -> str:
    """Return in four sentences what the data add to the order that is claimed."""
    claimed = table[table["ranking"] == CLAIMED].set_index(["prior_scale", "stage"])["probability"]
    before, after = (claimed.xs(stage, level="stage") for stage in (PRIOR, POSTERIOR))
    middle = table[(table["prior_scale"] == sources.MIDDLE) & (table["stage"] == POSTERIOR)]
    most = middle.sort_values("probability").iloc[-1]
    second = (
        "It is the most probable of the six orders."
        if most["ranking"] == CLAIMED
        else f"Most probable of the six is {most['ranking']}, with "
        f"{prose.percent(float(most['probability']))}."
    )
    least, most_of = (prose.percent(float(it)) for it in (after.min(), after.max()))
    ends = f"at {least}" if least == most_of else f"between {least} and {most_of}"
    return (
        f"The whole order has a probability of {prose.percent(float(before[sources.MIDDLE]))} "
        f"before the data and {prose.percent(float(after[sources.MIDDLE]))} after them. "
        f"Its odds change by a factor of {prose.number(_odds(after) / _odds(before), 1)}. {second} "
        f"Under each of {len(WIDTHS)} priors the claimed order ends {ends}."
    )


def _odds(probability: pd.Series[float]) -> float:
    """Return the odds of the claimed order under the middle prior; ``probability`` has them all."""
    share = float(probability[sources.MIDDLE])
    return share / (1 - share)


def headers() -> dict[str, str]:
    """Return the headers of `printable`."""
    return {
        "ranking": "Order",
        **{
            f"{stage}_{width}": f"{stage.capitalize()}, {width:g}"
            for width in WIDTHS
            for stage in (PRIOR, POSTERIOR)
        },
    }


def printable(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per order, the claimed one first, with its probabilities as text."""
    wide = table.pivot_table("probability", "ranking", ["stage", "prior_scale"])
    wide = wide.loc[[" > ".join(order) for order in permutations(PLACES)]]
    cells = {
        f"{stage}_{width}": [prose.percent(float(it)) for it in wide[stage, width]]
        for width in WIDTHS
        for stage in (PRIOR, POSTERIOR)
    }
    return pd.DataFrame({"ranking": list(wide.index), **cells})
