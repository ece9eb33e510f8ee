"""Sentences of the controlled study; every word follows from a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.heritage.study.fleet import JOINT, shapes_told
from analysis.heritage.study.pages.names import RECIPES
from analysis.heritage.study.shares import Seeds
from analysis.heritage.study.slope import PUBLISHED_SLOPE
from analysis.tidy import prose

#: Definitions of growth in a sentence about the loss.
GROWTHS: Mapping[str, str] = {
    "excess": "for growth beyond equal writes",
    "last_log_gain": "for the gain of the last block",
    "penultimate_log_gain": "for that of the penultimate block",
}

#: What a network trained again may differ by, as `collect study --check` has it [nat].
EXACT = 1e-3

#: Parts of the slope on depth, as `slope.slopes` names them.
DEPTHS_PART, RATES_PART = "depth's own part", "rate's part"

#: Checks of a recipe, in a sentence and as heads of columns.
CHECKS: Mapping[str, str] = {
    "other_order": "another order of the text",
    "subwords": "subwords in place of bytes",
    "long": "a run three times as long",
}

#: What else makes differences, in a sentence.
PARTS: Mapping[str, str] = {
    "geometry": "{varied}",
    "recipe:geometry": "the two together",
    "seed": "chance",
}

#: Level at which the seed is said not to move all alike, and labs to differ beyond chance.
ALPHA = 0.05


def sentence(runs: pd.DataFrame, shares: pd.DataFrame) -> str:
    """Return the study's answer in one sentence for a busy reader.

    Parameters
    ----------
    runs
        From `fleet.recipe_runs`.
    shares
        From `fleet.response_shares`; empty while too few recipes are complete.
    """
    documented = runs[runs["status"] == "documented"]
    shapes = shapes_told(documented)
    if shares.empty:
        means = documented.groupby("recipe")["excess"].mean()
        return (
            f"Of {prose.count(len(means))} recipes trained so far the one that grows most and the "
            f"one that grows least differ by {prose.number(float(means.max() - means.min()))} nat; "
            "how much of that is recipe and how much chance cannot be told before two recipes "
            "have two runs in one shape."
        )
    said = share_words(shares[shares["response"] == "excess"])
    among = prose.count(complete_recipes(documented, shapes))
    made = [
        f"{PARTS[term].format(varied=varied(shapes))} {share}"
        for term, share in said.items()
        if term in PARTS
    ]
    return (
        f"Among {among} recipes trained on the same text in "
        f"{prose.plural(len(shapes), 'shape')}, the recipe makes {said['recipe']} of the "
        f"differences in growth beyond equal writes, {prose.listing(made)}."
    )


def short_sentence(runs: pd.DataFrame, shares: pd.DataFrame) -> str:
    """Return `sentence` in fewer words, for an abstract: what recipe, shape and chance make."""
    if shares.empty:
        return sentence(runs, shares)
    documented = runs[runs["status"] == "documented"]
    shapes = shapes_told(documented)
    said = share_words(shares[shares["response"] == "excess"])
    return (
        f"Among {prose.count(complete_recipes(documented, shapes))} recipes in "
        f"{prose.plural(len(shapes), 'shape')}, the recipe makes {said['recipe']} of the "
        f"differences in growth, the shape {said['geometry']}."
    )


def share_words(shares: pd.DataFrame) -> dict[str, str]:
    """Return each source's share of one response with its joint interval, as words."""
    joint = shares[shares["method"] == JOINT]
    return {
        str(term): f"{prose.percent(share)} {prose.percent_interval(low, high)}"
        for term, share, low, high in zip(
            joint["term"], joint["estimate"], joint["conf_low"], joint["conf_high"], strict=True
        )
    }


def lab_sentence(whole: pd.DataFrame, without: pd.DataFrame) -> str:
    """Return how much of what sets recipes apart goes with their labs, and what it rests on.

    Parameters
    ----------
    whole, without
        From `labs.lab_share` and `labs.without_each`; empty while they cannot be told.
    """
    if whole.empty:
        return "Whether recipes of one lab resemble each other cannot be told yet."
    lab = whole.set_index("term").to_dict("index")["lab"]
    said = (
        f"Between {prose.count(lab['n_obs'])} documented recipes, "
        f"{prose.count(lab['n_groups'])} of them independent, {prose.percent(lab['estimate'])} of "
        f"the differences in mean growth lie between labs, where chance would put "
        f"{prose.percent(lab['null_value'])} (all {prose.count(lab['n_permutations'])} ways to "
        f"give out the names, one to a recipe and its twin: {lab_p(lab)})."
    )
    if not without.empty:
        least = without.to_dict("records")[0]
        name = RECIPES.get(str(least["level"]), least["level"])
        said += (
            f" Without {name}, the recipe on which most rests, it is "
            f"{prose.percent(least['estimate'])} ({lab_p(least)})."
        )
    foreseen = "So we had foreseen it" if lab["estimate"] < 0.5 else "We had foreseen the contrary"
    return f"{said} {foreseen}: that recipes of one lab differ more than labs do (S4)."


