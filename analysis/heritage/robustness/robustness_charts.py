"""The section on how far the answer holds: beliefs, all definitions, and the unmeasured."""

from __future__ import annotations

from typing import cast

import altair as alt
import numpy as np
import pandas as pd

from analysis.drawing.marks import named_once
from analysis.drawing.theme import SHAPES, WIDTH, found, greys, series
from analysis.heritage.hierarchy import findings
from analysis.heritage.robustness.definitions import GROUPS, PROFILE_MEAN
from analysis.heritage.robustness.priors import AFTER, MIDDLE, PRIOR
from analysis.inference.posterior.answers import FINITE, RESIDUAL, SUPERPOPULATION
from analysis.tidy import prose

PENULTIMATE = "gain_penultimate_block"

#: How a definition of gain is called in a table.
METRICS = {
    PENULTIMATE: "penultimate block",
    "gain_last_block": "last block",
    "gain_body": "mean over blocks",
    PROFILE_MEAN: "mean over published blocks",
    "gain_maximum": "largest block",
    "gain_embedding": "block 0",
    "gain_with_final_norm": "last block with final norm",
}

RANKINGS = {
    "gain": "Gain",
    "models": "Models",
    "lab": "Lab above suite",
    "shape": "Lab above shape",
    "first": "Most probable ranking",
    "probability": "Its probability",
    "range": "By width of the prior",
}

NOVELTIES = {"new": "A model of", "gain": "Predicted gain [ratio]", "interval": "95 % interval"}

#: The definition that a level of the specification curve's choice of gain stands for.
CURVE = {
    "penultimate block": PENULTIMATE,
    "last block": "gain_last_block",
    "last block with final norm": "gain_with_final_norm",
    "mean of blocks": "gain_body",
    "mean before last block": PROFILE_MEAN,
    "largest block": "gain_maximum",
}

JOINTLY = {
    "gain": "Gain of",
    "n": "Specifications",
    "median": "Their median [SD]",
    "joint": "All definitions jointly [SD]",
    "interval": "95 % interval",
    "models": "Models (suites)",
}

COMPONENTS = {"group": "Differs by", "share": "Share", "interval": "95 % interval"}

TRAITS = {
    "contrast": "Contrast",
    "ratio": "Factor on the gain",
    "interval": "95 % interval",
    "value": "Robustness value",
    "level": "Robustness value, interval",
    "e_value": "E-value",
    "limit": "E-value, interval",
}

BOUNDS = {"block": "Block", "range": "Least to most", "interval": "95 % interval"}

#: Height of one row of marks [pixels].
ROW = 50


def chart_beliefs(shares: pd.DataFrame) -> alt.LayerChart:
    """Draw the shares of the sources before and after the data, levels at hand and to come.

    ``shares`` has the rows of `beliefs.shares`; the penultimate block under the middle prior.
    """
    chosen = shares[
        (shares["metric"] == PENULTIMATE)
        & (shares["prior_scale"] == MIDDLE)
        & ~((shares["stage"] == PRIOR) & (shares["population"] == FINITE))
    ]
    marks = ("before the data", "after, suites to come", "after, these suites")
    named = {
        (PRIOR, SUPERPOPULATION): marks[0],
        (AFTER, SUPERPOPULATION): marks[1],
        (AFTER, FINITE): marks[2],
    }
    keys = zip(chosen["stage"], chosen["population"], strict=True)
    drawn = chosen.assign(mark=[named[key] for key in keys])
    order = [*(name for name in dict.fromkeys(drawn["block"]) if name != RESIDUAL), RESIDUAL]
    placed = alt.Chart(drawn).encode(
        y=alt.Y("block:N", title=None, sort=order),
        yOffset=alt.YOffset("mark:N", sort=list(marks), scale=alt.Scale(paddingInner=0.3)),
        color=alt.Color("mark:N", scale=greys(marks), legend=None),
    )
    x = alt.X("share:Q", title="share of the variance [0 to 1]", scale=alt.Scale(domain=[0, 1]))
    whiskers = placed.mark_rule(strokeWidth=2).encode(x=alt.X("conf_low:Q"), x2="conf_high:Q")
    points = placed.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, shape=alt.Shape("mark:N", scale=series(marks, SHAPES), legend=None)
    )
    layers = alt.layer(points, whiskers, named_once(placed, drawn, "block")).properties(
        width=WIDTH,
        height=ROW * len(order),
        description="Share of the variance by source, mean and 95 % interval, before the data and "
        "after; intervals after the data are narrower for levels at hand, and overlap.",
    )
    return cast(alt.LayerChart, found(layers, findings.beliefs(drawn, marks[-1])))


