"""Claims in captions: what the error bars are, over how many prompts, and what was clipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence import quoted
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.forensics import error_bar
from analysis.forensics.rounding import read
from analysis.store import Store
from analysis.tidy import prose

PROMPTS = Label("prompts", "25 prompts per model")
BARS = Label("bars", "the bars are one standard deviation over prompts")
CLIPPED = Label("clipped", "two values are clipped")

STANDARD_ERROR = "standard error"

#: A match counts when fewer than this many are expected by chance.
RARE = 0.05

#: Distances to a neighbour among which the largest fall is sought.
LOOKED_AT = 10

Mask = NDArray[np.bool_]


def _lab_label(lab: str) -> Label:
    return Label(lab.lower(), f"{lab}: the bar is one standard error")


@claim(24, Line(_lab_label("EleutherAI"), "ratio", 1))
def standard_errors(store: Store) -> Sequence[Check]:
    """Check claim 24: the error bars of Fig. 2 are one standard error."""
    figure = quoted.at(store, "Fig. 2")
    drawn = figure.pivot_table(
        index="subject", columns="quantity", values="printed", aggfunc="first"
    )
    if "error_bar" not in drawn:
        part = "the bars are one standard error"
        return [evidence.missing(part, Label("drawn", "as drawn"), quoted.ABSENT)]
    accuracy = float(figure["accuracy"].max())
    bars = drawn.dropna(subset=["error_bar"])
    gains = evidence.published_gains(store, "gain_penultimate_block", [evidence.HUNT])
    every = evidence.base_gains(store, "gain_penultimate_block")
    checks = []
    for lab, bar in bars.iterrows():
        rows, candidates = gains[gains["lab"] == lab], every[every["lab"] == lab]
        checks.append(_bar(str(lab), bar, rows, accuracy))
        if checks[-1].holds is False and len(candidates) > len(rows) > 1:
            result = _choice(str(lab), bar, len(rows), candidates, accuracy)
            checks.append(evidence.descriptive(result))
    return checks


@claim(28)
def spread_of_prompts(store: Store) -> Sequence[Check]:
    """Check claim 28: the bars of Fig. 6 are one standard deviation across 25 prompts."""
    return [
        _prompts(store, "Fig. 6"),
        _stated_spread(BARS, store),
        evidence.missing(
            BARS, Label("drawn", "the bars as drawn"), "they were not read off the figure"
        ),
    ]


@claim(30)
def clipped(store: Store) -> Sequence[Check]:
    """Check claim 30: Fig. 7 shows 25 prompts per model, two outliers clipped."""
    return [
        _prompts(store, "Fig. 7"),
        _outliers(store),
    ]


def _bar(lab: str, drawn: pd.Series[Any], rows: pd.DataFrame, accuracy: float) -> Check:
    """Decide whether a lab's bar is the standard error of its models in the figure's file."""
    part, condition = _lab_label(lab), Label("hunt", "the models of the hunt")
    if len(rows) < 2:
        return evidence.missing(part, condition, "fewer than two of its models are in the store")
    mean, bar = str(drawn["gain_by_lab"]), str(drawn["error_bar"])
    kinds = error_bar.kinds(float(rows["gain_mean"].std()), len(rows), bar, accuracy=accuracy)
    named = kinds.loc[kinds["consistent"], "term"].tolist()
    value = float(rows["gain_mean"].mean())
    is_printed = read(mean, accuracy=accuracy).meets(value, value)
    others = f" The drawn mean, {mean}, is not theirs either, {value:.4f}."
    return evidence.check(
        part,
        condition,
        STANDARD_ERROR in named,
        rows,
        estimate=read(bar).value / float(kinds.set_index("term")["estimate"][STANDARD_ERROR]),
        method="drawn length over the standard deviation over models over the root of their number",
        note=f"Drawn: {bar}, {' or '.join(named) or 'no usual spread'} of these models, whose "
        f"standard error is {kinds.set_index('term')['estimate'][STANDARD_ERROR]:.4f}."
        f"{'' if is_printed else others}",
        measure="ratio",
    )


def _choice(
    lab: str, drawn: pd.Series[Any], size: int, candidates: pd.DataFrame, accuracy: float
) -> Check:
    """Look for other models of the lab that have the drawn mean and standard error.

    It can only find some or none, which says nothing against the claim: it describes.
    """
    part = _lab_label(lab)
    condition = Label("choice", f"some {size} of the lab's base models in any file")
    matches = error_bar.subsets(
        candidates["gain_mean"].tolist(),
        size,
        str(drawn["gain_by_lab"]),
        str(drawn["error_bar"]),
        accuracy=accuracy,
    )
    if matches.empty:
        return evidence.missing(part, condition, "no such choice gives both numbers")
    first = matches.iloc[0]
    chosen = candidates.iloc[list(first["rows"])]
    named = ", ".join(name.partition("/")[2] for name in chosen["model_id"])
    return evidence.check(
        part,
        condition,
        True if first["expected_matches"] < RARE else None,
        chosen,
        estimate=read(str(drawn["error_bar"])).value / float(first["std_error"]),
        method="drawn length over the standard error; search through all choices of models",
        note=f"{len(matches)} of {first['n_choices']} choices match ({named}); by chance "
        f"{prose.power_of_ten(first['expected_matches'], 1)} would.",
        measure="ratio",
    )


def _prompts(store: Store, place: str) -> Check:
    part, condition = PROMPTS, f"prompts of each model behind {place}"
    rows = evidence.published_gains(store, "gain_penultimate_block", [evidence.PYTHIA])
    try:
        expected = int(quoted.text(store, place, "n_prompts", "Pythia"))
    except LookupError as reason:
        return evidence.missing(part, condition, reason)
    if rows.empty:
        return evidence.missing(part, condition, "the sweep's figures are not in the store")
    return evidence.check(
        part,
        condition,
        bool((rows["n_prompts"] == expected).all()),
        rows,
        estimate=float(rows["n_prompts"].min()),
        method="smallest number of prompts of any model",
        measure="count",
    )


def _sweep_values(store: Store, statistic: str) -> pd.DataFrame:
    """Return the raw gains of the sweep: one row per value of one statistic."""
    return store.facts(
        """
        SELECT v.model_id, m.suite, v.file, v.caveats, v.value
          FROM raw_value AS v
          JOIN raw.model AS m USING (model_id)
         WHERE v.file = $file
           AND v.metric = 'gain_penultimate_block'
           AND v.statistic = $statistic
         ORDER BY v.model_id, v.path
        """,
        file=evidence.PYTHIA,
        statistic=statistic,
    )


def _stated_spread(part: str, store: Store) -> Check:
    """Recompute, from the raw file, the spread it states beside each mean."""
    condition = Label(
        "spread", "the spread that the file states beside each mean, against its single values"
    )
    values, stated = _sweep_values(store, "value"), _sweep_values(store, "sd")
    if values.empty or stated.empty:
        return evidence.missing(part, condition, "the raw file is not imported")
    spreads = values.groupby("model_id")["value"].agg(lambda one: float(np.std(one)))
    ratios = stated.set_index("model_id")["value"] / spreads
    return evidence.check(
        part,
        condition,
        bool(np.allclose(ratios, 1, rtol=1e-9)),
        values,
        estimate=float(ratios.iloc[(ratios - 1).abs().argmax()]),
        method="stated spread over the standard deviation with divisor n, farthest from 1",
        note="The divisor is n, not n - 1; with 25 prompts the bars are 2 % shorter for it.",
    )


def _outliers(store: Store) -> Check:
    """Count the values that stand apart from all others, and compare with the published count."""
    condition = Label("apart", "values that stand apart from all others")
    values = _sweep_values(store, "value")
    try:
        expected = int(quoted.text(store, "Fig. 7", "n_clipped", "Pythia"))
    except LookupError as reason:
        return evidence.missing(CLIPPED, condition, reason)
    if values.empty:
        return evidence.missing(CLIPPED, condition, "the raw file is not imported")
    beyond = values[apart(values)]
    shown = ", ".join(f"{row.model_id} {row.value:.3f}" for row in beyond.itertuples())
    return evidence.check(
        CLIPPED,
        condition,
        len(beyond) == expected,
        values,
        estimate=float(len(beyond)),
        method="count of values",
        note=f"{shown}. The limits of the axis are not printed.",
        measure="count",
    )


def apart(values: pd.DataFrame) -> Mask:
    """Return which values stand apart: before the largest fall of distances to a neighbour."""
    ordered = values["value"].sort_values()
    steps = np.diff(ordered, prepend=-np.inf, append=np.inf)
    distances = pd.Series(np.minimum(steps[:-1], steps[1:]), ordered.index)
    largest = distances.nlargest(LOOKED_AT).to_numpy()
    last = int(np.argmax(largest[:-1] / largest[1:]))
    return np.asarray(distances.reindex(values.index) >= largest[last])
