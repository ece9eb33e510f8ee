"""How to measure, as given on the command line, and how much to say about it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any

import torch
from tqdm import tqdm

from collect.errors import InputError
from collect.load import DTYPES

#: Devices with float64, in which every norm is accumulated; mps has none.
_DEVICE = re.compile(r"(cpu|cuda)(?::([0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to measure: number format and device of the forward pass, prompts per batch."""

    dtype: str = "float32"
    device: str = "cpu"
    batch_size: int = 8
    overwrite: bool = False
    quiet: bool = False
    progress: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise InputError(
                f"The dtype must be one of {', '.join(DTYPES)}; found {self.dtype!r}.",
                "Use --dtype float32.",
            )
        if self.batch_size < 1:
            raise InputError(
                f"The batch size must be 1 or more; found {self.batch_size}.",
                "Use --batch-size 1 to measure one prompt at a time.",
            )
        _refuse_absent(self.device)

    def say(self, sentence: str) -> None:
        """Tell the person at the terminal, unless asked to be quiet."""
        if not self.quiet:
            print(sentence, file=sys.stderr)

    def bar(self, total: int, title: str, unit: str) -> Any:
        """Return a progress bar with rate and time left; silent when nobody watches."""
        return progress_bar(total, title, unit, quiet=self.quiet, progress=self.progress)


def progress_bar(total: int, title: str, unit: str, *, quiet: bool, progress: bool) -> Any:
    """Return a progress bar with rate and time left; silent when nobody watches.

    Somebody watches when standard error is a terminal or `progress` is asked for; `quiet`
    silences the bar in any case.
    """
    watched = progress or sys.stderr.isatty()
    return tqdm(total=total, desc=title, unit=unit, disable=quiet or not watched)


def _refuse_absent(device: str) -> None:
    """Refuse a device of a kind that cannot be measured on, or that this machine lacks."""
    match = _DEVICE.fullmatch(device)
    if match is None:
        raise InputError(
            f"The device must be cpu, or cuda with or without a number; found {device!r}.",
            "Use --device cpu.",
        )
    kind, number = match.groups()
    n_devices = torch.cuda.device_count() if kind == "cuda" else 1
    if int(number or 0) >= n_devices:
        raise InputError(
            f"The device must be on this machine, which has {n_devices or 'no'} {kind} "
            f"device{'s' if n_devices > 1 else ''}; found {device!r}.",
            f"Use --device {kind}:0 or --device cpu." if n_devices else "Use --device cpu.",
        )