def lab_p(lab: Mapping[Any, Any]) -> str:
    """Return the p of a row of `labs.lab_share`, and whether no labelling gives a smaller one.

    >>> lab_p({"p_value": 0.05, "smallest_p": 0.05}).replace(prose.NO_BREAK, " ")
    'p = 0.050, the smallest possible'
    """
    least = ", the smallest possible" if lab["p_value"] <= lab["smallest_p"] else ""
    return f"{prose.p_value(lab['p_value'])}{least}"


def lab_short(whole: pd.DataFrame) -> str:
    """Return the first share of `lab_sentence`, or nothing while it cannot be told."""
    if whole.empty:
        return ""
    lab = whole.set_index("term").to_dict("index")["lab"]
    return (
        f"Among our networks {prose.percent(lab['estimate'])} of the differences between recipes "
        f"lie between labs, where chance would put {prose.percent(lab['null_value'])} "
        f"({lab_p(lab)} with {prose.count(lab['n_groups'])} independent recipes)."
    )


def labs_at_loss(whole: pd.DataFrame) -> str:
    """Return the same at equal loss; ``whole`` is from runs compared there."""
    if whole.empty:
        return ""
    lab = whole.set_index("term").to_dict("index")["lab"]
    told = "beyond chance" if lab["p_value"] < ALPHA else "not told from chance"
    return (
        f"At equal loss it is {prose.percent(lab['estimate'])} among "
        f"{prose.count(lab['n_groups'])} independent recipes, where chance would put "
        f"{prose.percent(lab['null_value'])}: {told} ({lab_p(lab)})."
    )


def apart_sentence(shares: pd.DataFrame) -> str:
    """Return what size and shape make each; ``shares`` from `fleet.scale_and_shape`."""
    if shares.empty:
        return "Size and shape cannot be told apart before all four geometries are trained."
    said = share_words(shares)
    return (
        f"Size makes {said['scale']} of the differences in growth; shape at nearly equal size, "
        f"deep and narrow against shallow and wide, {said['shape']}."
    )


def slope_sentence(slopes: pd.DataFrame) -> str:
    """Return how much of the published slope on depth the falling learning rate makes.

    ``slopes`` is from `slope.slopes`, for the gain of the penultimate block.
    """
    rows = slopes.set_index("term").to_dict("index")
    said = {
        term: f"{prose.number(row['estimate'], 3)} "
        f"{prose.interval(row['conf_low'], row['conf_high'], 3)}"
        for term, row in rows.items()
    }
    whole = prose.number(rows["slope a suite would show"]["estimate"], 3)
    return (
        f"With depth, learning rate and decay crossed in {prose.count(slopes['n_obs'].iloc[0])} "
        f"runs, a suite whose rate falls with depth as in public ones would show the slope "
        f"{whole} on ln depth; depth itself makes {said[DEPTHS_PART]} of it, the rate "
        f"{said[RATES_PART]}. Published suites show {prose.number(PUBLISHED_SLOPE, 3)}."
    )


def use_sentence(found: pd.DataFrame) -> str:
    """Return whether growth goes with the held-out loss; ``found`` from `use.loss_and_growth`."""
    said = [
        f"{GROWTHS[name]} {prose.number(estimate)} {prose.interval(low, high)}"
        for name, estimate, low, high in zip(
            found["term"], found["estimate"], found["conf_low"], found["conf_high"], strict=True
        )
    ]
    return (
        f"Across {prose.count(int(found['n_obs'].iloc[0]))} recipes of one shape, text and number "
        f"of steps, the rank correlation with the held-out loss is {prose.listing(said)}."
    )


def use_short(found: pd.DataFrame) -> str:
    """Return the same in one short sentence, for a page that is read in a minute."""
    shown = int(((found["conf_low"] > 0) | (found["conf_high"] < 0)).sum())
    how_many = prose.count(shown) if shown else "None"
    return (
        f"{how_many} of {prose.count(len(found))} definitions of growth "
        f"{prose.form(shown or 1, 'is', 'are')} shown to go with held-out loss."
    )


def use_range(found: pd.DataFrame) -> str:
    """Return between which values the rank correlations of `use_short` lie, and for what."""
    low, high = (prose.number(float(end)) for end in found["estimate"].agg(["min", "max"]))
    return (
        f"Rank correlations {low} to {high} among {prose.count(int(found['n_obs'].iloc[0]))} "
        "recipes trained alike."
    )


def unfinished(progress: pd.DataFrame) -> str:
    """Return how many runs a verdict may still wait for; empty when the fleet is complete."""
    left = int((progress["n_planned"] - progress["n_complete"]).sum())
    if not left:
        return ""
    return (
        f"{prose.count(left)} planned runs of the designs begun are not trained yet: what is told "
        "so far rests on the others and may change."
    )


