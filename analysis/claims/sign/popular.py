"""Claims of the forum post and the plain-language summary: who dampens, and in every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis import evidence
from analysis.claims.verdict.claim import Claim
from analysis.evidence.checks import Check
from analysis.inference.resampling.bootstrap import draws, interval, interval_note
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.frame import Integers

SEED = 20260106
RESAMPLES = 1999
#: Labs the forum post sets against EleutherAI.
SHOUTERS = ("Meta", "OpenAI")
#: Two models are of one size when the larger has at most this many times the parameters.
SAME_SIZE = 1.05
OPPOSITE = "models of one depth and one number of heads behave oppositely"
ACROSS_SIZES = "this holds across model sizes"
QUIETER = "each layer of a whisperer makes the signal quieter"


def dampeners(store: Store) -> Sequence[Check]:
    """Check claim 54: EleutherAI's models, Pythia and GPT-NeoX, mostly dampen."""
    sets = definitions(store)
    penultimate = sets["all base models, penultimate block"]
    ours = {name: rows[rows["lab"] == "EleutherAI"] for name, rows in sets.items()}
    return [
        *(_mostly("EleutherAI's models mostly dampen", name, rows) for name, rows in ours.items()),
        *(
            _mostly("Pythia mostly dampens", name, rows[rows["suite"] == "Pythia"])
            for name, rows in ours.items()
        ),
        *_neox(penultimate[penultimate["lab"] == "EleutherAI"]),
        *_measured_dampeners(store),
    ]


def definitions(store: Store) -> Mapping[str, pd.DataFrame]:
    """Return the gains of base models, one row per model, under each published definition."""
    penultimate = evidence.published_gains(store, "gain_penultimate_block")
    base = evidence.base_models(penultimate)
    hunt = evidence.base_models(penultimate[penultimate["file"] == evidence.HUNT])
    last = evidence.base_models(evidence.published_gains(store, "gain_last_block"))
    return {
        "all base models, penultimate block": base,
        "the models of the hunt, penultimate block": hunt,
        "all base models without gains within 1 % of 1, penultimate block": (
            evidence.away_from_one(base)
        ),
        "all base models, last block": last,
        "all base models, mean over blocks 1 to the penultimate": mean_over_blocks(store),
    }


def mean_over_blocks(store: Store) -> pd.DataFrame:
    """Return one row per model: geometric mean of its published block gains after block 0."""
    blocks = evidence.block_gains(store)
    by = ["model_id", "lab", "suite", "file", "caveats"]
    logged = blocks.assign(log_gain=np.log(blocks["value"]))
    means = logged.groupby(by)["log_gain"].mean().reset_index()
    return means.assign(gain_mean=np.exp(means["log_gain"]))


def opposites(store: Store) -> Sequence[Check]:
    """Check claim 55: same depth, same heads, opposite behaviour, across model sizes."""
    sized = _sized(store)
    models = evidence.without_post_norm(sized)
    same_shape = pairs(models, ["n_layers", "n_heads"])
    same_size = pairs(models, ["n_layers"])
    near = same_size["size_ratio"] <= SAME_SIZE
    pythia = models[models["suite"] == "Pythia"]
    return [
        _all_opposite(OPPOSITE, "each pair of EleutherAI with Meta or OpenAI", same_shape),
        _some_opposite("at least one such pair, both intervals clear of 1", same_shape),
        _all_opposite(
            OPPOSITE,
            "each pair, the post-norm model among them",
            pairs(sized, ["n_layers", "n_heads"]),
        ),
        _all_opposite(ACROSS_SIZES, "each pair of one depth and one size", same_size[near]),
        _strata("in each group of one depth and one number of heads", same_shape),
        _one_side("within Pythia, each size on one side of 1", pythia),
    ]


def pairs(models: pd.DataFrame, same: Sequence[str]) -> pd.DataFrame:
    """Return one row per pair of an EleutherAI model with one of Meta or OpenAI that match.

    Adds to both models' columns (those of the second end in ``_other``) `size_ratio`, larger
    over smaller parameter count, `opposite` (ours below 1, the other above) and `is_clear`
    (both 95 % intervals exclude 1).
    """
    ours = models[models["lab"] == "EleutherAI"]
    others = models[models["lab"].isin(SHOUTERS)]
    joined = ours.merge(others, on=list(same), suffixes=("", "_other"))
    distance = (joined["log_parameters"] - joined["log_parameters_other"]).abs()
    clear = [
        (joined[f"conf_low{which}"] > 1) | (joined[f"conf_high{which}"] < 1)
        for which in ("", "_other")
    ]
    return joined.assign(
        size_ratio=10**distance,
        opposite=(joined["gain_mean"] < 1) & (joined["gain_mean_other"] > 1),
        is_clear=clear[0] & clear[1],
        file=joined["file"] + " " + joined["file_other"],
        caveats=joined["caveats"] + "," + joined["caveats_other"],
    )


