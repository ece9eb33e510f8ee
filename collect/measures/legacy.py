"""Published variants, defects included: declaration of the table.

The numbers are made in `collect.instruments.legacy`; formulas are in ``data/published/metric.csv``.
"""

from __future__ import annotations

from collect.measures.declaration import (
    HEAD,
    HEADS,
    LAYER,
    MAPS,
    PROMPT,
    RUN,
    Column,
    Grain,
    MeasuredTable,
    Quantity,
)

_VARIANTS = MeasuredTable(
    "legacy_value",
    "",
    key=(
        RUN,
        PROMPT,
        LAYER,
        Column(
            "metric",
            "What was measured, beginning with legacy_; see metric",
            "-",
            "VARCHAR NOT NULL",
        ),
    ),
    columns=(
        Column("value", "The number; NULL where the notebook's arithmetic gives NaN", "see metric"),
    ),
    # Six metrics in every block, and four of a prompt.
    n_rows=lambda e: e.n_prompts * (6 * e.n_layers + 4),
    row_bytes=8.5,
    audited={"legacy_contraction_ratio": "value"},
    where="metric = 'legacy_contraction_ratio'",
    grain=Grain(
        unit="model, prompt, layer",
        beside="published variant that no other table can give",
        quantities=("metric",),
        why="each variant has a unit of its own",
    ),
)

QUANTITY = Quantity(
    "legacy",
    "published variants, defects included",
    (_VARIANTS,),
    source="notebooks of Delia 2026; see data/published/VARIANTS.md",
    needs=(HEADS, MAPS, HEAD),
)
