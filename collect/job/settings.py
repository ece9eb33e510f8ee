"""How to measure, as given on the command line, and how much to say about it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from tqdm import tqdm

from collect.errors import InputError, nearest, unknown_name
from collect.instruments import quantities
from collect.model.checkpoint.load import DTYPES
from collect.prompts.fitting import TOO_LONG
from collect.prompts.rendering import RENDERINGS
from collect.prompts.tokens import SPECIAL_TOKENS
from collect.record import provenance
from collect.schema.counting import require_count
from collect.schema.paths import several

#: What models, or the runs of a study, are carried out by.
ENGINES = ("local", "ray")

#: Accelerators with float64, in which every norm is accumulated; mps has none.
_DEVICE = re.compile(r"cuda(?::([0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to measure.

    Attributes
    ----------
    dtype, device
        Number format and device of the forward pass; ``auto`` spreads a model over all
        accelerators.
    batch_size
        Prompts per forward pass at most.
    quantities
        What to measure; names as `quantities.chosen` returns them.
    rendering, special_tokens
        How prompts become tokens; see `tokens.encode`.
    too_long
        What becomes of prompts longer than a model's context; see `fitting.fitted`.
    stream
        True to stream every model block by block, even one that would fit.
    allow_nonconforming
        Models, as named on the command line or by model_id, that are measured although they
        fail a check of conformance.
    fail_fast
        End at the first model that is refused; else the others are measured first.
    overwrite, quiet
        Measure again what is complete; say nothing.
    """

    dtype: str = "float32"
    device: str = "cpu"
    batch_size: int = 8
    quantities: tuple[str, ...] = quantities.DEFAULT
    rendering: str = "plain"
    special_tokens: str = "default"
    too_long: str = "refuse"
    stream: bool = False
    allow_nonconforming: tuple[str, ...] = ()
    fail_fast: bool = False
    overwrite: bool = False
    quiet: bool = False

    def __post_init__(self) -> None:
        _refuse_unknown("dtype", self.dtype, tuple(DTYPES))
        _refuse_unknown("rendering", self.rendering, RENDERINGS)
        _refuse_unknown("special tokens", self.special_tokens, SPECIAL_TOKENS)
        _refuse_unknown("too long", self.too_long, TOO_LONG)
        one = "Use --batch-size 1 to measure one prompt at a time."
        require_count("The batch size", self.batch_size, least=1, hint=one)
        if self.rendering == "chat" and self.special_tokens != "default":
            raise InputError(
                "A chat template must place the special tokens itself; "
                f"found --special-tokens {self.special_tokens} beside --chat-template.",
                "Leave one of the two out.",
            )
        _refuse_absent(self.device)
        if self.stream and self.device == "auto":
            raise InputError(
                "A streamed model must run on one device; found --device auto beside --stream.",
                "Use --device cuda, or leave --stream out.",
            )

    @classmethod
    def given(cls, how: Mapping[str, Any], besides: Sequence[str] = ()) -> Settings:
        """Return settings by name of attribute; `besides` are other names that could be meant."""
        known = [*besides, *(attribute.name for attribute in fields(cls))]
        for name in how:
            if name not in known:
                raise unknown_name("An option", name, sorted(known), "Leave it out.")
        entries: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in how.items()
        }
        allowed = several(
            entries.get("allow_nonconforming", ()),
            "Models that need not conform",
            "Name those that may fail a check.",
        )
        named = {
            "allow_nonconforming": tuple(map(str, allowed)),
            "quantities": quantities.chosen(entries.get("quantities", ())),
        }
        return cls(**{**entries, **named})

    @property
    def main_device(self) -> str:
        """The device of what is not spread over several."""
        return "cpu" if self.device == "auto" else self.device

    @property
    def device_name(self) -> str:
        """The device as table ``run`` names it."""
        return provenance.device_name(self.device)

    def say(self, sentence: str) -> None:
        """Tell the person at the terminal, unless asked to be quiet."""
        if not self.quiet:
            print(sentence, file=sys.stderr)

    def bar(self, total: int, title: str, unit: str) -> Any:
        """Return a progress bar with rate and time left; silent when nobody watches."""
        return progress_bar(total, title, unit, quiet=self.quiet)


def check_engine(engine: str) -> None:
    """Raise InputError unless an engine is one of `ENGINES`."""
    if engine not in ENGINES:
        raise unknown_name("The engine", engine, ENGINES, "Use --engine local.")


def progress_bar(total: int, title: str, unit: str, *, quiet: bool) -> Any:
    """Return a progress bar with rate and time left; silent when nobody watches a terminal."""
    is_silent = quiet or not sys.stderr.isatty()
    return tqdm(total=total, desc=title, unit=unit, disable=is_silent)


def _refuse_unknown(kind: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(
            f"The {kind} must be one of {', '.join(known)}; found {value!r}.",
            f"Use --{kind.replace(' ', '-')} {[*nearest(value, known), *known][0]}.",
        )


def _refuse_absent(device: Any) -> None:
    """Refuse a device of a kind that cannot be measured on, or that this machine lacks."""
    match = _DEVICE.fullmatch(str(device))
    if device in ("auto", "cpu"):
        return
    if match is None or int(match[1] or 0) >= torch.cuda.device_count():
        raise InputError(
            f"The device must be cpu, auto, or a cuda device of this machine; found {device!r}.",
            "Use --device cpu.",
        )