def quieter(store: Store) -> Sequence[Check]:
    """Check claim 57: each layer of a whisperer makes the signal a bit quieter."""
    blocks = evidence.block_gains(store)
    ours = blocks[blocks["lab"] == "EleutherAI"]
    gains = evidence.base_models(evidence.published_gains(store, "gain_penultimate_block"))
    below = gains.loc[gains["gain_mean"] < 1, "model_id"]
    whisperers = {
        "the Pythia family": ours[ours["suite"] == "Pythia"],
        "models of EleutherAI whose penultimate block dampens": ours[ours["model_id"].isin(below)],
        "GPT-Neo": ours[ours["suite"] == "GPT-Neo"],
    }
    return [
        *(_every_block(f"every block, {name}", rows) for name, rows in whisperers.items()),
        *(_on_average(f"mean over blocks, {name}", rows) for name, rows in whisperers.items()),
        *_measured_blocks(store),
    ]


def share_quieter(quieter: Integers, blocks: Integers) -> tuple[float, float, float]:
    """Return the share of blocks below 1, with a 95 % interval from resampling models.

    ``quieter`` and ``blocks`` count those below 1 and all of them, shape (models,).
    """
    estimate = float(quieter.sum() / blocks.sum())
    drawn = draws(len(blocks), RESAMPLES, np.random.default_rng(SEED))
    replicates = quieter[drawn].sum(axis=1) / blocks[drawn].sum(axis=1)
    return estimate, *interval(replicates, estimate, 0.95)


def _sized(store: Store) -> pd.DataFrame:
    gains = evidence.published_gains(store, "gain_penultimate_block")
    return evidence.with_interval(evidence.base_models(gains))


def _mostly(part: str, condition: str, rows: pd.DataFrame, *, fewest: int = 2) -> Check:
    if len(rows) < fewest:
        found = prose.plural(len(rows), "such model")
        return evidence.missing(part, condition, f"the store has gains of {found}")
    below = int((rows["gain_mean"] < 1).sum())
    return evidence.share_check(
        part,
        condition,
        below,
        rows,
        holds=below > len(rows) / 2,
        method="share of models whose gain is below 1",
        note=f"{prose.share_of(below, len(rows))} models.",
    )


def _neox(ours: pd.DataFrame) -> list[Check]:
    """Judge what the forum post may mean by GPT-NeoX, a model that no file measures."""
    part = "GPT-NeoX mostly dampens"
    readings = {
        "the model of that name": ours["model_id"].str.contains("gpt-neox", case=False),
        "the architecture of that name": ours["family"] == "gpt_neox",
        "GPT-Neo, the suite of a like name": ours["suite"] == "GPT-Neo",
    }
    return [_mostly(part, name, ours[meant], fewest=1) for name, meant in readings.items()]


def _measured_dampeners(store: Store) -> list[Check]:
    rows = evidence.measured_gains(store, "gain_penultimate_block")
    ours = evidence.base_models(rows[rows["lab"] == "EleutherAI"])
    if ours.empty:
        return []
    condition = "models measured here, penultimate block"
    pythia = ours[ours["suite"] == "Pythia"]
    return [
        evidence.on_ours(_mostly("Pythia mostly dampens", condition, pythia), pythia),
        evidence.on_ours(_mostly("EleutherAI's models mostly dampen", condition, ours), ours),
    ]


def _of_pairs(
    part: str, condition: str, matched: pd.DataFrame, *, holds: bool | None, note: str
) -> Check:
    """Return a check on pairs, which counts the models and suites of both sides."""
    return evidence.check(
        part,
        condition,
        holds,
        matched,
        estimate=float(matched["opposite"].mean()),
        **evidence.both_sides(matched, "_other"),
        method="share of pairs in which EleutherAI's model is below 1 and the other above; models "
        "recur in pairs, so no interval",
        note=note,
    )


def _all_opposite(part: str, condition: str, matched: pd.DataFrame) -> Check:
    if matched.empty:
        return evidence.missing(part, condition, "no two models match")
    alike = matched[~matched["opposite"]]
    named = ", ".join(_versus(row) for row in alike.to_dict("records"))
    return _of_pairs(
        part,
        condition,
        matched,
        holds=alike.empty,
        note=f"Of the pairs {prose.share_of(len(matched) - len(alike), len(matched))} are opposite"
        + (f"; not so {named}." if named else "."),
    )


def _some_opposite(condition: str, matched: pd.DataFrame) -> Check:
    if matched.empty:
        return evidence.missing(OPPOSITE, condition, "no two models match")
    clear = matched[matched["opposite"] & matched["is_clear"]]
    named = ", ".join(_versus(row) for row in clear.to_dict("records"))
    return _of_pairs(
        OPPOSITE,
        condition,
        matched,
        holds=not clear.empty,
        note=f"Both intervals exclude 1 for {named}."
        if named
        else "No pair is clear of 1 on both sides.",
    )


def _versus(row: Mapping[Any, Any]) -> str:
    first, second = (str(row[name]).partition("/")[2] for name in ("model_id", "model_id_other"))
    return f"{first} {row['gain_mean']:.2f} and {second} {row['gain_mean_other']:.2f}"


