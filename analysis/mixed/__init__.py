"""Linear mixed models from sufficient statistics: exact as lme4, at any number of rows.

One GROUP BY sums the products of the predictors and the response in every cell of the factors
(`formula`, `plan`, `collect`); the design is a map over cells (`design`, `crossproducts`); the
likelihood and its optimum (`deviance`, `optimise`), the estimates and their tests (`estimates`,
`satterthwaite`, `kenward_roger`) and all resampling never look at a row again.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analysis.mixed.model import MixedModel, fit, fit_statistics
from analysis.mixed.reading.collect import collect_statistics
from analysis.mixed.reading.statistics import (
    merge_statistics,
    read_statistics,
    write_statistics,
)

if TYPE_CHECKING:
    from analysis.mixed.binomial import BinomialModel, fit_binomial
    from analysis.mixed.frames.comparison import compare
    from analysis.mixed.refitting.bootstrap import parametric_bootstrap
    from analysis.mixed.refitting.profile_interval import profile_intervals
    from analysis.mixed.refitting.share_interval import share_intervals
    from analysis.mixed.refitting.variance_test import variance_test

#: Where the names lie that a fit does not need: each is imported when it is first asked for.
_LATER = {
    "binomial": ("BinomialModel", "fit_binomial"),
    "frames.comparison": ("compare",),
    "refitting.bootstrap": ("parametric_bootstrap",),
    "refitting.profile_interval": ("profile_intervals",),
    "refitting.share_interval": ("share_intervals",),
    "refitting.variance_test": ("variance_test",),
}

__all__ = [
    "BinomialModel",
    "MixedModel",
    "collect_statistics",
    "compare",
    "fit",
    "fit_binomial",
    "fit_statistics",
    "merge_statistics",
    "parametric_bootstrap",
    "profile_intervals",
    "read_statistics",
    "share_intervals",
    "variance_test",
    "write_statistics",
]


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"analysis.mixed.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
