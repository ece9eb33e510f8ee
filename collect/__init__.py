"""Run decoders and write raw measurements to Parquet.

From a program: `measure` measures a model object, `run` does what the command does,
`measure_step` and `MeasurementCallback` follow a training. They are imported when
they are first used, so that the contract (`collect.schema`) is read without torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collect.errors import CollectError
    from collect.job.outcome import Done, Outcome, RefusedError
    from collect.library.measuring import measure, measure_step, run
    from collect.library.training import MeasurementCallback

#: Where each name of the public face is defined.
_DEFINED = {
    "CollectError": "collect.errors",
    "Done": "collect.job.outcome",
    "MeasurementCallback": "collect.library.training",
    "Outcome": "collect.job.outcome",
    "RefusedError": "collect.job.outcome",
    "measure": "collect.library.measuring",
    "measure_step": "collect.library.measuring",
    "run": "collect.library.measuring",
}

__all__ = [
    "CollectError",
    "Done",
    "MeasurementCallback",
    "Outcome",
    "RefusedError",
    "measure",
    "measure_step",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _DEFINED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_DEFINED[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
