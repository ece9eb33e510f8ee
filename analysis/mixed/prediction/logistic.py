"""Predictions of a mixed model of a binary response for new rows, as log odds or probabilities.

Given the fixed effects, the random ones have the inverse of Z'WZ + inv(Sigma) as covariance, W
being the variances of the cells' outcomes at the modes; the modes follow the fixed effects, whose
errors are those of the table (Booth and Hobert 1998, JASA 93, 262).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

from analysis.mixed.algebra.design import matrix_of
from analysis.mixed.algebra.laplace import Laplace
from analysis.mixed.frames.grid import fixed_design
from analysis.mixed.inference.fitted import Tested
from analysis.mixed.inference.fixed_effects import NAMES, FixedTests, WaldTests, method_named
from analysis.mixed.prediction.new_rows import (
    given_points,
    known_effects,
    predictions,
    quadratic,
    values_at,
)
from analysis.mixed.reading.formula import MixedFormula
from analysis.mixed.reading.source import open_source
from analysis.mixed.reading.statistics import Statistics
from analysis.mixed.reading.trials import offset_name
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers, require_count, require_option

if TYPE_CHECKING:
    from scipy.sparse import csc_array

#: The scales of a prediction, and how its method names them.
KINDS = {"response": "probability", "link": "log odds"}

#: What a prediction on one scale is of one on the other, point by point.
ENDS = ("estimate", "conf_low", "conf_high")

#: Rows whose random effects are solved for at a time.
BATCH = 2000


@dataclass(frozen=True)
class Logistic(Tested):
    """A fitted mixed model of a binary response as plain data.

    Attributes are those of `Specification`, and `solution`, the maximum of the approximate
    likelihood.
    """

    solution: Laplace

    @property
    def coefficients(self) -> Floats:
        """Fixed effects [log odds], shape (p,)."""
        return self.solution.coefficients

    @property
    def fixed_tests(self) -> FixedTests:
        """The fixed effects and their z tests."""
        return WaldTests(self.coefficients, self.solution.covariance)

    def df_method(self, df: str | None) -> tuple[str, str]:
        """Return Wald's method; no degrees of freedom are known for log odds."""
        method = "wald" if df is None else method_named(df)
        if method != "wald":
            raise DesignError(
                f"A binary response must be tested by z; {NAMES[method]} is of a linear model.",
                "Leave df out; permute the levels where they are few.",
            )
        return method, ""

    @property
    def criterion(self) -> float:
        """Minus twice the approximate log-likelihood."""
        return self.solution.criterion

    @property
    def n_parameters(self) -> int:
        """Fixed effects and elements of the covariances."""
        return self.solution.n_parameters

    @property
    def offset(self) -> Floats | None:
        """What is added to the log odds of every cell, None for nothing."""
        return offset_of(self.formula, self.statistics)


def offset_of(formula: MixedFormula, statistics: Statistics) -> Floats | None:
    """Return the offset of every cell, None for a formula without one."""
    return None if formula.offset is None else statistics.constants[offset_name(formula.offset)]


def predict(
    model: Logistic, rows: pd.DataFrame, conf_level: float, *, kind: str, groups: str
) -> pd.DataFrame:
    """Return one row per new row: its probability or log odds, with an interval."""
    require_option("kind", kind, tuple(KINDS))

    def on_scale(whole: pd.DataFrame) -> pd.DataFrame:
        log_odds = _log_odds(model, whole, conf_level, groups)
        return log_odds if kind == "link" else _probabilities(log_odds)

    return predictions(
        model,
        rows,
        on_scale,
        groups=groups,
        conf_level=conf_level,
        reference=f"{KINDS[kind]}; {NAMES['wald']}",
    )


def simulated_rows(model: Logistic, n_simulations: int, rng: np.random.Generator) -> Floats:
    """Return responses, 0 or 1, with random effects drawn anew, shape (rows, draws)."""
    require_count("n_simulations", n_simulations)
    if model.source is None:
        raise DesignError(
            "Responses can be drawn where the rows are known; this model has none.",
            "Fit it with the rows at hand.",
        )
    rows = model.source.query("SELECT * FROM observations").to_pandas()
    points = given_points(model, rows)
    plain = fixed_design(model, points) @ model.coefficients
    if model.formula.offset is not None:
        plain = plain + values_at(model.formula.offset, open_source(rows))
    solution = model.solution
    groups = zip(model.design.blocks, solution.covariances, solution.modes, strict=True)
    known = known_effects(model, groups, points, rows)
    drawn = np.empty((len(rows), n_simulations))
    for place in range(n_simulations):
        log_odds = plain.copy()
        for block, covariance, columns, levels in zip(
            model.design.blocks, solution.covariances, known.columns, known.levels, strict=True
        ):
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            effects = rng.standard_normal((len(block.levels), block.width)) @ root.T
            log_odds += np.einsum("nk,nk->n", columns, effects[levels])
        drawn[:, place] = rng.random(len(rows)) < expit(log_odds)
    return drawn