def ranking_rows(rankings: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per definition: probabilities of the paper's ranking, these suites."""
    after = rankings[(rankings["stage"] == AFTER) & (rankings["population"] == FINITE)]
    rows = []
    for metric, name in METRICS.items():
        selection = after[(after["metric"] == metric) & (after["prior_scale"] == MIDDLE)]
        if selection.empty:
            continue
        best = selection.nlargest(1, "probability").to_dict("records")[0]
        lab = {second: _probability(pairs, metric, second, MIDDLE) for second in ("suite", "shape")}
        over = [
            _probability(pairs, metric, "suite", width)
            for width in sorted(set(pairs["prior_scale"]))
        ]
        rows.append(
            {
                "gain": name,
                "models": prose.count(best["n_models"]),
                "lab": prose.number(lab["suite"]),
                "shape": prose.number(lab["shape"]),
                "first": str(best["ranking"]),
                "probability": prose.number(best["probability"]),
                "range": f"{prose.number(min(over))} to {prose.number(max(over))}",
            }
        )
    return pd.DataFrame(rows)


def belief_words(shares: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, str]:
    """Return the shares of lab and suite in the penultimate block, and who leads, in words."""
    chosen = shares[
        (shares["metric"] == PENULTIMATE)
        & (shares["prior_scale"] == MIDDLE)
        & (shares["stage"] == AFTER)
    ].set_index(["population", "block"])
    words = {}
    for population, short in ((FINITE, "here"), (SUPERPOPULATION, "new")):
        for block in ("lab", "suite", "depth"):
            row = chosen.loc[[(population, block)]].to_dict("records")[0]
            ends = prose.percent_interval(row["conf_low"], row["conf_high"])
            words[f"{block}_{short}"] = f"{prose.percent(row['share'])} {ends}"
            words[f"{block}_leads_{short}"] = prose.percent(row["probability"])
    words["lab_over_suite"] = prose.percent(_probability(pairs, PENULTIMATE, "suite", MIDDLE))
    return words


def most_probable(rankings: pd.DataFrame) -> str:
    """Return the largest probability of any ranking, these suites, over all definitions."""
    after = rankings[(rankings["stage"] == AFTER) & (rankings["prior_scale"] == MIDDLE)]
    return prose.number(after.loc[after["population"] == FINITE, "probability"].max())


def prediction_rows(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return one row per known suite, known lab and the stranger, formatted as gains."""
    rows = predictions[
        (predictions["metric"] == PENULTIMATE) & (predictions["prior_scale"] == MIDDLE)
    ]
    kinds = {"sibling": "{} (sibling)", "new suite": "a new suite of {}", "new lab": "a new lab"}
    return pd.DataFrame(
        {
            "new": [
                kinds[unit].format(level)
                for unit, level in zip(rows["unit"], rows["level"], strict=True)
            ],
            "gain": np.exp(rows["estimate"]).map(prose.number),
            "interval": [
                _ratios(low, high)
                for low, high in zip(rows["predicted_low"], rows["predicted_high"], strict=True)
            ],
        }
    )


def component_rows(components: pd.DataFrame) -> pd.DataFrame:
    """Return one row per group of the joint model of definitions, formatted."""
    return pd.DataFrame(
        {
            "group": components["group"].map(GROUPS),
            "share": components["variance_share"].map(prose.percent),
            "interval": [
                prose.percent_interval(low, high)
                for low, high in zip(components["conf_low"], components["conf_high"], strict=True)
            ],
        }
    )


def jointly_rows(contrasts: pd.DataFrame, specifications: pd.DataFrame) -> pd.DataFrame:
    """Return one row per definition: the curve's median beside the joint model's contrast.

    Definitions that the curve does not have come last, with a dash for its median.

    Parameters
    ----------
    contrasts
        As `definitions.contrasts` returns them.
    specifications
        Distinct ones of the paper's own comparison: `gain`, `standardised`.
    """
    known = contrasts.set_index("metric").to_dict("index")
    of_curve = {metric: level for level, metric in CURVE.items()}
    rows = []
    others = {metric: name for metric, name in METRICS.items() if metric not in of_curve}
    for metric, level in (of_curve | others).items():
        if metric not in known:
            continue
        row = known[metric]
        selection = specifications.loc[specifications["gain"] == level, "standardised"]
        rows.append(
            {
                "gain": level,
                "n": prose.MISSING if selection.empty else prose.count(len(selection)),
                "median": prose.number(float(selection.median())),
                "joint": prose.number(row["estimate"]),
                "interval": prose.interval(row["conf_low"], row["conf_high"]),
                "models": f"{prose.count(row['n_models'])} ({prose.count(row['n_suites'])})",
            }
        )
    return pd.DataFrame(rows)


def jointly_words(contrasts: pd.DataFrame) -> dict[str, str]:
    """Return how many joint contrasts have an interval away from zero, and what bounds the rest."""
    away = (contrasts["conf_low"] > 0) | (contrasts["conf_high"] < 0)
    return {
        "away": prose.share_of(int(away.sum()), len(contrasts)),
        "claimed": prose.share_of(int((contrasts["estimate"] > 0).sum()), len(contrasts)),
        "low": prose.number(float(contrasts["conf_low"].min()), 1),
        "high": prose.number(float(contrasts["conf_high"].max()), 1),
        "note": str(contrasts["note"].iloc[0]),
    }


def trait_rows(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Return one row per contrast of `unmeasured.sensitivity`, formatted."""
    return pd.DataFrame(
        {
            "contrast": contrasts["contrast"],
            "ratio": np.exp(contrasts["estimate"]).map(prose.number),
            "interval": [
                _ratios(low, high)
                for low, high in zip(contrasts["conf_low"], contrasts["conf_high"], strict=True)
            ],
            "value": contrasts["robustness_value"].map(prose.percent),
            "level": contrasts["robustness_value_alpha"].map(prose.percent),
            "e_value": contrasts["e_value"].map(lambda value: prose.number(value, 1)),
            "limit": contrasts["e_value_limit"].map(lambda value: prose.number(value, 1)),
        }
    )


def bound_rows(bounds: pd.DataFrame) -> pd.DataFrame:
    """Return one row per block of `shares.bounds`, formatted."""
    ends = bounds[["bound_low", "bound_high", "conf_low", "conf_high"]].to_dict("records")
    return pd.DataFrame(
        {
            "block": bounds["block"],
            "range": [
                f"{prose.percent(row['bound_low'])} to {prose.percent(row['bound_high'])}"
                for row in ends
            ],
            "interval": [prose.percent_interval(row["conf_low"], row["conf_high"]) for row in ends],
        }
    )


def _probability(pairs: pd.DataFrame, metric: str, second: str, width: float) -> float:
    """Return the probability that the lab's variance is above another's, these suites."""
    rows = pairs[
        (pairs["metric"] == metric)
        & (pairs["prior_scale"] == width)
        & (pairs["stage"] == AFTER)
        & (pairs["population"] == FINITE)
        & (pairs["first"] == "lab")
        & (pairs["second"] == second)
    ]
    return float(rows["probability"].iloc[0])


def _ratios(low: float, high: float) -> str:
    return prose.interval(float(np.exp(low)), float(np.exp(high)))
