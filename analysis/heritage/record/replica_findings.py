"""What each of the paper's figures shows, redrawn, in a sentence computed from its frame."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.heritage.record.replica_figures import below_one
from analysis.tidy import prose


def signs(models: pd.DataFrame) -> str:
    """Return how many models shrink the stream, by panel."""
    texts = [f"{share} models {panel}" for panel, share in below_one(models).items()]
    return f"The stream shrinks in {prose.listing(texts)}."


def with_size(models: pd.DataFrame) -> str:
    """Return how the gain goes with the number of parameters, by panel."""
    texts = [
        f"{prose.number(float(np.log(rows['n_parameters']).corr(rows['gain_mean'])))} {panel}"
        for panel, rows in models.groupby("panel", sort=False)
    ]
    return f"Correlation of gain and log parameters: {prose.listing(texts)}."


def printed_means(labs: pd.DataFrame, printed: pd.DataFrame) -> str:
    """Return the lab whose printed mean is furthest from that of the file."""
    both = labs.merge(printed, on="lab", suffixes=("", "_printed"))
    apart = (both["gain_mean_printed"] - both["gain_mean"]).abs()
    row = both.assign(apart=apart).nlargest(1, "apart").to_dict("records")[0]
    return (
        f"The printed mean of {row['lab']} is {prose.number(row['gain_mean_printed'])}; that of "
        f"the file is {prose.number(row['gain_mean'])}."
    )


def cuts(models: pd.DataFrame) -> str:
    """Return what is called W_V and mixes the rows of Q, K and V."""
    wrong = models.loc[models["cut"] != "W_V", "model"].drop_duplicates()
    return (
        f"In {prose.share_of(len(wrong), models['model'].nunique())} models what is called W_V "
        f"mixes rows of Q, K and V: {prose.listing(sorted(wrong))}."
    )


def rises(layers: pd.DataFrame, column: str, name: str) -> str:
    """Return where a norm grows most from the first to the last layer, and how it was cut."""
    ends = layers.sort_values("relative_depth").groupby("model")[column].agg(["first", "last"])
    factors = (ends["last"] / ends["first"]).sort_values()
    cut = layers.drop_duplicates("model").set_index("model")["cut"][factors.index[-1]]
    return (
        f"From the first to the last layer the {name} is multiplied most in {factors.index[-1]} "
        f"({cut}), by {prose.number(float(factors.iloc[-1]), 1)}, and least in "
        f"{factors.index[0]}, by {prose.number(float(factors.iloc[0]), 1)}."
    )


def errors(models: pd.DataFrame) -> str:
    """Return how far each predictor of L* errs, by panel."""
    missed = (models["predicted"] - models["estimate"]).abs().groupby(models["panel"], sort=False)
    texts = [
        f"{prose.number(float(mean), 1)} layers {panel}" for panel, mean in missed.mean().items()
    ]
    return f"Mean error of the predicted L*: {prose.listing(texts)}."


def crossing(models: pd.DataFrame) -> str:
    """Return for how many models one standard deviation over prompts reaches past 1."""
    crosses = (models["gain_low"] < 1) & (models["gain_high"] > 1)
    means = ": whether the stream shrinks depends on the prompt there" if crosses.any() else ""
    return (
        f"In {prose.share_of(int(crosses.sum()), len(models))} models one standard deviation over "
        f"prompts reaches past 1{means}."
    )
