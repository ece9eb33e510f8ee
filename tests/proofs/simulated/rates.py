"""How often the rule says what of papers whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.audit.claim import VERDICTS, verdict
from analysis.audit.evidence import decision
from analysis.audit.evidence.checks import Check
from analysis.delia2026.sign.calibrated import Rules
from analysis.tidy.frame import Floats
from tests.proofs.simulated.bound import bound_checks
from tests.proofs.simulated.density import density_checks
from tests.proofs.simulated.depth import depth_checks
from tests.proofs.simulated.design import Design
from tests.proofs.simulated.heritage import heritage_checks
from tests.proofs.simulated.papers import TRUTHS, papers
from tests.proofs.simulated.ranking import ranking_checks
from tests.proofs.simulated.separation import separation_checks
from tests.proofs.simulated.three_laws import three_laws_checks
from tests.proofs.simulated.tuning import tuning_checks

#: The central claims.
JUDGED = (4, 5, 7, 10, 16, 19, 20, 21)


def rates(
    design: Design,
    n_papers: int,
    rng: np.random.Generator,
    kinds: Mapping[int, decision.Kind],
    rules: Rules,
) -> pd.DataFrame:
    """Return table ``verdict_rate``: how often each verdict falls under each truth."""
    rows = []
    for truth in TRUTHS:
        made = checks(design, papers(design, truth, n_papers, rng), rules)
        judged = {
            claim_id: {
                wrong: _judged(columns, kinds[claim_id]) for wrong, columns in result.items()
            }
            for claim_id, result in made.items()
        }
        rows += [
            (claim_id, truth, wrong, word, result.get(word, 0), n_papers)
            for claim_id, by_labels in judged.items()
            for wrong, result in by_labels.items()
            for word in VERDICTS
        ]
    columns = ["claim_id", "truth", "wrong_labels", "verdict", "probability", "n_papers"]
    return pd.DataFrame(rows, columns=columns)


def checks(
    design: Design, log_gains: Mapping[str, Floats], rules: Rules
) -> dict[int, dict[bool, list[list[Check]]]]:
    """Return the checks of each judged claim, by whether labels are wrong; each over all papers.

    A paper with wrong labels prints the correlation of head density as that of depth, which only
    claim 21 notices: all others are judged by measured signs and have right labels alone.
    """
    labels = (False, True)
    return {
        4: {False: depth_checks(design, log_gains)},
        5: {False: bound_checks(design, log_gains)},
        7: {False: heritage_checks(design, log_gains["penultimate"])},
        10: {False: separation_checks(design, log_gains)},
        16: {False: density_checks(design, log_gains["penultimate"])},
        19: {False: tuning_checks(design, log_gains)},
        20: {False: ranking_checks(design, log_gains, rules)},
        21: {wrong: three_laws_checks(design, log_gains, wrong_labels=wrong) for wrong in labels},
    }


def _judged(columns: Sequence[Sequence[Check]], kind: decision.Kind) -> pd.Series:
    """Return the share of papers by verdict, from one sequence of papers a check."""
    of_papers = zip(*columns, strict=True)
    result = pd.Series([verdict(list(of_paper), kind) for of_paper in of_papers])
    return result.value_counts(normalize=True)