def shape(runs: pd.DataFrame) -> str:
    """Return depth and width of the networks of some runs: columns `n_layers` and `d_model`."""
    depths, widths = (
        prose.listing([prose.count(size) for size in sorted(runs[name].unique())])
        for name in ("n_layers", "d_model")
    )
    return f"{depths} blocks, width {widths}"


def coordinates_sentence(runs: pd.DataFrame) -> str:
    """Return how far growth moves without the mean over features, which a LayerNorm leaves free.

    ``runs`` has one row per network: `excess` and `excess_centred` [nat].
    """
    largest = float((runs["excess"] - runs["excess_centred"]).abs().max())
    return (
        "Growth is that of the raw stream, as registered; without the mean over features it "
        f"differs by at most {prose.number(largest, 3)} nat."
    )


def seeds_sentence(seeds: Seeds) -> str:
    """Return how far the seed moves a network, and whether it moves all alike."""
    apart = (
        "Two networks that differ in the seed alone lie "
        f"{prose.number(seeds.mean_difference, 3)} nat apart on average."
    )
    told = prose.p_value(seeds.p_value)
    if seeds.p_value >= ALPHA:
        return f"{apart} That the seed moves some more than others is not seen ({told})."
    names = [
        f"{RECIPES[recipe]} of {prose.count(depth)} blocks and width {prose.count(width)}"
        for recipe, depth, width in zip(
            *(seeds.noisiest[name] for name in ("recipe", "n_layers", "d_model")), strict=True
        )
    ]
    return (
        f"{apart} The seed does not move all alike: {prose.count(len(names))} of "
        f"{prose.count(seeds.n_cells)} pairs of recipe and shape hold {prose.percent(seeds.share)} "
        f"of its variance ({told}), {prose.listing(names)}. The intervals suppose that it moves "
        "all alike."
    )


def varied(shapes: Sequence[str]) -> str:
    """Return what some shapes differ in.

    >>> varied(["l3d64", "l3d128"]), varied(["l3d64", "l12d128"])
    ('width', 'depth and width')
    """
    parts = [shape.removeprefix("l").split("d") for shape in shapes]
    names = [
        name
        for name, sizes in zip(("depth", "width"), zip(*parts, strict=True), strict=True)
        if len(set(sizes)) > 1
    ]
    return prose.listing(names)


def threat_sentence(threats: pd.DataFrame, sd: float) -> str:
    """Return how far each check moves growth at most, and whether recipes keep their order.

    Parameters
    ----------
    threats
        From `fleet.threats`; empty while its runs lack.
    sd
        Standard deviation between seeds [nat].
    """
    if threats.empty:
        return "The checks are not trained yet."
    most = threats.assign(change=threats["change"].abs()).groupby("check")["change"].max()
    said = [
        f"{prose.number(float(most[check]))} nat with {words}"
        for check, words in CHECKS.items()
        if check in most.index
    ]
    orders = threats.sort_values("estimate").groupby("check")["recipe"].agg(tuple)
    plain = orders["plain"]
    orders = orders[orders.map(len) == len(plain)]
    kept = int((orders.drop("plain") == plain).sum())
    names = prose.listing(sorted(RECIPES[name] for name in plain))
    return (
        f"Growth of {names} moves by up to {prose.listing(said)}; seeds differ by "
        f"{prose.number(sd, 3)} nat. The recipes keep their order in "
        f"{prose.share_of(kept, len(orders) - 1)} checks."
    )


def again_sentence(twice: pd.DataFrame) -> str:
    """Return how far a network comes apart from itself; ``twice`` from `fleet.trained_twice`."""
    if twice.empty:
        return "No network is in two designs."
    within = int((twice["estimate"] < EXACT).sum())
    return (
        f"{prose.count(len(twice))} networks are in several designs and were trained each time "
        f"anew: the growth of {prose.count(within)} comes back within {prose.number(EXACT, 3)} "
        f"nat, of all within {prose.number(float(twice['estimate'].max()), 3)} nat."
    )


def together(verdicts: Mapping[str, str]) -> str:
    """Return what the outcomes say of "heritage dominates"; from `verdict.verdict_on_heritage`."""
    said = {
        verdict: prose.listing(
            [f"“{name}”" for name, found in verdicts.items() if found == verdict]
        )
        for verdict in dict.fromkeys(verdicts.values())
    }
    return " ".join(f"{verdict.capitalize()}: {names}." for verdict, names in said.items())


def complete_recipes(runs: pd.DataFrame, shapes: Sequence[str]) -> int:
    """Return how many recipes have the most runs that any has, in every one of the shapes."""
    counts = runs.groupby(["recipe", "geometry"]).size().unstack(fill_value=0)  # noqa: PD010
    counts = counts.reindex(columns=list(shapes), fill_value=0)
    return int((counts == counts.to_numpy().max()).all(axis=1).sum())
