"""Figures at the level of a model from the lengths of a source: what is kept without a licence.

A gain is a ratio of two lengths of one series; a figure is its mean over the series, as the paper's
are means over prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from collect.errors import InputError
from collect.published.reported.description import Model
from collect.published.reported.lengths import SERIES


def figures(lengths: pd.DataFrame, models: Mapping[str, Model]) -> pd.DataFrame:
    """Return one row per model and metric: columns of table ``reported_figure`` but the source.

    Parameters
    ----------
    lengths
        As `lengths.read` returns them.
    models
        The shape of each model.

    Raises
    ------
    InputError
        If the lengths of a model give no figure: they end before its last two blocks.
    """
    of_series = pd.DataFrame(
        [
            {"model_id": model_id, "series": series, "metric": metric, "value": value}
            for (model_id, series), part in lengths.groupby(SERIES, sort=True)
            for metric, value in gains(part, models[str(model_id)].n_layers)
        ],
        columns=["model_id", "series", "metric", "value"],
    )
    if without := sorted({*lengths["model_id"]} - {*of_series["model_id"]}):
        raise InputError(
            f"The lengths of {without[0]} must give a gain; they end before its last two blocks.",
            "Give the lengths up to there, or leave the model out.",
        )
    table = of_series.groupby(["model_id", "metric"], sort=True)["value"].agg(
        mean="mean", sd="std", n="count"
    )
    texts = lengths.groupby("model_id")[["dtype", "file"]].agg(_together)
    return table.reset_index().merge(texts.reset_index(), on="model_id")


def gains(series: pd.DataFrame, n_layers: int) -> Iterator[tuple[str, float]]:
    """Yield metric and value of each gain that one series of lengths gives.

    Blocks that the series lacks give no gain, and what goes over them none either. ``gain_inner``
    is over the blocks between the first and the last.
    """
    length = series.set_index("layer")["norm"].astype(float)
    log_gain = length.map(math.log).diff().dropna()
    for metric, layer in (
        ("gain_embedding", 0),
        ("gain_penultimate_block", n_layers - 2),
        ("gain_last_block", n_layers - 1),
    ):
        if layer in log_gain.index:
            yield metric, math.exp(log_gain[layer])
    inner = log_gain[(log_gain.index > 0) & (log_gain.index < n_layers - 1)]
    body = log_gain[log_gain.index > 0]
    if len(inner) == n_layers - 2 > 0:
        yield "gain_inner", math.exp(inner.mean())
    if len(body) == n_layers - 1 > 0:
        yield "gain_body", math.exp(body.mean())
        yield "gain_maximum", math.exp(body.max())
        yield "total_amplification", math.exp(body.sum())


def _together(column: pd.Series[str]) -> str:
    return ", ".join(column.drop_duplicates())
