"""Collinearity of blocks: what the design cannot tell apart, before any response is looked at.

>>> from statsmodels.datasets import grunfeld
>>> from analysis.inference import collinearity
>>> rows = grunfeld.load_pandas().data
>>> blocks = {"value": ["value"], "capital": ["capital"]}
>>> collinearity.inflation(rows, blocks=blocks)["inflation"].round(3).tolist()
[1.165, 1.165]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.inference.partition.subsets import Blocks, block_columns, require_blocks
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, labels, numbers, require_variation

#: Singular values below this share of the largest are zero.
RANK = 1e-10

#: A canonical correlation this close to one is one: the blocks share that dimension.
SHARED = 1e-8


def inflation(frame: pd.DataFrame, *, blocks: Blocks) -> pd.DataFrame:
    """Return the generalised variance inflation factor of every block given the others.

    Fox and Monette (1992), Journal of the American Statistical Association 87: the factor by
    which collinearity raises the squared volume of the joint confidence region of a block's
    coefficients. With canonical correlations r between the block and all other blocks it is
    the product of 1/(1 - r^2).

    Parameters
    ----------
    frame
        One row per unit, such as a model.
    blocks
        Block name to its columns, two to ten blocks. Text and categories become dummies.

    Returns
    -------
    One row per block: `block`, `df` (its independent columns), `estimate` (the factor,
    infinite when the others determine part of the block), `inflation` (its 2 df-th root: how
    much longer the interval of one coefficient is), `n_obs`.

    Raises
    ------
    ColumnError
        If a column is absent, unusable, or in two blocks.
    DesignError
        If a column is constant, or there are more than ten blocks.
    """
    require_blocks(blocks)
    columns = block_columns(frame, blocks)
    rows = []
    for name, block in columns.items():
        others = np.column_stack([part for other, part in columns.items() if other != name])
        correlations = _canonical_correlations(block, others)
        df = _basis(block).shape[1]
        determined = bool((correlations > 1 - SHARED).any())
        factor = np.inf if determined else float(np.prod(1 / (1 - correlations**2)))
        rows.append(
            {
                "block": name,
                "df": float(df),
                "estimate": factor,
                "inflation": factor ** (1 / (2 * df)),
                "n_obs": len(frame),
            }
        )
    return glossary.table(rows, method="Generalised variance inflation factor")


def group_variation(frame: pd.DataFrame, *, group: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return how much of each predictor varies within each group.

    A group within which a predictor does not vary says nothing of the predictor's effect apart
    from its own.

    Parameters
    ----------
    frame
        One row per unit, such as a model.
    group
        Column of labels: lab or suite.
    columns
        Predictors, numbers.

    Returns
    -------
    One row per level and predictor: `group`, `level`, `term`, `n_obs`, `n_distinct`,
    `within_share` (the sum of squares about the group's mean over the total sum of squares; what
    is missing to 1 over all levels lies between groups).

    Raises
    ------
    ColumnError
        If a column is absent or unusable.
    DesignError
        If a predictor is constant over all rows.
    """
    levels = labels(frame, group)
    rows = []
    for name in columns:
        values = numbers(frame, name)
        require_variation(values, name)
        total = float(((values - values.mean()) ** 2).sum())
        for level in sorted(levels.unique(), key=str):
            inside = values[(levels == level).to_numpy()]
            rows.append(
                {
                    "group": group,
                    "level": level,
                    "term": name,
                    "n_obs": len(inside),
                    "n_distinct": len(np.unique(inside)),
                    "within_share": float(((inside - inside.mean()) ** 2).sum()) / total,
                }
            )
    return glossary.table(rows, method="Sum of squares within the group over the total")


def _canonical_correlations(first: Floats, second: Floats) -> Floats:
    """Return the canonical correlations of two sets of centred columns, descending.

    They are the singular values of the product of orthonormal bases (Björck and Golub 1973,
    Mathematics of Computation 27), as many as the smaller rank.
    """
    values = np.linalg.svd(_basis(first).T @ _basis(second), compute_uv=False)
    return np.clip(values, 0.0, 1.0)


def _basis(columns: Floats) -> Floats:
    """Return an orthonormal basis of the columns' span, shape (n, rank)."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > RANK * singular.max()])
