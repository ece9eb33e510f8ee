"""The register: every claim of the paper that can be judged, by its number."""

from __future__ import annotations

from analysis.audit.claim import Claim
from analysis.heritage.depth import claims_anisotropy as anisotropy
from analysis.heritage.depth import claims_law as depth
from analysis.heritage.depth import claims_three_laws as laws
from analysis.heritage.record import claims_captions as captions
from analysis.heritage.record import claims_mappings as mappings
from analysis.heritage.record import claims_printed as printed
from analysis.heritage.record import claims_scope as scope
from analysis.heritage.sign import claims_benchmark as benchmark
from analysis.heritage.sign import claims_density as density
from analysis.heritage.sign import claims_finetuning as finetuning
from analysis.heritage.sign import claims_gain as gain
from analysis.heritage.sign import claims_heritage as heritage
from analysis.heritage.sign import claims_popular as popular
from analysis.heritage.sign import claims_ranking as ranking
from analysis.heritage.sign import claims_size as size
from analysis.heritage.sign import claims_whisper as whisper
from analysis.heritage.transition import claims_layer_formula as layer_formula
from analysis.heritage.transition import claims_transition as transition
from analysis.heritage.transition import claims_transition_error as transition_error
from analysis.heritage.weights import claims_between_labs as between_labs
from analysis.heritage.weights import claims_by_layer as by_layer
from analysis.heritage.weights import claims_mechanism as mechanism
from analysis.heritage.weights import claims_over_depth as over_depth
from analysis.heritage.weights import claims_spectral as spectral
from analysis.heritage.weights import claims_structure as structure
from analysis.heritage.weights import claims_trace as trace

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
