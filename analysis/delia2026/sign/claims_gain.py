"""Claims about what the gain is: equation (2) without the final norm, and the groups of Fig. 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.audit import evidence
from analysis.audit.claim import Line
from analysis.audit.evidence.checks import Check, Label
from analysis.delia2026.declared import claim
from analysis.store import Store

#: Files whose gains the paper says leave out the final norm, by the figures they stand behind.
SWEEPS = {
    evidence.PYTHIA: Label("sweep", "the sweep of the Pythia family (Figs. 1, 6 and 7)"),
    evidence.HUNT: Label("hunt", "the hunt for dense models (Fig. 2)"),
    evidence.CLEAN: Label("fp32", "the repeat in fp32"),
}
WITHOUT_NORM = Label("norm", "the final norm is left out")
LAST_BLOCK = Label("block", "the gain is that of the last block, equation (2) at its end")


def steps(store: Store) -> pd.DataFrame:
    """Return one row per model and sweep: its plotted gain and the published steps it may be.

    Columns: `gain_mean` (plotted), `penultimate` (step of the penultimate block in the same
    file's profile) and `with_norm` (last step of the profile, final norm in it) [ratio].
    """
    return store.query(
        """
        SELECT g.model_id, g.suite, g.file, g.caveats, g.gain_mean,
               p.value AS penultimate, n.mean AS with_norm
          FROM gain_by_model AS g
          JOIN published_profile AS p
            ON p.model_id = g.model_id
           AND p.file = g.file
           AND p.metric = 'gain_block'
           AND p.layer = g.n_layers - 2
          JOIN published_figure AS n
            ON n.model_id = g.model_id
           AND n.file = g.file
           AND n.metric = 'gain_with_final_norm'
         WHERE g.source = 'published'
           AND g.metric = 'gain_penultimate_block'
         ORDER BY g.file, g.model_id
        """
    )


@claim(25, Line(WITHOUT_NORM, "share", 1))
def definition(store: Store) -> Sequence[Check]:
    """Check claim 25: the gain is taken with the final norm left out.

    Appendix B gives the step before the last one, so that another block than equation (2) names at
    the end is no fault of the claim: which block it is, is shown.
    """
    plotted = steps(store)
    by_file = {words: plotted[plotted["file"] == file] for file, words in SWEEPS.items()}
    blocks = [_last_block(condition, rows) for condition, rows in by_file.items()]
    return [
        *(_normless_check(condition, rows) for condition, rows in by_file.items()),
        *map(evidence.descriptive, [*blocks, _hook_check(store)]),
        *_measured_checks(store),
    ]


@claim(27)
def groups(store: Store) -> Sequence[Check]:
    """Check claim 27: in Fig. 1 dampeners cluster below 1 and expanders above."""
    part = "dampeners cluster below 1, expanders above"
    rows = evidence.published_gains(store, "gain_penultimate_block", [evidence.PYTHIA])
    readings = (
        Label("clusters", "as two clusters"),
        Label("intervals", "by intervals over prompts"),
        Label("means", "by the plotted means"),
    )
    if len(rows) < 3:
        reason = "fewer than three models of the sweep are in the store"
        return [evidence.missing(part, condition, reason) for condition in readings]
    clusters, identified, plotted = readings
    return [
        _gap(part, clusters, rows.sort_values("gain_mean", ignore_index=True)),
        _groups_check(part, identified, evidence.with_interval(rows)),
        evidence.descriptive(_sides(part, plotted, rows)),
    ]


def _normless_check(condition: str, rows: pd.DataFrame) -> Check:
    if rows.empty:
        return evidence.missing(WITHOUT_NORM, condition, "the file's figures are not in the store")
    outside = ~np.isclose(rows["gain_mean"], rows["with_norm"], rtol=1e-6)
    factor = rows["with_norm"] / rows["gain_mean"]
    turned = int(((rows["with_norm"] < 1) != (rows["gain_mean"] < 1)).sum())
    return evidence.share_check(
        WITHOUT_NORM,
        condition,
        int(outside.sum()),
        rows,
        holds=bool(outside.all()),
        method="share of models whose plotted gain is not the file's step with the norm in it",
        is_sample=False,
        note=f"With the norm the gain would be {factor.min():.3g} to {factor.max():.3g} times as "
        f"large, and {turned} of {len(rows)} models would change sides of 1.",
    )


def _last_block(condition: str, rows: pd.DataFrame) -> Check:
    if rows.empty:
        return evidence.missing(LAST_BLOCK, condition, "the file's figures are not in the store")
    earlier = np.isclose(rows["gain_mean"], rows["penultimate"], rtol=1e-6)
    return evidence.share_check(
        LAST_BLOCK,
        condition,
        int((~earlier).sum()),
        rows,
        holds=not earlier.any(),
        method="share of models whose plotted gain is not the step of the penultimate block",
        is_sample=False,
        note=f"The plotted gain of {int(earlier.sum())} of {len(rows)} models is the step of the "
        "penultimate block in the profile of the same file.",
    )


def _hook_check(store: Store) -> Check:
    """Count the gains taken at the blocks themselves, which no final norm can reach."""
    condition = Label(
        "hooked", "the benchmark, GPT-2, GPT-J and the instruct pairs, hooked at the blocks"
    )
    rows = evidence.published_gains(store, "gain_last_block")
    if rows.empty:
        return evidence.missing(LAST_BLOCK, condition, "no such gain is in the store")
    return evidence.check(
        LAST_BLOCK,
        condition,
        True,
        rows,
        estimate=float(rows["model_id"].nunique()),
        method="count of models",
        note="By the definition of the metric, read from the notebooks: these files keep no "
        "profile that could show it.",
        measure="count",
    )


def _measured_checks(store: Store) -> list[Check]:
    """Compare the two blocks on models measured here; says how much B1 can matter."""
    gains = [
        evidence.measured_gains(store, metric)
        for metric in ("gain_last_block", "gain_penultimate_block")
    ]
    last, earlier = (evidence.definitions(rows, ["gain_mean"]) for rows in gains)
    return [
        check
        for words, rows in last.items()
        if words in earlier
        for check in _one_side_of_one(words, rows, earlier[words])
    ]


def _one_side_of_one(words: str, last: pd.DataFrame, earlier: pd.DataFrame) -> list[Check]:
    both = last.merge(earlier[["file", "gain_mean"]], on="file", suffixes=("", "_earlier"))
    if both.empty:
        return []
    same = (both["gain_mean"] < 1) == (both["gain_mean_earlier"] < 1)
    check = evidence.share_check(
        LAST_BLOCK,
        Label(
            "ours",
            "models measured here: the last block and the one before it lie on one side of 1",
        )
        + words,
        int(same.sum()),
        both,
        holds=None,
        decides=False,
        method="share of models on the same side of 1",
        note="It shows whether the difference matters, not what the paper's files hold.",
    )
    return [evidence.on_ours(check, both)]


def _sides(part: str, condition: str, rows: pd.DataFrame) -> Check:
    below = int((rows["gain_mean"] < 1).sum())
    return evidence.check(
        part,
        condition,
        0 < below < len(rows),
        rows,
        estimate=below / len(rows),
        method="share of models whose mean gain is below 1",
        note=f"{below} of {len(rows)} models lie below 1 and are called dampeners for it, so they "
        "lie there by definition.",
        measure="share",
    )


def _groups_check(part: str, condition: str, rows: pd.DataFrame) -> Check:
    open_ = rows[(rows["conf_low"] <= 1) & (rows["conf_high"] >= 1)]
    named = ", ".join(open_["model_id"])
    has_both = bool((rows["gain_mean"] < 1).any() and (rows["gain_mean"] > 1).any())
    return evidence.share_check(
        part,
        condition,
        len(rows) - len(open_),
        rows,
        holds=None if len(open_) else has_both,
        method="share of models whose 95 % interval over prompts excludes 1",
        note=f"These prompts cannot tell on which side lie: {named}." if named else "",
    )


def _gap(part: str, condition: str, ordered: pd.DataFrame) -> Check:
    """Ask whether the widest gap between neighbours, where two clusters part, contains 1."""
    gains = ordered["gain_mean"].to_numpy()
    place = int(np.diff(gains).argmax())
    low, high = float(gains[place]), float(gains[place + 1])
    names = ordered["model_id"].str.partition("/")[2]
    return evidence.check(
        part,
        condition,
        low < 1 <= high,
        ordered,
        estimate=(low + high) / 2,
        method="middle of the widest gap between neighbouring gains",
        note=f"The widest gap is between {names[place]} ({low:.3f}) and {names[place + 1]} "
        f"({high:.3f}).",
        measure="threshold",
    )
