"""The claim of the plain-language summary that each layer of a dampening model is quieter (57)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.delia2026.sign.claims_popular import mean_over_blocks
from analysis.inference.association import regression
from analysis.inference.resampling.bootstrap import draws, interval, interval_note
from analysis.store import Store
from analysis.tidy.frame import Integers

SEED = 20260106
EVERY_BLOCK = Label("blocks", "every block, ")
RESAMPLES = 1999
QUIETER = "each layer of a whisperer makes the signal quieter"


@claim(57, Line(QUIETER, "share", 1))
def quieter(store: Store) -> Sequence[Check]:
    """Check claim 57: each layer of a whisperer makes the signal a bit quieter."""
    blocks = evidence.block_gains(store)
    ours = blocks[blocks["lab"] == "EleutherAI"]
    gains = evidence.base_gains(store, "gain_penultimate_block")
    below = gains.loc[gains["gain_mean"] < 1, "model_id"]
    whisperers = {
        Label("pythia", "the Pythia family"): ours[ours["suite"] == "Pythia"],
        Label("dampening", "models of EleutherAI whose penultimate block dampens"): ours[
            ours["model_id"].isin(below)
        ],
        Label("neo", "GPT-Neo"): ours[ours["suite"] == "GPT-Neo"],
    }
    return [
        *(_every_block(EVERY_BLOCK + name, rows) for name, rows in whisperers.items()),
        *(
            _average_check(Label("mean", "mean over blocks, ") + name, rows)
            for name, rows in whisperers.items()
        ),
        evidence.descriptive(_depth_adjusted_check(store)),
        *_measured_blocks(store),
    ]


def share_quieter(quieter: Integers, blocks: Integers) -> tuple[float, float, float]:
    """Return the share of blocks below 1, with a 95 % interval from resampling models.

    ``quieter`` and ``blocks`` count those below 1 and all of them, shape (models,).
    """
    estimate = float(quieter.sum() / blocks.sum())
    drawn = draws(len(blocks), RESAMPLES, np.random.default_rng(SEED))
    replicates = quieter[drawn].sum(axis=1) / blocks[drawn].sum(axis=1)
    return estimate, *interval(replicates, 0.95)


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
        measure="share",
    )


def _average_check(condition: str, blocks: pd.DataFrame) -> Check:
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


def _depth_adjusted_check(store: Store) -> Check:
    """Compare whisperers with others of their depth by the mean over blocks.

    A post-norm model is left out, whose gains are 1 by construction. Suites are the units, so the
    degrees of freedom are far fewer than the models; the note has them.
    """
    condition = Label(
        "beyond_depth", "mean over blocks, EleutherAI against others, depth held constant"
    )
    shapes = store.query("SELECT model_id, n_layers, norm_position FROM raw.model")
    rows = evidence.without_post_norm(mean_over_blocks(store).merge(shapes, on="model_id"))
    if rows["suite"].nunique() < 4 or rows["lab"].nunique() < 2:
        return evidence.missing(QUIETER, condition, "fewer than four suites have a profile")
    described = rows.assign(
        log_gain=np.log(rows["gain_mean"]),
        log_depth=np.log(rows["n_layers"].astype("float64")),
        whispers=(rows["lab"] == "EleutherAI").astype(float),
    )
    terms = regression.fit(described, "log_gain ~ log_depth + whispers", cluster="suite").tidy()
    row = terms[terms["term"] == "whispers"].iloc[0]
    low, high = float(np.exp(row["conf_low"])), float(np.exp(row["conf_high"]))
    beyond = "" if low > 1 or high < 1 else "Beyond depth these data show no difference of labs. "
    return evidence.check(
        QUIETER,
        condition,
        decision.below(low, high, 1),
        rows,
        estimate=float(np.exp(row["estimate"])),
        conf_low=low,
        conf_high=high,
        p_value=row["p_value"],
        method=f"ratio of mean gains per block; {row['method']}",
        note=f"{beyond}The interval has {row['df']:.1f} degrees of freedom, not those of "
        f"{len(rows)} models: they are {rows['suite'].nunique()} suites. {row['note']}".strip(),
        measure="ratio",
    )


def _measured_blocks(store: Store) -> list[Check]:
    """Return the share of quieter blocks of the models measured here."""
    blocks = evidence.measured_blocks(store)
    if blocks["model_id"].nunique() < 2:
        return []
    return [
        evidence.on_ours(
            _every_block(EVERY_BLOCK + Label("ours", "models measured here") + words, rows), rows
        )
        for words, rows in evidence.definitions(blocks, ["value"]).items()
    ]
