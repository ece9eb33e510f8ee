"""Claims about the sheaf Laplacian itself: its blocks over heads, and what its trace costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.store import Store
from analysis.tidy.frame import Floats

BLOCKS = Label("blocks", "the total Laplacian is block-diagonal over heads")
SHOWN = Label("shown", "the computation shows it")
LINEAR = "the number of operations is at most in proportion to n^2 + d^2"

#: Lengths of input for which operations are counted [tokens].
LENGTHS = (16, 128, 1024, 8192)

#: Additions and multiplications per entry that still count as one pass over it.
PER_ENTRY = 2

#: Relative differences below this are rounding.
ROUNDING = 1e-6


@claim(14)
def blocks(store: Store) -> Sequence[Check]:
    """Check claim 14: the computation proves that the total Laplacian is block-diagonal."""
    layers = store.query(
        """
        SELECT w.model_id, m.suite, w.layer, w.sigma_max AS whole, h.largest,
               '' AS file, '' AS caveats
          FROM matrix_norm AS w
          JOIN (SELECT run_id, layer, max(sigma_max) AS largest, count(*) AS n_heads
                  FROM head_norm
                 WHERE matrix = 'V' AND NOT is_folded AND slicing = 'correct'
                 GROUP BY run_id, layer) AS h USING (run_id, layer)
          JOIN primary_run AS r USING (run_id)
          JOIN raw.model AS m ON m.model_id = w.model_id
         WHERE w.matrix = 'V' AND w.slicing = 'correct' AND h.n_heads > 1
         ORDER BY w.model_id, w.layer
        """
    )
    return [
        _stalks_identity(),
        evidence.descriptive(_shared_stalks(layers)),
        _blocks_identity(),
    ]


def two_heads(overlap: float) -> Floats:
    """Return the total Laplacian of two heads that read directions with a given cosine.

    Two tokens, stalks R^2, one direction a head: sum_h L_h (x) w_h w_h' with Laplacians of weights
    1 and 2, shape (4, 4), in the basis of the first head's direction and the one at right angles.
    """
    laplacian = np.array([[1.0, -1.0], [-1.0, 1.0]])
    directions = np.array([[1.0, 0.0], [overlap, np.sqrt(1 - overlap**2)]])
    heads = [
        np.kron(weight * laplacian, np.outer(reads, reads))
        for weight, reads in zip((1.0, 2.0), directions, strict=True)
    ]
    return np.asarray(sum(heads))


def head_coupling(total: Floats) -> float:
    """Return the largest entry between the blocks of the two heads, over the largest of all."""
    in_first = np.arange(len(total)) % 2 == 0
    return float(np.abs(total[np.ix_(in_first, ~in_first)]).max() / np.abs(total).max())


def _stalks_identity() -> Check:
    """Ask of two heads on the stalks of Definition 1 whether their total has two blocks.

    If the claim were right it would be so for every pair of directions, not only for those at right
    angles.
    """
    overlaps = np.array([0.0, 0.3, 0.6])
    entries = np.array([head_coupling(two_heads(overlap)) for overlap in overlaps])
    return Check(
        BLOCKS,
        Label(
            "algebra",
            "on the stalks R^d of Definition 1, by algebra: two heads that share a direction",
        ),
        bool((entries < ROUNDING).all()),
        estimate=float(entries.max()),
        n_obs=len(overlaps),
        evidence=("definition",),
        method="largest entry between the heads' blocks over the largest of all; two tokens, two "
        "heads with cosines 0, 0.3 and 0.6",
        note="Blocks part only where heads read directions at right angles; one pair that does not "
        "is a counterexample.",
        measure="ratio",
    )


def _blocks_identity() -> Check:
    """Ask whether what is computed, a sum of traces, would be another without the blocks."""
    traces = np.array([np.trace(two_heads(overlap)) for overlap in (0.0, 0.3, 0.6)])
    change = float(np.ptp(traces) / traces[0])
    return Check(
        SHOWN,
        Label(
            "algebra",
            "by algebra: the sum of traces with and without entries between the heads' blocks",
        ),
        change > ROUNDING,
        estimate=change,
        n_obs=len(traces),
        evidence=("definition",),
        method="largest relative difference of the trace between totals with and without blocks",
        note="A trace does not see what lies off the diagonal: it is the same with blocks and "
        "without, so it proves neither.",
        measure="deviation",
    )


def operations(models: pd.DataFrame, lengths: Sequence[int] = LENGTHS) -> pd.DataFrame:
    """Return how many additions and multiplications the trace takes, by three ways to count.

    Parameters
    ----------
    models
        One row per model: `model_id`, `n_heads`, `d_model`, `d_head`, `n_kv_heads`.
    lengths
        Lengths of input, n [tokens].

    Returns
    -------
    One row per model, length and way: `model_id`, `n_tokens`, `way`, `operations` [1] and `ratio`
    to n^2 + d^2. Ways: `whole` (one map and the whole W_V, each entry added or squared and added
    once), `heads` (a map per head), `attention` (the maps computed too: queries, keys and their
    products), and `sufficient` (the norms stored once and rows that sum to one: the diagonals
    alone).
    """
    crossed = models.merge(pd.DataFrame({"n_tokens": list(lengths)}), how="cross")
    n, d, heads = (crossed[name].astype(float) for name in ("n_tokens", "d_model", "n_heads"))
    values = crossed["n_kv_heads"] * crossed["d_head"] * d
    maps = heads * (n**2 + n)
    keys = (heads + crossed["n_kv_heads"]) * crossed["d_head"] * d * n
    counted = {
        "whole": n**2 + n + 2 * d**2 + 1,
        "heads": maps + 2 * values + heads,
        "attention": maps + 2 * values + heads + 2 * keys + 2 * heads * n**2 * crossed["d_head"],
        "sufficient": heads * n + heads,
    }
    tables = [
        crossed[["model_id", "n_tokens"]].assign(
            way=way, operations=total, ratio=total / (n**2 + d**2)
        )
        for way, total in counted.items()
    ]
    return pd.concat(tables, ignore_index=True)


@claim(15, Line(LINEAR, "ratio", 2))
def cost(store: Store) -> Sequence[Check]:
    """Check claim 15: the trace takes O(n^2 + d^2) operations."""
    models = store.query(
        """
        SELECT m.model_id, m.suite, m.n_heads, m.n_kv_heads, m.d_model, m.d_head,
               'model' AS file, '' AS caveats
          FROM raw.model AS m
         WHERE m.model_id IN (SELECT model_id FROM published_figure)
         ORDER BY m.model_id
        """
    )
    readings = {
        "whole": Label("whole", "one attention map and the whole W_V, both given"),
        "heads": Label("heads", "a map for each head, as Corollary 1 sums them"),
        "attention": Label("attention", "from the stream on, the attention maps computed too"),
    }
    return [_linear(words, models, way) for way, words in readings.items()]


def _shared_stalks(layers: pd.DataFrame) -> Check:
    """Ask of the measured weights what block-diagonality on shared stalks would need.

    The total is sum_h L_h (x) W_h'W_h on the stalks R^d of Definition 1. It is block-diagonal over
    heads in some basis of R^d only if the rows of different heads are orthogonal, and then
    the largest singular value of the whole W_V is that of its largest head.
    """
    condition = Label(
        "weights", "on the stalks R^d of Definition 1, weights of the models measured here"
    )
    if layers.empty:
        return evidence.missing(BLOCKS, condition, "no weights have been measured")
    excess = layers["whole"] / layers["largest"]
    low, high = (float(excess.quantile(share)) for share in (0.0, 1.0))
    return evidence.check(
        BLOCKS,
        condition,
        bool((excess - 1 < ROUNDING).all()),
        layers,
        estimate=float(excess.median()),
        evidence=(evidence.OURS,),
        method="spectral norm of W_V over that of its largest head, median over layers; 1 when "
        "heads read orthogonal directions",
        note=f"It lies between {low:.2f} and {high:.2f} over {len(layers)} layers.",
        measure="ratio",
    )


def _linear(condition: str, models: pd.DataFrame, way: str) -> Check:
    counts = operations(models)
    chosen = counts[counts["way"] == way]
    least = counts[counts["way"] == "sufficient"]
    worst = chosen.sort_values("ratio").iloc[-1]
    return evidence.check(
        LINEAR,
        condition,
        bool(chosen["ratio"].max() <= PER_ENTRY),
        models,
        estimate=float(chosen["ratio"].max()),
        method="largest number of additions and multiplications over n^2 + d^2, over the published "
        "models and inputs of 16 to 8,192 tokens",
        note=f"Largest for {worst['model_id']} with {worst['n_tokens']} tokens. Stored norms and "
        "rows that sum to one leave only the diagonals: at most "
        f"{least['ratio'].max():.3f} times n^2 + d^2.",
        measure="ratio",
    )