def _log_odds(model: Logistic, rows: pd.DataFrame, conf_level: float, groups: str) -> pd.DataFrame:
    points = given_points(model, rows)
    design = fixed_design(model, points)
    estimates = design @ model.coefficients
    variances, notes = quadratic(design, model.solution.covariance), [""] * len(rows)
    if groups == "known":
        added, variances, notes = _conditional(model, design, points, rows)
        estimates = estimates + added
    if model.formula.offset is not None:
        estimates = estimates + values_at(model.formula.offset, open_source(rows))
    errors = np.sqrt(variances)
    reach = float(ndtri((1 + conf_level) / 2)) * errors
    return pd.DataFrame(
        {
            "estimate": estimates,
            "std_error": errors,
            "df": np.inf,
            "conf_low": estimates - reach,
            "conf_high": estimates + reach,
            "note": notes,
        }
    )


def _probabilities(log_odds: pd.DataFrame) -> pd.DataFrame:
    """Return predictions as probabilities; the error is the first-order one."""
    share = {name: expit(log_odds[name].to_numpy()) for name in ENDS}
    slope = share["estimate"] * expit(-log_odds["estimate"].to_numpy())
    return log_odds.assign(**share, std_error=slope * log_odds["std_error"])


def _conditional(
    model: Logistic, design: Floats, points: Statistics, rows: pd.DataFrame
) -> tuple[Floats, Floats, list[str]]:
    """Return the modes' part of every row, the variance of the whole's error, and a note.

    A level that was not fitted has an effect of zero, whose whole variance is added.
    """
    solution = model.solution
    groups = zip(model.design.blocks, solution.covariances, solution.modes, strict=True)
    known = known_effects(model, groups, points, rows)
    variances = known.variances + _variances(model, design, known.columns, known.levels)
    return known.part, variances, known.notes


def _variances(
    model: Logistic, design: Floats, effects: list[Floats], levels: list[Integers]
) -> Floats:
    """Return the variance of every row's error, shape (n,)."""
    from scipy.sparse import diags_array, eye_array
    from scipy.sparse.linalg import splu

    blocks = model.design.blocks
    of_cells = [matrix_of(block.columns) for block in blocks]
    cells = _spherical(model, of_cells, [block.codes for block in blocks])
    fixed = matrix_of(model.design.fixed)
    weights = diags_array(_outcome_variances(model, fixed))
    information = cells.T @ weights @ cells + eye_array(cells.shape[1])
    factored = splu(information.tocsc())
    across = cells.T @ (weights @ fixed)
    ours = _spherical(model, effects, levels).tocsr()
    variances = np.empty(len(design))
    for start in range(0, len(design), BATCH):
        part = slice(start, start + BATCH)
        random = ours[part].toarray()
        solved = factored.solve(random.T)
        left = design[part] - solved.T @ across
        within = np.einsum("nq,qn->n", random, solved)
        variances[part] = within + quadratic(left, model.solution.covariance)
    return variances


def _spherical(model: Logistic, effects: list[Floats], levels: list[Integers]) -> csc_array:
    """Return Z times a root of Sigma, sparse, shape (n, q): its effects are independent, of one."""
    from scipy.sparse import csc_array, hstack

    parts = []
    triples = zip(model.design.blocks, model.solution.covariances, effects, levels, strict=True)
    for block, covariance, columns, level in triples:
        values, vectors = np.linalg.eigh(covariance)
        scaled = columns @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        rows, width = scaled.shape
        starts = np.repeat(np.arange(rows), width)
        places = (level[:, None] * width + np.arange(width)).ravel()
        shape = (rows, len(block.levels) * width)
        parts.append(csc_array((scaled.ravel(), (starts, places)), shape=shape))
    return csc_array(hstack(parts))


def _outcome_variances(model: Logistic, fixed: Floats) -> Floats:
    """Return the variance of every cell's successes at the maximum."""
    log_odds = fixed @ model.coefficients
    for block, values in zip(model.design.blocks, model.solution.modes, strict=True):
        log_odds += np.einsum("nk,nk->n", matrix_of(block.columns), values[block.codes])
    if model.offset is not None:
        log_odds += model.offset
    share = expit(log_odds)
    return np.asarray(model.statistics.product(0, 0) * share * expit(-log_odds))
