"""Whether posteriors are what they say: parameters drawn from the prior, data from these, and back.

Where truth, data and posterior belong to one model, the posterior probability of a value below
the true one is uniform (Cook, Gelman and Rubin 2006, Journal of Computational and Graphical
Statistics 15, 675; simulation-based calibration, Talts et al. 2018, arXiv 1804.06788).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.posterior import answers
from analysis.inference.posterior.hierarchy import Posterior, Prior, Quadrature, posterior
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, require_count


def places(
    nodes: Quadrature, *, rng: np.random.Generator, n_draws: int, truth: Prior | None = None
) -> dict[str, Floats]:
    """Return where the truth lies in its posterior, draw by draw.

    Parameters
    ----------
    nodes
        The quadrature.
    rng
        Source of truths and data.
    n_draws
        Truths to draw.
    truth
        What they are drawn from; None for the prior of the nodes.

    Returns
    -------
    Posterior probabilities of a value below the true one, shape (n_draws,) each: by source, of
    its variance over the residual's; ``mean`` of the response; ``new row``, of a response with
    new levels of every source.
    """
    require_count("n_draws", n_draws)
    prior, design = nodes.prior if truth is None else truth, nodes.sources
    row = np.zeros(design.columns.shape[1])
    row[0] = 1.0
    found: dict[str, list[float]] = {name: [] for name in (*design.names, "mean", "new row")}
    for _ in range(n_draws):
        ratios = prior.width * np.tan(np.pi * rng.uniform(size=len(design.names)) / 2)
        sigma = prior.residual / np.sqrt(rng.gamma(prior.shape))
        scale = np.array([prior.centre, *ratios[list(design.source)]])
        effects = sigma * scale * rng.standard_normal(len(scale))
        y = design.columns @ effects + sigma * rng.standard_normal(len(design.columns))
        ahead = effects[0] + sigma * np.sqrt(1 + np.square(ratios).sum()) * rng.standard_normal()
        after = posterior(nodes, y)
        for place, name in enumerate(design.names):
            is_below = nodes.ratios[:, place] < ratios[place]
            found[name].append(float(after.weights[is_below].sum()))
        mean = _mean(after, row)
        found["mean"].append(mean.below(float(effects[0])))
        everything_new = dict.fromkeys(design.names, 1.0)
        found["new row"].append(answers.predict(after, row, everything_new).below(float(ahead)))
    return {name: np.array(values) for name, values in found.items()}


def uniformity(places_found: dict[str, Floats]) -> pd.DataFrame:
    """Return Kolmogorov's test that each set of places is uniform, and the cover of intervals.

    Returns
    -------
    One row per quantity: `term`, `statistic` (largest distance), `p_value`, `share` (of truths in
    the central 95 % interval), `n_resamples` (draws).
    """
    rows = []
    for term, values in places_found.items():
        test = stats.kstest(values, "uniform")
        covered = float(((values >= 0.025) & (values <= 0.975)).mean())
        rows.append((term, test.statistic, test.pvalue, covered, len(values)))
    columns = ["term", "statistic", "p_value", "share", "n_resamples"]
    result = pd.DataFrame(rows, columns=columns)
    glossary.checked(result.columns)
    return result


def _mean(after: Posterior, row: Floats) -> answers.Prediction:
    """Return the posterior of a fixed combination of effects, without new levels or error."""
    about = np.square(after.quadrature.root @ row).sum(axis=1)
    spread = np.sqrt(after.scales / after.shape * about)
    return answers.Prediction(after.weights, after.means @ row, spread, 2 * after.shape)
