"""Norms of the attention weights, per head and whole: declaration of the tables.

The numbers are made in `collect.instruments.weights`.
"""

from __future__ import annotations

from collect.measures.declaration import (
    HEADS,
    LAYER,
    RUN,
    Column,
    Grain,
    MeasuredTable,
    Quantity,
    count,
)

_HEAD_VALUES = {
    f"{matrix.lower()}_{norm}{'_folded' if is_folded else ''}": (
        column,
        f"matrix = '{matrix}' AND is_folded = {is_folded} AND slicing = 'correct'",
    )
    for matrix in ("Q", "K", "V", "OV", "O")
    for norm, column in (("spectral", "sigma_max"), ("frobenius", "frobenius"))
    for is_folded in ((False,) if matrix == "O" else (False, True))
}
_MATRIX_VALUES = {
    f"weight_{norm}_{matrix.lower()}": (column, f"matrix = '{matrix}' AND slicing = 'correct'")
    for norm, column, matrix in (
        ("spectral", "sigma_max", "V"),
        ("spectral", "sigma_max", "O"),
        ("frobenius", "frobenius", "V"),
    )
}
_SLICING = "VARCHAR NOT NULL CHECK (slicing IN ('correct', 'contiguous'))"

_HEAD_NORMS = MeasuredTable(
    "weight_norm",
    "norms of the head's own part of the attention weights. For V as the paper means it: NOT "
    "is_folded AND slicing = 'correct'. Measured models alone: the published norms are in "
    "published_figure, metric weight_spectral_v and the like.",
    key=(
        RUN,
        LAYER,
        count("head", "Query head; heads that share a value matrix repeat it, see kv_head"),
        Column(
            "matrix",
            "Q, K, V or O (the head's query, key, value and output projection; the paper writes "
            "W_V for V). Or OV: W_O W_V, what the head writes for what it reads",
            "-",
            "VARCHAR NOT NULL CHECK (matrix IN ('Q', 'K', 'V', 'O', 'OV'))",
        ),
        Column(
            "is_folded",
            "True when the gain of the norm in front of attention is multiplied into Q, K, V or "
            "OV. Then V times 10 and O over 10, or gain times 3 and V over 3, change nothing in "
            "OV. A norm on what attention returns is not folded, so there OV is what enters that "
            "norm. Such norms have gemma2, gemma3_text, glm4, olmo2, olmo3, flex_olmo and exaone4",
            "-",
            "BOOLEAN NOT NULL",
        ),
        Column(
            "slicing",
            "correct, or contiguous: the last third of a fused matrix read as V, as the published "
            "notebooks do. For interleaved layouts that third is no value matrix (caveat B2)",
            "-",
            _SLICING,
        ),
    ),
    columns=(
        count(
            "kv_head",
            "Key and value head the query head reads; group by it to count a shared matrix once",
        ),
        Column(
            "sigma_max",
            "Largest singular value, the spectral norm; NULL when not_measured says why",
            "weight units",
        ),
        Column(
            "frobenius",
            "Frobenius norm; (frobenius / sigma_max)^2 is the stable rank",
            "weight units",
        ),
    ),
    n_rows=lambda e: e.n_layers * e.n_heads * (5 + 4 * e.has_gain + e.has_contiguous),
    row_bytes=19.0,
    audited={name: column for name, (column, _) in _HEAD_VALUES.items()},
    where={name: where for name, (_, where) in _HEAD_VALUES.items()},
    grain=Grain(
        unit="model, layer, head",
        beside="matrix, folding and slicing",
        quantities=("matrix", "is_folded", "slicing"),
        why="a head has a row for each matrix and each way to read it",
        front=("head_weight",),
    ),
)

_WHOLE_NORMS = MeasuredTable(
    "matrix_norm",
    "norms of the whole matrix over all heads. The paper measured these, though it wrote: per "
    "head.",
    key=(
        RUN,
        LAYER,
        Column(
            "matrix",
            "Q, K, V or O; the paper writes W_V for V and W_O for O",
            "-",
            "VARCHAR NOT NULL CHECK (matrix IN ('Q', 'K', 'V', 'O'))",
        ),
        Column(
            "slicing",
            "correct, or contiguous: the last third of a fused matrix read as V (caveat B2), which "
            "reproduces the published figures",
            "-",
            _SLICING,
        ),
    ),
    columns=(
        Column(
            "sigma_max",
            "Largest singular value of the whole matrix. It depends on how the weights are "
            "written: a head's values may be in any basis (gauge_partner)",
            "weight units",
            "DOUBLE NOT NULL",
        ),
        Column(
            "frobenius",
            "Frobenius norm of the whole matrix; shared value matrices counted once",
            "weight units",
            "DOUBLE NOT NULL",
        ),
    ),
    n_rows=lambda e: e.n_layers * (4 + e.has_contiguous),
    row_bytes=40.0,
    audited={name: column for name, (column, _) in _MATRIX_VALUES.items()},
    where={name: where for name, (_, where) in _MATRIX_VALUES.items()},
    grain=Grain(
        unit="model, layer",
        beside="matrix and slicing",
        quantities=("matrix", "slicing"),
        why="a layer has a row for each matrix and each way to read it",
        front=("layer_weight",),
    ),
)

QUANTITY = Quantity(
    "weights",
    "norms of Q, K, V, O and OV, per head and whole",
    (_HEAD_NORMS, _WHOLE_NORMS),
    source="spectral norm: largest singular value (Eckart & Young 1936); OV: Elhage et al. 2021, "
    "A mathematical framework for transformer circuits",
    needs=(HEADS,),
)
