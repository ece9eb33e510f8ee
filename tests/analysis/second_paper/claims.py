"""The claims of an invented paper: its table bears out one, refutes one, and cannot tell of one."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.audit import Check, Claim, evidence
from analysis.inference import correlation
from analysis.store import Store


def below_three(store: Store) -> Sequence[Check]:
    """Check claim 1: every loss is below 3 nats."""
    losses = evidence.figures(store, "held_out_loss")
    below = losses["mean"] < 3
    return [
        evidence.share_check(
            "every loss is below 3 nats",
            "table 2",
            int(below.sum()),
            losses,
            holds=bool(below.all()),
            method="share of models below 3 nats",
        )
    ]


def falls_with_depth(store: Store) -> Sequence[Check]:
    """Check claim 2: loss and depth correlate with r = -0.9."""
    losses = evidence.figures(store, "held_out_loss")
    row = correlation.correlate(losses, x="n_layers", y="mean").iloc[0]
    return [
        evidence.check(
            "r = -0.9 between depth and loss",
            "table 2, all models",
            evidence.prints_as(row["estimate"], "-0.9"),
            losses,
            estimate=row["estimate"],
            conf_low=row["conf_low"],
            conf_high=row["conf_high"],
            p_value=row["p_value"],
            method=row["method"],
            measure="r",
        )
    ]


def dropout(store: Store) -> Sequence[Check]:
    """Check claim 3: dropout lowers the loss, of which the paper prints nothing."""
    part, condition = "dropout lowers the loss", "models with and without dropout"
    losses = evidence.figures(store, "held_out_loss_with_dropout")
    if losses.empty:
        return [evidence.missing(part, condition, "the paper prints no loss with dropout")]
    return [evidence.check(part, condition, bool((losses["mean"] < 2.5).all()), losses)]


CLAIMS = (
    Claim(
        1,
        "Share of models whose loss is below 3 nats",
        "The share is 1.",
        below_three,
        "universal",
    ),
    Claim(
        2,
        "Pearson correlation of depth with loss over the models",
        "It prints as -0.9.",
        falls_with_depth,
        "value",
    ),
    Claim(
        3,
        "Difference of loss between models with and without dropout",
        "The loss is lower with dropout.",
        dropout,
    ),
)
