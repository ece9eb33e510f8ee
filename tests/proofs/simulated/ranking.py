"""Claim 20 in simulated papers: heritage over geometry, geometry over scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.audit.evidence.checks import Check
from analysis.heritage.sign import claims_ranking as ranking
from analysis.inference.partition import partition
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Design


def ranking_checks(
    design: Design, log_gains: Mapping[str, Floats], rng: np.random.Generator
) -> list[list[Check]]:
    """Return the checks of claim 20, each over all papers, by definition and heritage."""
    every = design.penultimate & design.kept
    readings = {
        "over_blocks": ("over_blocks", every),
        "every": ("penultimate", every),
        "hunt": ("penultimate", design.hunted & design.kept),
        "joined": ("penultimate", design.known & design.kept),
        "largest": ("largest", every),
    }
    columns = []
    for name, (definition, chosen) in readings.items():
        models = design.models[chosen].reset_index(drop=True)
        response = log_gains[definition][:, chosen]
        for meaning in ranking.HERITAGES:
            for part, found in _differences(models, response, meaning, rng).items():
                columns.append(
                    [
                        Check(part, f"{name}; {meaning}", holds, lead, p_value=p)
                        for holds, lead, p in found
                    ]
                )
    return columns


def _differences(
    models: pd.DataFrame, response: Floats, meaning: str, rng: np.random.Generator
) -> dict[str, list[tuple[bool | None, float, float]]]:
    """Return what the two ordered differences of shares decide in each paper, their lead and p."""
    blocks = {"heritage": [meaning]} | {
        name: ranking.BLOCKS[name] for name in ("geometry", "scale")
    }
    built = partition.block_design(models.assign(y=response[0]), "y", blocks)
    subsets = [partition.subset_columns(built, subset) for subset in range(8)]
    weights = partition.shapley_weights(3)
    chance = partition.chance_shares(built)
    codes = pd.factorize(models["suite"])[0]
    groups = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    shares = np.array(
        [
            weights @ explained(subsets, response, np.concatenate([groups[code] for code in draw]))
            for draw in rng.integers(len(groups), size=(ranking.RESAMPLES, len(groups)))
        ]
    )
    decided = {}
    for part, contrast in {"first": (1, -1, 0), "second": (0, 1, -1)}.items():
        drawn = np.einsum("rbp,b->rp", shares, np.array(contrast, dtype=np.float64))
        low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
        lead = float(np.array(contrast) @ chance)
        p_values = partition.beyond_chance(drawn, lead)
        decided[part] = [
            (
                True if lowest > max(0.0, lead) else False if highest < min(0.0, lead) else None,
                float(middle),
                float(p),
            )
            for lowest, highest, middle, p in zip(
                low, high, np.nanmedian(drawn, axis=0), p_values, strict=True
            )
        ]
    return decided


def explained(subsets: Sequence[Floats], response: Floats, rows: np.ndarray) -> Floats:
    """Return R squared of every subset of columns on some rows, shape (subsets, papers)."""
    drawn = response[:, rows]
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    total = (centred**2).sum(axis=1)
    found = np.zeros((len(subsets), len(response)))
    for place, columns in enumerate(subsets):
        if columns.shape[1]:
            left, sizes, _ = np.linalg.svd(
                columns[rows] - columns[rows].mean(axis=0), full_matrices=False
            )
            basis = left[:, sizes > 1e-9 * max(sizes[0], 1e-300)]
            found[place] = ((centred @ basis) ** 2).sum(axis=1) / total
    return found
