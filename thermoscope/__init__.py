"""Measure the residual stream of language models, and test claims about it.

>>> import thermoscope as ts
>>> store = ts.open_store()
>>> len(store.query("SELECT DISTINCT model_id FROM published_gain"))
33

Every public function of the packages `analysis` (statistics, no torch) and `collect` (measurement)
has its name here, and is imported when it is first used: torch only with what measures.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.inference.association.correlation import correlate as correlate
    from analysis.inference.association.correlation import partial as partial_correlation
    from analysis.inference.association.regression import fit as least_squares
    from analysis.inference.counts.fisher import fisher_exact as fisher_test
    from analysis.inference.effects.equivalence import estimates as equivalence_test
    from analysis.inference.effects.multiplicity import adjust as adjust
    from analysis.inference.partition.shares import shapley as shapley
    from analysis.inference.partition.subsets import all_subsets as all_subsets
    from analysis.inference.power import Components as Components
    from analysis.inference.power import permutation_power as permutation_power
    from analysis.inference.resampling.bootstrap import bootstrap as bootstrap
    from analysis.inference.resampling.permutation import permutation_test as permutation_test
    from analysis.inference.resampling.specification import exchange as exchange
    from analysis.inference.resampling.specification import impose_null as impose_null
    from analysis.inference.resampling.specification import (
        specification_curve as specification_curve,
    )
    from analysis.mixed import BinomialModel as BinomialModel
    from analysis.mixed import MixedModel as MixedModel
    from analysis.mixed import collect_statistics as collect_statistics
    from analysis.mixed import compare as compare
    from analysis.mixed import fit as mixed
    from analysis.mixed import fit_binomial as mixed_binomial
    from analysis.mixed import fit_statistics as fit_statistics
    from analysis.mixed import merge_statistics as merge_statistics
    from analysis.mixed import parametric_bootstrap as parametric_bootstrap
    from analysis.mixed import profile_intervals as profile_intervals
    from analysis.mixed import read_statistics as read_statistics
    from analysis.mixed import share_intervals as share_intervals
    from analysis.mixed import variance_test as variance_test
    from analysis.mixed import write_statistics as write_statistics
    from analysis.store import Store as Store
    from analysis.store import open_store as open_store
    from analysis.store.notes import QueryWarning as QueryWarning
    from analysis.store.notes import sql as sql
    from collect import MeasurementCallback as MeasurementCallback
    from collect import OwnQuantity as OwnQuantity
    from collect import RefusedError as RefusedError
    from collect import measure as measure
    from collect import measure_step as measure_step
    from collect import probe_projection as probe_projection
    from collect import quantity as quantity
    from collect import raw_vectors as raw_vectors
    from collect import register as register
    from collect import run as run
    from collect.errors import ThermoscopeError as ThermoscopeError

#: Where each name is defined, and there under which name.
DEFINED = {
    "BinomialModel": "analysis.mixed",
    "Components": "analysis.inference.power",
    "MeasurementCallback": "collect",
    "MixedModel": "analysis.mixed",
    "OwnQuantity": "collect",
    "QueryWarning": "analysis.store.notes",
    "RefusedError": "collect",
    "Store": "analysis.store",
    "ThermoscopeError": "collect.errors",
    "adjust": "analysis.inference.effects.multiplicity",
    "all_subsets": "analysis.inference.partition.subsets",
    "bootstrap": "analysis.inference.resampling.bootstrap",
    "collect_statistics": "analysis.mixed",
    "compare": "analysis.mixed",
    "correlate": "analysis.inference.association.correlation",
    "equivalence_test": "analysis.inference.effects.equivalence:estimates",
    "exchange": "analysis.inference.resampling.specification",
    "fisher_test": "analysis.inference.counts.fisher:fisher_exact",
    "fit_statistics": "analysis.mixed",
    "impose_null": "analysis.inference.resampling.specification",
    "least_squares": "analysis.inference.association.regression:fit",
    "measure": "collect",
    "measure_step": "collect",
    "merge_statistics": "analysis.mixed",
    "mixed": "analysis.mixed:fit",
    "mixed_binomial": "analysis.mixed:fit_binomial",
    "open_store": "analysis.store",
    "parametric_bootstrap": "analysis.mixed",
    "partial_correlation": "analysis.inference.association.correlation:partial",
    "permutation_power": "analysis.inference.power",
    "permutation_test": "analysis.inference.resampling.permutation",
    "probe_projection": "collect",
    "profile_intervals": "analysis.mixed",
    "quantity": "collect",
    "raw_vectors": "collect",
    "read_statistics": "analysis.mixed",
    "register": "collect",
    "run": "collect",
    "shapley": "analysis.inference.partition.shares",
    "share_intervals": "analysis.mixed",
    "specification_curve": "analysis.inference.resampling.specification",
    "sql": "analysis.store.notes",
    "variance_test": "analysis.mixed",
    "write_statistics": "analysis.mixed",
}

__all__ = [
    "BinomialModel",
    "Components",
    "MeasurementCallback",
    "MixedModel",
    "OwnQuantity",
    "QueryWarning",
    "RefusedError",
    "Store",
    "ThermoscopeError",
    "adjust",
    "all_subsets",
    "bootstrap",
    "collect_statistics",
    "compare",
    "correlate",
    "equivalence_test",
    "exchange",
    "fisher_test",
    "fit_statistics",
    "impose_null",
    "least_squares",
    "measure",
    "measure_step",
    "merge_statistics",
    "mixed",
    "mixed_binomial",
    "open_store",
    "parametric_bootstrap",
    "partial_correlation",
    "permutation_power",
    "permutation_test",
    "probe_projection",
    "profile_intervals",
    "quantity",
    "raw_vectors",
    "read_statistics",
    "register",
    "run",
    "shapley",
    "share_intervals",
    "specification_curve",
    "sql",
    "variance_test",
    "write_statistics",
]


def __getattr__(name: str) -> Any:
    if name not in DEFINED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, other = DEFINED[name].partition(":")
    _require_own(module.partition(".")[0])
    value = getattr(import_module(module), other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _require_own(package: str) -> None:
    """Raise ImportError where another module hides the package that came with this one."""
    place = getattr(import_module(package), "__file__", None)
    if place is None or Path(place).resolve().parents[1] != Path(__file__).resolve().parents[1]:
        where = place or next(iter(sys.modules[package].__path__), package)
        raise ImportError(
            f"thermoscope needs its own package {package!r}, which {where} hides: "
            "rename that file or folder, or start Python elsewhere.",
            name=package,
        )
