"""Claims about weights layer by layer, Figs. 4 and 8: what is plotted, and how far it exceeds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import digitised
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.weights import claims_spectral as spectral
from analysis.delia2026.weights.claims_spectral import LAB
from analysis.store import Store

LINES = Label("lines", "the lines are those behind the published means")
PLOTTED = Label("plotted", "what is plotted is |W_V|")

OTHERS = ("Meta", "OpenAI", "BigScience")
TIMES = Label("times", "about 300 times in late layers")

#: How many times the others EleutherAI is said to be, and what still counts as that.
PRINTED, MARGIN = 300, (200, 400)

#: What counts as late, and the share of depth beyond which it lies.
QUARTER = Label("quarter", "last quarter of the layers")
LATE = {QUARTER: 0.75, Label("half", "last half of the layers"): 0.5}

#: Largest difference between a mean over plotted points and the published mean [share].
READING_ERROR = 0.01


def layers(store: Store) -> pd.DataFrame:
    """Return one row per model and layer: the spectral norm of W_V that Fig. 8 plots squared.

    Columns: those of `analysis.audit.evidence.digitised.points`, `value_norm` [weight units],
    `relative_depth` [(l + 1) / L] and `is_misread` (caveat B2).
    """
    points = digitised.points(store, "Fig. 8")
    return points.assign(
        value_norm=np.sqrt(points["value"].astype(float)),
        relative_depth=(points["layer"].astype(float) + 1) / points["n_layers"].astype(float),
        is_misread=(points["caveats"] + ",").str.contains("B2,", regex=False).astype(bool),
    )


@claim(33, Line(PLOTTED, "share", 1))
def layer_wise(store: Store) -> Sequence[Check]:
    """Check claim 33: Fig. 4 shows |W_V| layer by layer."""
    points, means = layers(store), spectral.weights(store)
    condition = Label("means", "Fig. 8 as read off, the squares of what Fig. 4 plots")
    averaged = points.groupby("model_id", as_index=False)["value_norm"].mean()
    both = means.merge(averaged, on="model_id", suffixes=("", "_plotted"))
    away = (both["value_norm_plotted"] / both["value_norm"] - 1).abs()
    return [
        evidence.check(
            LINES,
            condition,
            bool((away < READING_ERROR).all()),
            both.assign(file=both["file"] + f" {digitised.EVIDENCE}"),
            estimate=float(away.max()),
            method="largest relative difference between the mean over plotted layers and the "
            "published mean",
            note="Fig. 4 itself has no data and was not read off.",
            measure="deviation",
        ),
        _is_value(points, Label("all", "all six models")),
        _is_value(
            points[~points["is_misread"]], Label("readable", "models whose rows are read right")
        ),
        *_read_stored(store, points),
    ]


@claim(34, Line(TIMES, "ratio", PRINTED, *MARGIN))
def excess(store: Store) -> Sequence[Check]:
    """Check claim 34: in late layers EleutherAI's |W_V|^2 is 300 times the others'."""
    points = layers(store)
    return [
        _line_above(points),
        *(
            _times(Label("others", "all others, ") + words, points, share)
            for words, share in LATE.items()
        ),
        _times(Label("others_last", "all others, the last layer"), points, None),
        _times(
            Label("others_geometric", f"all others, {QUARTER}, geometric means"),
            points,
            LATE[QUARTER],
            is_log=True,
        ),
        *(
            _times(
                Label(lab.lower(), f"{lab} alone, {QUARTER}"),
                points[points["lab"].isin([LAB, lab])],
                LATE[QUARTER],
            )
            for lab in OTHERS
        ),
        _times(
            Label("readable", "models whose rows are read right"),
            points[~points["is_misread"]],
            LATE[QUARTER],
        ),
    ]


def _is_value(points: pd.DataFrame, condition: str) -> Check:
    models = points.drop_duplicates("model_id")
    right = int((~models["is_misread"]).sum())
    return evidence.share_check(
        PLOTTED,
        condition,
        right,
        models,
        holds=right == len(models),
        method="share of models whose value rows are read where they lie",
        is_sample=False,
        note="The fused matrices of Pythia and BLOOM were cut in the wrong place.",
    )


def _read_stored(store: Store, points: pd.DataFrame) -> list[Check]:
    """Return whether the raw files hold the plotted layers, if they have been imported."""
    rows = store.query(
        """
        SELECT DISTINCT v.model_id, m.suite, v.file, v.caveats
          FROM raw_value AS v
          JOIN raw.model AS m USING (model_id)
         WHERE v.metric = 'weight_spectral_v'
           AND v.layer IS NOT NULL
         ORDER BY v.model_id
        """
    )
    if rows.empty or points.empty:
        return []
    result = set(rows["model_id"]) & set(points["model_id"])
    named = ", ".join(name.partition("/")[2] for name in rows["model_id"])
    return [
        evidence.check(
            LINES,
            Label("raw", "raw files: norms of single layers"),
            None,
            rows,
            estimate=float(len(result)),
            method="number of the figure's models whose layers are in a file",
            decides=False,
            note=f"Only {named} has its layers in a file, and it is not in the figure.",
            measure="count",
        )
    ]


def _line_above(points: pd.DataFrame) -> Check:
    part, condition = (
        Label("exceeds", f"{LAB} exceeds the others"),
        "every late layer of every model",
    )
    late = points[points["relative_depth"] > LATE[QUARTER]]
    theirs = late["lab"] == LAB
    ratio = float(late.loc[theirs, "value"].min() / late.loc[~theirs, "value"].max())
    return evidence.check(
        part,
        condition,
        ratio > 1,
        late,
        estimate=ratio,
        method="smallest of EleutherAI's squared norms over the largest of the others",
        measure="ratio",
    )


def _times(
    condition: str, points: pd.DataFrame, share: float | None, *, is_log: bool = False
) -> Check:
    if share is None:
        late = points[points["relative_depth"] == 1]
    else:
        late = points[points["relative_depth"] > share]
    if set(late["lab"] == LAB) != {True, False}:
        return evidence.missing(TIMES, condition, f"{LAB} or the others have no such line")
    ratio = times_others(late, is_log=is_log)
    models = late.drop_duplicates("model_id")["lab"]
    return evidence.check(
        TIMES,
        condition,
        MARGIN[0] <= ratio < MARGIN[1],
        late,
        estimate=ratio,
        method="ratio of the means over models of each model's "
        f"{'geometric' if is_log else 'arithmetic'} mean over layers",
        note=f"{int((models == LAB).sum())} models against {int((models != LAB).sum())}.",
        measure="ratio",
    )


def times_others(rows: pd.DataFrame, *, is_log: bool = False) -> float:
    """Return how many times the others' mean EleutherAI's is [ratio].

    It is the mean over models of each model's mean over layers: the arithmetic one, or of
    logarithms. ``rows`` are some of `layers`.
    """
    plotted = rows["value"].astype(float)
    values = plotted.transform("log") if is_log else plotted
    by_model = values.groupby([rows["lab"], rows["model_id"]]).mean()
    theirs = by_model.index.get_level_values("lab") == LAB
    high, low = float(by_model[theirs].mean()), float(by_model[~theirs].mean())
    return math.exp(high - low) if is_log else high / low
