"""Tables and sentences of the controlled study; every word follows from a number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.exhibits.study.charts import RESPONSES, SOURCES
from analysis.questions.study.fleet import Band, shapes_told
from analysis.questions.study.verdict import UNTOLD
from analysis.tidy import prose

LENGTHS = {
    "steps": "Steps",
    "beat": "Beat the trigram",
    "shift": "Moved by the first spread",
    "seeds": "Seeds differ by",
    "enough": "Long enough",
}
PROGRESS = {
    "design": "Design",
    "question": "Question",
    "planned": "Planned",
    "complete": "Trained",
    "beat": "Beat the trigram",
    "hours": "Core hours left",
}
OUTCOMES = {
    "no": "No.",
    "statement": "Registered statement",
    "foreseen": "Foreseen",
    "steps": "At equal steps",
    "loss": "At equal loss",
    "found": "Found; needed",
}
SHARES = {
    "response": "Response",
    "source": "Source",
    "share": "Share",
    "interval": "Joint interval",
    "sd": "Spread",
}

#: Definitions of growth in a sentence about the loss.
GROWTHS: Mapping[str, str] = {
    "excess": "for growth beyond equal writes",
    "last_log_gain": "for the gain of the last block",
    "penultimate_log_gain": "for that of the last but one",
}

#: What else makes differences, in a sentence.
PARTS: Mapping[str, str] = {
    "geometry": "depth and width",
    "recipe:geometry": "the two together",
    "seed": "chance",
}

#: Mean distance of two normal values of standard deviation one.
MEAN_DIFFERENCE = 2 / math.sqrt(math.pi)

#: What each design asks, in a few words.
QUESTIONS: Mapping[str, str] = {
    "ladder": "how long is long enough?",
    "packages": "recipe, shape or chance?",
    "ingredients": "which part of a recipe?",
    "ingredients_check": "do the parts add up?",
    "depth_and_rate": "depth or learning rate?",
    "inheritance": "birth or upbringing?",
    "threats": "what else could it be?",
}


def length_rows(lengths: pd.DataFrame) -> pd.DataFrame:
    """Return the ladder as words; ``lengths`` as `ladder.lengths` has them."""
    return pd.DataFrame(
        {
            "steps": [prose.count(_steps(term)) for term in lengths["term"]],
            "beat": lengths["share"].map(prose.percent),
            "shift": [f"{prose.number(value)} nat" for value in lengths["estimate"]],
            "seeds": [f"{prose.number(value, 3)} nat" for value in lengths["sd"]],
            "enough": ["yes" if holds else "no" for holds in lengths["holds"]],
        }
    )


def progress_rows(progress: pd.DataFrame) -> pd.DataFrame:
    """Return the designs as words; ``progress`` as `fleet.progress` has it."""
    known = progress.set_index("study").reindex(list(QUESTIONS)).dropna(subset=["n_planned"])
    return pd.DataFrame(
        {
            "design": known.index.map(prose.code),
            "question": [QUESTIONS[name] for name in known.index],
            "planned": known["n_planned"].map(prose.count).to_numpy(),
            "complete": known["n_complete"].map(prose.count).to_numpy(),
            "beat": known["n_beat_trigram"].map(prose.count).to_numpy(),
            "hours": (known["left_s"] / 3600).map(lambda hours: prose.number(hours, 1)).to_numpy(),
        }
    )


def outcome_rows(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return one row per registered statement, with its verdict at both horizons."""
    rows = []
    for claim_id, both in outcomes.groupby("claim_id", sort=False):
        first, second = (
            both[both["condition"] == horizon].iloc[0] for horizon in ("equal steps", "equal loss")
        )
        rows.append(
            {
                "no": claim_id,
                "statement": first["statement"],
                "foreseen": "yes" if first["foreseen"] else "no",
                "steps": first["verdict"],
                "loss": second["verdict"],
                "found": _found(first),
            }
        )
    return pd.DataFrame(rows)


def share_rows(shares: pd.DataFrame) -> pd.DataFrame:
    """Return every share with its joint interval, as words."""
    joint = shares[shares["method"] == "F inversion, joint"]
    return pd.DataFrame(
        {
            "response": joint["response"].map(RESPONSES),
            "source": joint["term"].map({key: name for key, (name, _) in SOURCES.items()}),
            "share": joint["estimate"].map(prose.percent),
            "interval": [
                prose.percent_interval(low, high)
                for low, high in zip(joint["conf_low"], joint["conf_high"], strict=True)
            ],
            "sd": joint["sd"].map(prose.number),
        }
    )


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
    joint = shares[(shares["method"] == "F inversion, joint") & (shares["response"] == "excess")]
    said = {
        term: f"{prose.percent(share)} {prose.percent_interval(low, high)}"
        for term, share, low, high in zip(
            joint["term"], joint["estimate"], joint["conf_low"], joint["conf_high"], strict=True
        )
    }
    among = prose.count(complete_recipes(documented, shapes))
    made = [f"{PARTS[term]} {share}" for term, share in said.items() if term in PARTS]
    return (
        f"Among {among} recipes trained on the same text in "
        f"{prose.plural(len(shapes), 'shape')}, the recipe makes {said['recipe']} of the "
        f"differences in growth beyond equal writes, {prose.listing(made)}."
    )


def short_sentence(runs: pd.DataFrame, shares: pd.DataFrame) -> str:
    """Return the first share of `sentence`, for a page that is read in a minute.

    The arguments are those of `sentence`, which is returned while there are no shares.
    """
    if shares.empty:
        return sentence(runs, shares)
    joint = shares[(shares["method"] == "F inversion, joint") & (shares["response"] == "excess")]
    row = joint[joint["term"] == "recipe"].iloc[0]
    documented = runs[runs["status"] == "documented"]
    shapes = shapes_told(documented)
    return (
        f"Among {prose.count(complete_recipes(documented, shapes))} recipes in "
        f"{prose.plural(len(shapes), 'shape')} the recipe makes {prose.percent(row['estimate'])} "
        f"{prose.percent_interval(row['conf_low'], row['conf_high'])} of the differences in growth."
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
    low, high = (prose.number(float(end)) for end in found["estimate"].agg(["min", "max"]))
    how_many = prose.count(shown) if shown else "none"
    return (
        f"Of {prose.count(len(found))} definitions of growth {how_many} "
        f"{'are' if shown > 1 else 'is'} shown to go with the held-out loss of recipes trained "
        f"alike (rank correlations {low} to {high})."
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


def band_words(band: Band) -> str:
    """Return what chance alone does, in units of the response."""
    return (
        "two networks that differ in the seed alone lie "
        f"{prose.number(MEAN_DIFFERENCE * band.sd, 3)} nat apart on average"
    )


def complete_recipes(runs: pd.DataFrame, shapes: Sequence[str]) -> int:
    """Return how many recipes have the most runs that any has, in every one of the shapes."""
    counts = runs.groupby(["recipe", "geometry"]).size().unstack(fill_value=0)  # noqa: PD010
    counts = counts.reindex(columns=list(shapes), fill_value=0)
    return int((counts == counts.to_numpy().max()).all(axis=1).sum())


def _found(row: pd.Series) -> str:
    if row["verdict"] == UNTOLD:
        return str(row["note"])
    interval = ""
    if pd.notna(row["conf_low"]):
        interval = f" {prose.interval(float(row['conf_low']), float(row['conf_high']))}"
    needed = prose.number(float(row["null_value"]))
    return f"{prose.number(float(row['estimate']))}{interval}; {needed}"


def _steps(term: str) -> int:
    return int(term.rpartition("_")[2])