def _strata(condition: str, matched: pd.DataFrame) -> Check:
    """Compare the mean of EleutherAI with that of the others in each group of one shape."""
    if matched.empty:
        return evidence.missing(ACROSS_SIZES, condition, "no two models match")
    groups = matched.groupby(["n_layers", "n_heads"])
    means = pd.DataFrame(
        {
            "ours": groups.apply(lambda rows: rows.drop_duplicates("model_id")["gain_mean"].mean()),
            "others": groups.apply(
                lambda rows: rows.drop_duplicates("model_id_other")["gain_mean_other"].mean()
            ),
        }
    )
    opposite = (means["ours"] < 1) & (means["others"] > 1)
    named = ", ".join(
        f"L = {shape[0]}, H = {shape[1]}: {row['ours']:.2f} and {row['others']:.2f}"
        for shape, row in zip(means.index, means.to_dict("records"), strict=True)
    )
    return _of_pairs(
        ACROSS_SIZES,
        condition,
        matched,
        holds=bool(opposite.all()),
        note=f"Means of EleutherAI and of the others at {named}.",
    )


def _one_side(condition: str, rows: pd.DataFrame) -> Check:
    """Ask whether a suite lies on one side of 1 at every size."""
    if len(rows) < 2:
        return evidence.missing(ACROSS_SIZES, condition, "fewer than two such models")
    below = int((rows["gain_mean"] < 1).sum())
    return evidence.share_check(
        ACROSS_SIZES,
        condition,
        below,
        rows,
        holds=below in (0, len(rows)),
        method="share of models whose gain is below 1",
        note=f"{prose.share_of(below, len(rows))} models are below 1.",
    )


def _every_block(condition: str, blocks: pd.DataFrame) -> Check:
    if blocks["model_id"].nunique() < 2:
        return evidence.missing(QUIETER, condition, "fewer than two profiles are in the store")
    models = (
        blocks.assign(is_quieter=blocks["value"] < 1)
        .groupby("model_id")["is_quieter"]
        .agg(["sum", "count"])
    )
    estimate, low, high = share_quieter(models["sum"].to_numpy(), models["count"].to_numpy())
    shares = models["sum"] / models["count"]
    return evidence.check(
        QUIETER,
        condition,
        estimate == 1,
        blocks,
        estimate=estimate,
        conf_low=low,
        conf_high=high,
        method="share of blocks with a gain below 1; bootstrap over models, percentile interval",
        note=f"By model between {shares.min():.2f} and {shares.max():.2f}. "
        f"{interval_note(len(models), estimate, low, high)}".strip(),
    )


def _on_average(condition: str, blocks: pd.DataFrame) -> Check:
    if blocks.empty:
        return evidence.missing(QUIETER, condition, "no such profile is in the store")
    means = np.exp(np.log(blocks["value"]).groupby(blocks["model_id"]).mean())
    models = blocks.drop_duplicates("model_id")
    return evidence.share_check(
        QUIETER,
        condition,
        int((means < 1).sum()),
        models,
        holds=bool((means < 1).all()),
        method="share of models whose geometric mean gain over blocks is below 1",
        note=f"The means lie between {means.min():.3f} and {means.max():.3f}.",
    )


def _measured_blocks(store: Store) -> list[Check]:
    """Return the share of quieter blocks of the models measured here."""
    blocks = store.query(
        """
        SELECT g.model_id, m.suite, g.layer, avg(g.gain) AS value,
               'run' AS file, '' AS caveats,
               g.model_id IN (SELECT model_id FROM published_figure) AS is_theirs
          FROM last_token_gain AS g
          JOIN primary_run AS r USING (run_id)
          JOIN model AS m ON m.model_id = g.model_id
         WHERE g.layer > 0
         GROUP BY g.model_id, m.suite, g.layer
         ORDER BY g.model_id, g.layer
        """
    )
    if blocks["model_id"].nunique() < 2:
        return []
    return [evidence.on_ours(_every_block("every block, models measured here", blocks), blocks)]


CLAIMS = (
    Claim(
        54,
        "Share of EleutherAI's base models, and of Pythia and GPT-NeoX among them, whose mean gain "
        "is below 1",
        "More than half of the models are below 1: of EleutherAI's, of Pythia's and of GPT-NeoX's.",
        dampeners,
    ),
    Claim(
        55,
        "Share of pairs of an EleutherAI model with one of Meta or OpenAI, of one depth and one "
        "number of heads, in which the first dampens and the second expands",
        "The share is 1, or at least one pair is so with both intervals clear of 1; and it is so "
        "at each size: pairs of one depth whose parameter counts differ by at most 5 %, groups of "
        "one shape, and Pythia itself on one side of 1.",
        opposites,
        "universal",
    ),
    Claim(
        57,
        "Share of blocks after the first, in models said to dampen, whose gain is below 1",
        "Every block is below 1; or, read loosely, the geometric mean over blocks is.",
        quieter,
        "universal",
    ),
)
