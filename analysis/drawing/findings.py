"""What the charts of the published evidence show, each in a sentence computed from its frame."""

from __future__ import annotations

import pandas as pd

from analysis.tidy import prose


def labs(models: pd.DataFrame) -> str:
    """Return how many pre-norm models shorten the vector, and which labs have both kinds."""
    models = models[models["norm_position"] != "post"]
    below = models["gain_mean"] < 1
    shares = below.groupby(models["lab"]).mean()
    both = [str(lab) for lab in shares[shares.gt(0) & shares.lt(1)].index]
    share = f"{prose.share_of(int(below.sum()), len(models))} models shorten the vector"
    having = prose.form(len(both) or 1, "has", "have")
    return f"{share}; {prose.listing(both) or 'no lab'} {having} both kinds."


def band(models: pd.DataFrame, band: tuple[float, float]) -> str:
    """Return how many pre-norm models shorten the vector before, in and behind the claimed band."""
    models = models[models["norm_position"] != "post"]
    below, rho = models["gain_mean"] < 1, models["rho"]
    parts = [rho < band[0], rho.between(*band), rho > band[1]]
    counts = [prose.share_of(int(below[part].sum()), int(part.sum())) for part in parts]
    shares = [below[part].mean() for part in (parts[0], parts[2])]
    parted = "The band parts them" if {*shares} == {0.0, 1.0} else "The band does not part them"
    before, inside, behind = counts
    return (
        f"{parted}: {before} models below the band shorten the vector, {inside} in it, {behind} "
        "above it."
    )


def ratio(models: pd.DataFrame) -> str:
    """Return the ratios of the pre-norm models on either side of one, and whether these part."""
    models = models[models["norm_position"] != "post"]
    below = models.loc[models["gain_mean"] < 1, "ratio"]
    above = models.loc[models["gain_mean"] > 1, "ratio"]
    if below.empty or above.empty:
        return "All models lie on one side of one, whatever their ratio."
    is_parted = below.max() < above.min() or above.max() < below.min()
    ends = [
        f"{prose.number(float(it.min()))} to {prose.number(float(it.max()))}"
        for it in (below, above)
    ]
    opening = "The ratio parts the signs" if is_parted else "The ratio does not tell the sign"
    return (
        f"{opening}: models that shorten the vector have ratios of {ends[0]}, others of {ends[1]}."
    )
