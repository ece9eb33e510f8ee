"""Maximise the Laplace approximation of a logistic mixed model's likelihood with `glmm`.

The package `glmm` (LGPL 3.0 or later, an optional extra) minimises the Laplace deviance of R's
``lme4::glmer``. It is given columns, never a formula of the caller's: contrasts, transforms and
nested groups are those of this package.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from analysis.mixed.algebra.design import Block, Column, Design
from analysis.mixed.reading.statistics import Statistics
from analysis.tidy.errors import DesignError
from analysis.tidy.extra import extra
from analysis.tidy.frame import Floats


@dataclass(frozen=True, slots=True)
class Laplace:
    """The maximum, for p fixed effects and blocks of L levels with k effects."""

    coefficients: Floats  #: Fixed effects, shape (p,).
    covariance: Floats  #: Inverse of the observed information, fixed part, shape (p, p).
    covariances: tuple[Floats, ...]  #: Covariance of every block's effects, shape (k, k) each.
    modes: tuple[Floats, ...]  #: Conditional modes of every block's effects, shape (L, k) each.
    log_likelihood: float  #: Approximate log-likelihood of the single rows.
    n_parameters: int  #: Fixed effects and elements of the covariances.
    converged: bool  #: Whether the search and its last inner solution converged.
    singular: bool  #: Whether a variance is zero or a correlation is one.

    @property
    def criterion(self) -> float:
        """Minus twice the log-likelihood."""
        return -2 * self.log_likelihood


def maximise(design: Design, statistics: Statistics, offset: Floats | None) -> Laplace:
    """Return the maximum of the Laplace approximation over the cells' trials.

    Every part of the design has an intercept; the offset is added to the log odds of every cell.
    """
    glmm = extra("glmm", of="glmm", what="A mixed model of a binary response")
    trials, successes = statistics.product(0, 0), statistics.product(0, 1)
    columns, formula = _columns(design, successes / trials)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say is read from the result
            fit = glmm.fit(columns, formula, family="binomial", weights=trials, offset=offset)
    except ValueError as error:
        raise DesignError(
            f"The package glmm must be able to fit the model; it says: {error}.",
            "Use fewer random effects.",
        ) from error
    return _result(fit, design, trials, successes)


def _columns(design: Design, share: Floats) -> tuple[dict[str, Any], str]:
    """Return the columns that `glmm` reads, and the formula over them."""
    import pandas as pd

    columns: dict[str, Any] = {"share": share}
    columns |= {f"x{place}": column.coefficient for place, column in enumerate(design.fixed)}
    terms = ["0", *(f"x{place}" for place in range(len(design.fixed)))]
    for place, block in enumerate(design.blocks):
        _require_intercept(block)
        slopes = [_fixed_twin(column, block, design) for column in block.columns[1:]]
        levels = pd.Index([str(level) for level in range(len(block.levels))])
        columns[f"g{place}"] = pd.Categorical.from_codes(block.codes, levels)
        terms.append(f"({' + '.join(['1', *slopes])} | g{place})")
    return columns, f"share ~ {' + '.join(terms)}"


def _fixed_twin(column: Column, block: Block, design: Design) -> str:
    """Return the fixed column that a slope repeats: the package knows no other slopes."""
    for place, fixed in enumerate(design.fixed):
        if np.array_equal(fixed.coefficient, column.coefficient):
            return f"x{place}"
    raise DesignError(
        f"A random slope must also be a fixed effect, for a binary response; {column.name!r} of "
        f"{block.group!r} is not one.",
        "Add it to the fixed part.",
    )


def _require_intercept(block: Block) -> None:
    """Refuse what the package cannot fit: slopes without an intercept or uncorrelated with it."""
    full = block.width * (block.width + 1) // 2
    if not block.columns or block.columns[0].name != "Intercept" or len(block.positions) != full:
        raise DesignError(
            f"The random effects of {block.group!r} must be an intercept and slopes correlated "
            "with it, for a binary response.",
            f"Write (1 + x | {block.group}).",
        )


def _result(fit: Any, design: Design, trials: Floats, successes: Floats) -> Laplace:
    """Return what `glmm` found, by the places of the design."""
    if not np.isfinite(fit.beta).all():
        raise DesignError(
            "The likelihood must have a maximum that glmm finds; it found none.",
            "Use fewer terms: the fixed effects may repeat a group.",
        )
    order = [fit.names.index(f"x{place}") for place in range(len(design.fixed))]
    by_group = {group: place for place, (group, _) in enumerate(fit.re_groups)}
    modes = {block["group"]: block["values"] for block in fit.ranef_blocks}
    named = [f"g{place}" for place in range(len(design.blocks))]
    widths = [block.width for block in design.blocks]
    arrangements = gammaln(trials + 1) - gammaln(successes + 1) - gammaln(trials - successes + 1)
    notes = fit.diagnostics["notes"]
    inner = any(note["kind"] == "pirls_exhausted" and note["final_eval"] for note in notes)
    return Laplace(
        coefficients=fit.beta[order],
        covariance=fit.vcov[np.ix_(order, order)],
        covariances=tuple(
            _unpack(fit.varcorr[by_group[name]], width)
            for name, width in zip(named, widths, strict=True)
        ),
        modes=tuple(np.asarray(modes[name], dtype=np.float64) for name in named),
        log_likelihood=float(fit.loglik - arrangements.sum()),
        n_parameters=int(fit.df),
        converged=bool(fit.converged) and not inner,
        singular=bool(fit.singular),
    )


def _unpack(elements: list[float], width: int) -> Floats:
    """Return a symmetric matrix from the columns of its lower triangle."""
    matrix = np.zeros((width, width))
    rows, columns = np.triu_indices(width)
    matrix[columns, rows] = matrix[rows, columns] = elements
    return matrix
