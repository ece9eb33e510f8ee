"""Claim 20 in simulated papers: heritage over geometry, geometry over scale."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.audit.evidence.checks import Check
from analysis.delia2026.sign import claims_ranking as ranking
from analysis.delia2026.sign import sources
from analysis.inference.partition import restricted
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Bools, Design

#: Draws from every tie.
DRAWS = 399
#: The sources on either side of heritage, as recipe, over geometry.
RECIPE = sources.SIDES["recipe over geometry"]


Tied = Mapping[bytes, tuple[restricted.Lattice, restricted.Drawn]]


def tied(design: Design, rng: np.random.Generator) -> Tied:
    """Return papers drawn at the ties of every set of models that a reading has."""
    return {
        chosen.tobytes(): _tied(design, chosen, rng)
        for chosen in {
            chosen.tobytes(): chosen for _, chosen in _readings(design).values()
        }.values()
    }


def _readings(design: Design) -> dict[str, tuple[str, Bools]]:
    every = design.penultimate & design.pre_norm
    return {
        "over_blocks": ("over_blocks", every),
        "every": ("penultimate", every),
        "hunt": ("penultimate", design.hunted & design.pre_norm),
        "joined": ("penultimate", design.known & design.pre_norm),
        "largest": ("largest", every),
    }


def ranking_checks(
    design: Design, log_gains: Mapping[str, Floats], at_ties: Tied
) -> list[list[Check]]:
    """Return the checks of claim 20, each over all papers, by definition and heritage."""
    columns = []
    for name, (definition, chosen) in _readings(design).items():
        models = design.models[chosen].reset_index(drop=True)
        response = log_gains[definition][:, chosen]
        result = restricted.differences(*at_ties[chosen.tobytes()], response, *RECIPE)
        of_lab, of_shape = (
            sources.new_levels(models, statement, response)
            for statement in ("lab over geometry", "geometry over scale")
        )
        columns += [
            [ranking.by_posterior(ranking.FIRST, f"{name}; lab", float(one)) for one in of_lab],
            [
                ranking.recipe_over_geometry(f"{name}; suite", *map(float, one))
                for one in zip(*result, strict=True)
            ],
            [ranking.by_posterior(ranking.SECOND, name, float(one)) for one in of_shape],
        ]
    return columns


def _tied(
    design: Design, chosen: Bools, rng: np.random.Generator
) -> tuple[restricted.Lattice, restricted.Drawn]:
    """Return the lattice of some models, and papers drawn at its ties."""
    result = sources.lattice(design.models[chosen].reset_index(drop=True))
    points = [int(point) for point in result.ties(*RECIPE)]
    return result, restricted.drawn_at(result, points, DRAWS, rng)
