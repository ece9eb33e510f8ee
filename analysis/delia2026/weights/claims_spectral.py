"""Claims about the spectral norms of W_V and W_O."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.sign import threshold
from analysis.store import Store, shared

TENFOLD = "EleutherAI's norm is 10 times Meta's"

SUMMARY = "restriction_map_summary_20260105_202448.csv"
SEPARATES = "some threshold on |W_V| / |W_O| separates the signs"
LAB = "EleutherAI"
#: The model that the caption of Fig. 3 sets apart.
OUTLIER = "EleutherAI/gpt-neo-125m"
NOT_A_TEST = "Leaving out the model that contradicts tests nothing: shown, not counted."


@shared
def weights(store: Store) -> pd.DataFrame:
    """Return one row per model: mean spectral norms of W_V and W_O and their ratio."""
    value = evidence.figures(store, "weight_spectral_v", [SUMMARY])
    output = evidence.figures(store, "weight_spectral_o", [SUMMARY])
    joined = value.merge(output[["model_id", "mean"]], on="model_id", suffixes=("", "_output"))
    named = joined.rename(columns={"mean": "value_norm", "mean_output": "output_norm"})
    return named.assign(
        ratio=named["value_norm"] / named["output_norm"],
        is_misread=(named["caveats"] + ",").str.contains("B2,", regex=False).astype(bool),
    )


@claim(11, Line(TENFOLD, "ratio", 10))
@claim(31, Line(TENFOLD, "ratio", 10))
def magnitude(store: Store) -> Sequence[Check]:
    """Check claims 11 and 31: W_V differs tenfold between EleutherAI and Meta."""
    models = weights(store)
    return [
        _tenfold(Label("value", "mean |W_V| of each lab"), models, "value_norm"),
        _tenfold(
            Label("value_readable", "the same, models read from the right rows"),
            models[~models["is_misread"]],
            "value_norm",
        ),
        _tenfold(Label("ratio", "mean |W_V| / |W_O| of each lab"), models, "ratio"),
    ]


@claim(10, Line(SEPARATES, "accuracy", 1))
def prediction(store: Store) -> Sequence[Check]:
    """Check claim 10: the ratio |W_V| / |W_O| predicts dampening or expansion."""
    gains = evidence.base_gains(store, "gain_penultimate_block")
    columns = ["model_id", "gain_mean", "norm_position", "file", "caveats"]
    norms = weights(store).assign(size=lambda rows: rows["ratio"])
    joined = norms.merge(gains[columns], on="model_id", suffixes=("_of_weights", ""))
    models = joined.assign(
        dampens=joined["gain_mean"] < 1,
        file=joined["file_of_weights"] + " " + joined["file"],
        caveats=joined["caveats_of_weights"] + "," + joined["caveats"],
    )
    labelled = norms.assign(dampens=norms["lab"] == LAB)
    label = Label("labels", "the paper's labels, which follow the lab")
    return [
        threshold.separation(SEPARATES, Label("signs", "measured sign of the gain"), models),
        threshold.separation(
            SEPARATES,
            Label("signs_kept", "without the post-norm model"),
            evidence.without_post_norm(models),
        ),
        threshold.separation(SEPARATES, label, labelled),
        threshold.separation(
            SEPARATES,
            label + Label("no_neo", ", without GPT-Neo, which Fig. 3 calls an outlier"),
            labelled[labelled["model_id"] != OUTLIER],
            counts=False,
            note=NOT_A_TEST,
        ),
    ]


def _tenfold(condition: str, models: pd.DataFrame, column: str) -> Check:
    means = models.groupby("lab")[column].mean()
    value = means["EleutherAI"] / means["Meta"]
    pair = models[models["lab"].isin(["EleutherAI", "Meta"])]
    counts = pair.groupby("lab").size()
    return evidence.check(
        TENFOLD,
        condition,
        evidence.prints_as(value, "10"),
        pair,
        estimate=value,
        method="ratio of means over the models of each lab, whole matrices",
        note=f"{counts['EleutherAI']} of EleutherAI's models against {counts['Meta']} of Meta's.",
        measure="ratio",
    )
