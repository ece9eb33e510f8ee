"""The register: every claim of the paper that can be judged, by its number."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from analysis.audit.claim import Claim
from analysis.delia2026.declared import claims_of

_ROOMS = Path(__file__).parents[1]

#: The claims of each ``claims_*.py`` in a room of this paper.
CLAIMS: dict[int, Claim] = {
    one.claim_id: one
    for one in sorted(
        (
            one
            for path in _ROOMS.glob("*/claims_*.py")
            for one in claims_of(
                import_module(f"analysis.delia2026.{path.parent.name}.{path.stem}")
            )
        ),
        key=lambda one: one.claim_id,
    )
}
