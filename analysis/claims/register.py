"""The register: every claim of the paper that can be judged, by its number."""

from __future__ import annotations

from analysis.claims.depth import anisotropy, laws, layer_formula, transition, transition_error
from analysis.claims.depth import law as depth
from analysis.claims.print import captions, mappings, printed, scope
from analysis.claims.sign import (
    benchmark,
    density,
    finetuning,
    gain,
    heritage,
    popular,
    ranking,
    size,
    whisper,
)
from analysis.claims.verdict.claim import Claim
from analysis.claims.weights import (
    between_labs,
    by_layer,
    mechanism,
    over_depth,
    spectral,
    structure,
    trace,
)

CLAIMS: dict[int, Claim] = {
    one.claim_id: one
    for one in sorted(
        (
            *scope.CLAIMS,
            *depth.CLAIMS,
            *heritage.CLAIMS,
            *benchmark.CLAIMS,
            *spectral.CLAIMS,
            *trace.CLAIMS,
            *density.CLAIMS,
            *finetuning.CLAIMS,
            *gain.CLAIMS,
            *popular.CLAIMS,
            *ranking.CLAIMS,
            *whisper.CLAIMS,
            *size.CLAIMS,
            *laws.CLAIMS,
            *transition.CLAIMS,
            *transition_error.CLAIMS,
            *between_labs.CLAIMS,
            *by_layer.CLAIMS,
            *over_depth.CLAIMS,
            *structure.CLAIMS,
            *mechanism.CLAIMS,
            *anisotropy.CLAIMS,
            *printed.CLAIMS,
            *captions.CLAIMS,
            *layer_formula.CLAIMS,
            *mappings.CLAIMS,
        ),
        key=lambda one: one.claim_id,
    )
}
