"""Sentences on the scope of the controlled study: size, length, exactness, what it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from analysis.heritage.study.fleet import JOINT, Sizes
from analysis.heritage.study.pages.names import RECIPES
from analysis.tidy import prose

#: Standard deviation between seeds that the plan supposed, from the pilot [nat].
PLANNED_SD = 0.08


def limits(sizes: Sizes, documented: pd.DataFrame) -> str:
    """Return what the networks of the study are, and so what it does not show.

    Parameters
    ----------
    sizes
        From `fleet.sizes`.
    documented
        One row per network of a documented recipe: `reached`, whether it beats the trigram.
    """
    low, high = (prose.number(n / 1e6, 1) for n in (sizes.smallest, sizes.largest))
    read = prose.number(sizes.n_bytes / 1e6, 1)
    short = prose.share_of(int((~documented["reached"].astype(bool)).sum()), len(documented))
    return (
        f"Its networks have {low} to {high} million parameters and read {read} million bytes: "
        f"it does not show what decides among large ones. {short} never reach the loss of a byte "
        "trigram: it does not show what a long training would leave of these differences."
    )


def limits_short(sizes: Sizes) -> str:
    """Return the first of them for a page that is read in a minute."""
    largest = prose.number(math.ceil(sizes.largest / 1e5) / 10, 1)
    return f"Below {largest} million parameters."


def rests_sentence(found: Mapping[str, pd.DataFrame]) -> str:
    """Return which recipe each share of the recipe rests on most, and what it is without.

    Parameters
    ----------
    found
        By what a share is of, in a sentence: from `fleet.without_each_recipe`; empty frames say
        nothing.
    """
    said = []
    for what, without in found.items():
        if without.empty:
            continue
        least = without.to_dict("records")[0]
        interval = prose.percent_interval(float(least["conf_low"]), float(least["conf_high"]))
        missed = "" if least["holds"] else ", too little for the registered rule"
        said.append(
            f"{what} {prose.percent(float(least['estimate']))} {interval} "
            f"without {_named(least['level'])}{missed}"
        )
    if not said:
        return ""
    return (
        "Nor does it show that other recipes would differ as much: intervals speak of other seeds, "
        "not of other recipes. With the one left out that it rests on most, the share of the "
        f"recipe is in {'; in '.join(said)}."
    )


def least_short(without: pd.DataFrame) -> str:
    """Return the share of the recipe without the one that it rests on most; empty if untold.

    ``without`` is as `fleet.without_each_recipe` returns it.
    """
    if without.empty:
        return ""
    least = without.iloc[0]
    return f"Without {_named(least['level'])}: {prose.percent(float(least['estimate']))}."


def _named(level: object) -> str:
    name = RECIPES.get(str(level), str(level))
    return f"“{name}”" if "," in name else name


def ladder_sentence(lengths: pd.DataFrame, sizes: Sizes) -> str:
    """Return how many lengths of training were enough, what the longest leaves, which is taken.

    Parameters
    ----------
    lengths
        As `ladder.lengths` returns it.
    sizes
        From `fleet.sizes`.
    """
    enough, longest = int(lengths["holds"].sum()), lengths.iloc[-1]
    taken = lengths[lengths["term"] == f"steps_{sizes.n_steps}"]
    there = "".join(
        f", where {prose.percent(row['share'])} of the ladder's networks beat the trigram and "
        f"another first spread moves the response by {prose.number(row['statistic'], 1)} standard "
        "deviations"
        for row in taken.to_dict("records")
    )
    return (
        f"By the registered rule, at equal steps, {prose.share_of(enough, len(lengths))} lengths "
        f"of the ladder {prose.form(enough, 'was', 'were')} enough. At the longest "
        f"{prose.percent(longest['share'])} of the networks beat a trigram, and another first "
        f"spread moves the response by "
        f"{prose.number(longest['statistic'], 1)} standard deviations between seeds, known from "
        f"{prose.plural(int(longest['df']), 'degree')} of freedom. These are "
        f"{prose.number(lengths['sd'].iloc[0], 3)} nat at the shortest length and "
        f"{prose.number(longest['sd'], 3)} nat at the longest. The fleet takes "
        f"{prose.count(sizes.n_steps)} steps, the longest that could be paid for{there}."
    )


def widths_sentence(found: pd.DataFrame, sd: float) -> str:
    """Return whether the shares of the primary response are as exact as planned, by each interval.

    Parameters
    ----------
    found
        From `fleet.widths`.
    sd
        Standard deviation between seeds that was found [nat].
    """
    growth = found[found["term"] == "excess"]
    row = growth[growth["method"] != JOINT].iloc[0]
    joint = growth[growth["method"] == JOINT].iloc[0]
    is_within, shown = (
        "within the plan" if each["holds"] else "wider than planned" for each in (row, joint)
    )
    return (
        f"Shares were planned to be exact to ±{prose.percent(row['null_value'])}, for a standard "
        f"deviation between seeds of {prose.number(PLANNED_SD)} nat. In the "
        f"{prose.count(row['n_obs'])} runs that can be told so far the bootstrap, for which that "
        f"was planned, has them exact to ±{prose.percent(row['estimate'], 1)}, {is_within}; the "
        f"joint intervals, which are the ones printed, to ±{prose.percent(joint['estimate'], 1)}, "
        f"{shown}. Seeds differ by {prose.number(sd, 3)} nat."
    )
