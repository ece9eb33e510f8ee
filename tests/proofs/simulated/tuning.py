"""Claim 19 in simulated papers: a model keeps its character in fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.audit import evidence
from analysis.audit.evidence.checks import Check
from analysis.delia2026.sign import claims_finetuning as finetuning
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Bools, Design
from tests.proofs.simulated.papers import of_tuned

Pair = tuple[Floats, Floats]


def tuning_checks(design: Design, log_gains: Mapping[str, Floats]) -> list[list[Check]]:
    """Return the checks of claim 19, each over all papers; single prompts are not simulated."""
    places = design.pairs["place"].to_numpy()
    lineage = design.pairs["is_lineage"].to_numpy()
    gains: dict[str, tuple[Pair, Pair]] = {}
    for name in ("last", "over_blocks"):
        base, tuned = (np.exp(log_gains[key][:, places]) for key in (name, of_tuned(name)))
        widths = (design.pairs[f"{name}{which}"].to_numpy() for which in ("_base", ""))
        half_base, half_tuned = widths
        gains[name] = (base, base * half_base), (tuned, tuned * half_tuned)
    every = np.ones(len(places), dtype=bool)
    readings = {
        "three pairs": ("last", every),
        "lineage": ("last", lineage),
        "lineage, total": ("over_blocks", lineage),
    }
    expanding, dampening = (
        [
            _keeps(part, name, *gains[key], chosen, above=above)
            for name, (key, chosen) in readings.items()
        ]
        for part, above in ((finetuning.CHARACTER, True), (finetuning.DAMPENER, False))
    )
    order = _keeps_order(*gains["last"], np.flatnonzero(lineage))
    return [*expanding, order, *dampening]


def _keeps(
    part: str, name: str, base: Pair, tuned: Pair, chosen: Bools, *, above: bool
) -> list[Check]:
    """Decide as `finetuning` does: a change counts if both intervals exclude 1."""
    meant = ((base[0] > 1) == above) & chosen
    remaining = (tuned[0] > 1) == above
    clear = (np.abs(base[0] - 1) > base[1]) & (np.abs(tuned[0] - 1) > tuned[1])
    changed = (meant & clear & ~remaining).any(axis=1)
    all_kept = ((clear & remaining) | ~meant).all(axis=1)
    return [
        Check(part, name, False if changes else True if stays else None)
        if some
        else evidence.missing(part, name, "no such pair")
        for some, changes, stays in zip(meant.any(axis=1), changed, all_kept, strict=True)
    ]


def _keeps_order(base: Pair, tuned: Pair, places: np.ndarray) -> list[Check]:
    """Ask whether the two models of true lineage swap places, intervals clear of each other."""
    one, other = places
    apart = np.ones(len(base[0]), dtype=bool)
    lower = []
    for gains, halves in (base, tuned):
        difference = gains[:, one] - gains[:, other]
        apart &= np.abs(difference) > halves[:, one] + halves[:, other]
        lower.append(difference < 0)
    swapped = lower[0] != lower[1]
    return [
        Check(finetuning.CHARACTER, "order", not swaps if clear else None)
        for swaps, clear in zip(swapped, apart, strict=True)
    ]
