"""How to measure, as given on the command line, and how much to say about it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch
from tqdm import tqdm

from collect.errors import InputError
from collect.load import DTYPES


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
            raise InputError(f"The dtype must be one of {', '.join(DTYPES)}; found {self.dtype!r}.")
        if self.batch_size < 1:
            raise InputError(f"The batch size must be 1 or more; found {self.batch_size}.")
        try:
            torch.device(self.device)
        except RuntimeError as error:
            raise InputError(
                f"The device must be one that torch knows; found {self.device!r}.",
                "Give cpu, cuda or cuda:0.",
            ) from error
        if torch.device(self.device).type == "cuda" and not torch.cuda.is_available():
            raise InputError(
                f"The device must be on this machine; {self.device!r} is not.", "Use --device cpu."
            )

    def say(self, sentence: str) -> None:
        """Tell the person at the terminal, unless asked to be quiet."""
        if not self.quiet:
            print(sentence, file=sys.stderr)

    def bar(self, total: int, title: str, unit: str) -> Any:
        """Return a progress bar with rate and time left; silent when nobody watches."""
        watched = self.progress or sys.stderr.isatty()
        return tqdm(total=total, desc=title, unit=unit, disable=self.quiet or not watched)
