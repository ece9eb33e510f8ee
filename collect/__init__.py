"""Run decoders and write raw measurements to Parquet.

From a program: `measure` measures a model object, `run` does what the command does,
`measure_step` and `MeasurementCallback` follow a training; `quantity` and `register` add
quantities of your own, for which `probe_projection` and `raw_vectors` are examples. They are
imported when they are first used, so that the contract (`collect.schema`) is read without torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collect.errors import CollectError
    from collect.instruments.own.definition import OwnQuantity
    from collect.instruments.own.examples import probe_projection, raw_vectors
    from collect.instruments.quantities import quantity, register
    from collect.job.outcome import Done, Outcome, RefusedError
    from collect.library.measuring import measure, measure_step, run
    from collect.library.training import MeasurementCallback

#: Where each name of the public face is defined.
_DEFINED = {
    "CollectError": "collect.errors",
    "Done": "collect.job.outcome",
    "MeasurementCallback": "collect.library.training",
    "Outcome": "collect.job.outcome",
    "OwnQuantity": "collect.instruments.own.definition",
    "RefusedError": "collect.job.outcome",
    "measure": "collect.library.measuring",
    "measure_step": "collect.library.measuring",
    "probe_projection": "collect.instruments.own.examples",
    "quantity": "collect.instruments.quantities",
    "raw_vectors": "collect.instruments.own.examples",
    "register": "collect.instruments.quantities",
    "run": "collect.library.measuring",
}

__all__ = [
    "CollectError",
    "Done",
    "MeasurementCallback",
    "Outcome",
    "OwnQuantity",
    "RefusedError",
    "measure",
    "measure_step",
    "probe_projection",
    "quantity",
    "raw_vectors",
    "register",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _DEFINED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_DEFINED[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
