"""Claim 20 in simulated papers: heritage over geometry, geometry over scale."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.audit.evidence.checks import Check
from analysis.delia2026.sign import claims_ranking as ranking
from analysis.delia2026.sign.calibrated import Judgement, Rules
from analysis.tidy.frame import Floats
from tests.proofs.simulated.design import Bools, Design

#: By statement: the part of the claim, and what heritage means there.
PARTS = {
    "lab over geometry": (ranking.FIRST, "lab"),
    "recipe over geometry": (ranking.FIRST, "suite"),
    "geometry over scale": (ranking.SECOND, ""),
}


def _readings(design: Design) -> dict[str, tuple[str, Bools]]:
    """Return the readings that decide: those on the models by which the rules are calibrated."""
    every = design.penultimate & design.pre_norm
    return {
        "over_blocks": ("over_blocks", every),
        "every": ("penultimate", every),
        "largest": ("largest", every),
    }


def ranking_checks(
    design: Design, log_gains: Mapping[str, Floats], rules: Rules
) -> list[list[Check]]:
    """Return the checks of claim 20, each over all papers, by definition and heritage."""
    columns = []
    for name, (definition, chosen) in _readings(design).items():
        models = design.models[chosen].reset_index(drop=True)
        results = rules.p_values(models, log_gains[definition][:, chosen])
        for statement, values in results.items():
            part, meaning = PARTS[statement]
            rule = rules.statistic[statement]
            columns.append(
                [
                    ranking.rule_check(
                        part, f"{name}; {meaning}", rule, Judgement(*map(float, one))
                    )
                    for one in zip(*values, strict=True)
                ]
            )
    return columns
