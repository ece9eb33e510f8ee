"""What the charts on heritage show, each in a sentence computed from what is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.inference.power import minimum_detectable
from analysis.tidy import prose


def levels(modes: pd.DataFrame) -> str:
    """Return how many labs' and suites' intervals exclude the mean, after geometry and scale.

    ``modes`` has one row per level: `group`, `mark`, `conf_low`, `conf_high`.
    """
    excludes = (modes["conf_low"] > 0) | (modes["conf_high"] < 0)
    texts = [
        f"{prose.share_of(int(excludes[rows.index].sum()), len(rows))} {group}s {mark}"
        for (group, mark), rows in modes.groupby(["group", "mark"], sort=False)
    ]
    return f"The mean lies outside the interval of {prose.listing(texts)}."


def methods(shares: pd.DataFrame) -> str:
    """Return which block explains most by itself, and the most that one adds to all others.

    ``shares`` has one row per block and mark: `block`, `mark`, `share` [1].
    """
    alone, last = (
        rows.sort_values("share").iloc[-1] for _, rows in shares.groupby("mark", sort=False)
    )
    return (
        f"By itself the {alone['block']} explains {prose.percent(alone['share'])} of the variance; "
        f"beside all others no block explains more than {prose.percent(last['share'])}."
    )


def power(curves: pd.DataFrame, target: float) -> str:
    """Return from which effect on each test of the first effect drawn reaches a power.

    ``curves`` has the rows of `analysis.inference.power` with `test`, "effect: how it is tested".
    """
    least = minimum_detectable(curves.assign(method=curves["test"]), power=target)
    effect = str(least["method"].iloc[0]).partition(": ")[0]
    rows = least[least["method"].str.startswith(f"{effect}: ")]
    items = [
        f"never ({test})" if np.isnan(value) else f"from {prose.number(value)} nat on ({test})"
        for test, value in zip(
            rows["method"].str.removeprefix(f"{effect}: "),
            rows["estimate"].astype(float),
            strict=True,
        )
    ]
    return f"{effect}: seen with a power of {target:g} {prose.listing(items)}."


def laws(models: pd.DataFrame, curves: pd.DataFrame, law: str) -> str:
    """Return above how many models a law runs, by definition of gain."""
    selection = curves[curves["law"] == law]
    items = []
    for definition, rows in models.groupby("definition", sort=False):
        curve = selection[selection["definition"] == definition].sort_values("n_layers")
        if curve.empty:
            continue
        fitted = np.interp(rows["n_layers"], curve["n_layers"], curve["fitted"])
        items.append(
            f"{prose.share_of(int((rows['gain_mean'] < fitted).sum()), len(rows))}"
            f" models ({definition})"
        )
    return f"The claimed law runs above {prose.listing(items)}."
