"""The toolbox: one statistical method a module, tidy frames in and out.

It knows no paper, no store and no claim; it stands on `analysis.tidy` alone. A method is taken by
its name, whichever room it lies in: ``from analysis.inference import fisher``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.inference import power as power
    from analysis.inference.association import correlation as correlation
    from analysis.inference.association import regression as regression
    from analysis.inference.association import sandwich as sandwich
    from analysis.inference.counts import contingency as contingency
    from analysis.inference.counts import fisher as fisher
    from analysis.inference.effects import equivalence as equivalence
    from analysis.inference.effects import multiplicity as multiplicity
    from analysis.inference.effects import noncentral as noncentral
    from analysis.inference.partition import collinearity as collinearity
    from analysis.inference.partition import explained as explained
    from analysis.inference.partition import matched as matched
    from analysis.inference.partition import restricted as restricted
    from analysis.inference.partition import shares as shares
    from analysis.inference.partition import subsets as subsets
    from analysis.inference.posterior import hierarchy as hierarchy
    from analysis.inference.resampling import bootstrap as bootstrap
    from analysis.inference.resampling import permutation as permutation
    from analysis.inference.resampling import specification as specification

#: The room of each method. A method is imported when it is first asked for.
ROOMS = {
    "counts": "contingency fisher",
    "resampling": "bootstrap permutation specification",
    "association": "correlation regression sandwich",
    "effects": "equivalence multiplicity noncentral",
    "partition": "collinearity explained matched restricted shares subsets",
    "posterior": "hierarchy",
}
METHODS = {name: f"{room}.{name}" for room, names in ROOMS.items() for name in names.split()}
METHODS["power"] = "power"

__all__ = [
    "bootstrap",
    "collinearity",
    "contingency",
    "correlation",
    "equivalence",
    "explained",
    "fisher",
    "hierarchy",
    "matched",
    "multiplicity",
    "noncentral",
    "permutation",
    "power",
    "regression",
    "restricted",
    "sandwich",
    "shares",
    "specification",
    "subsets",
]


def __getattr__(name: str) -> ModuleType:
    """Return a method of the toolbox by its name."""
    if name in METHODS:
        return import_module(f"{__name__}.{METHODS[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
