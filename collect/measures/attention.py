"""Sums over attention maps: declaration of the tables.

The numbers are made in `collect.instruments.attention_maps`.
"""

from __future__ import annotations

from collect.measures.declaration import (
    LAYER,
    MAPS,
    PROMPT,
    RUN,
    Column,
    MeasuredTable,
    Quantity,
    count,
)

_NUMBER = "DOUBLE NOT NULL"
_N_TOKENS = count("n_tokens", "Rows of the map, n", "tokens", least=1)

_HEADS = MeasuredTable(
    "attention",
    "One row per model, prompt, layer and head: sufficient statistics of the attention map A over "
    "the unpadded tokens.",
    key=(RUN, PROMPT, LAYER, count("head", "Query head, 0 to n_heads - 1")),
    columns=(
        _N_TOKENS,
        Column("mass", "Sum of all entries of A; n for a softmax without sink", "1", _NUMBER),
        Column("diagonal", "Trace of A: attention of tokens to themselves", "1", _NUMBER),
        Column(
            "first_column",
            "Sum of the first column: attention to the first token, the sink",
            "1",
            _NUMBER,
        ),
        Column(
            "above_diagonal",
            "Sum of the entries a causal map must not have; anything but 0 is a defect",
            "1",
            _NUMBER,
        ),
        Column(
            "entropy",
            "Sum over rows of -sum(A ln A); divide by n for the mean row entropy",
            "nat",
            _NUMBER,
        ),
        Column("sum_squares", "Squared Frobenius norm of A", "1", _NUMBER),
        Column(
            "distance",
            "Sum of A_ij |i - j|; over mass it is the mean distance looked back",
            "tokens",
            _NUMBER,
        ),
    ),
    n_rows=lambda e: e.n_prompts * e.n_layers * e.n_heads,
    row_bytes=35.0,
    audited={
        "attention_off_diagonal": "mass - diagonal",
        **{f"attention_{name}": name for name in ("first_column", "entropy", "distance")},
    },
)

_MEAN_MAP = MeasuredTable(
    "attention_mean",
    "One row per model, prompt and layer: the statistics of the attention map averaged over "
    "heads. Several notebooks use them, and the maps of single heads cannot give them.",
    key=(RUN, PROMPT, LAYER),
    columns=(
        _N_TOKENS,
        Column("mass", "Sum of all entries of the averaged map", "1", _NUMBER),
        Column("diagonal", "Its trace", "1", _NUMBER),
        Column("first_column", "Sum of its first column", "1", _NUMBER),
        Column(
            "entropy",
            "Sum over rows of -sum(A ln A); (entropy + mass ln n) / n is the entropy of the "
            "flattened map",
            "nat",
            _NUMBER,
        ),
        Column("sum_squares", "Its squared Frobenius norm", "1", _NUMBER),
        Column("distance", "Sum of A_ij |i - j|", "tokens", _NUMBER),
        count(
            "n_small",
            "Entries below 0.01 among all n^2, those above the diagonal included, as notebook 14 "
            "counts sparsity",
        ),
    ),
    n_rows=lambda e: e.n_prompts * e.n_layers,
    row_bytes=45.0,
    audited={"attention_mean_entropy": "entropy"},
)

QUANTITY = Quantity(
    "attention",
    "sums over attention maps: diagonal, sink, entropy",
    (_HEADS, _MEAN_MAP),
    source="map: Vaswani et al. 2017, equation 1; sink: Xiao et al. 2024",
    needs=(MAPS,),
)
