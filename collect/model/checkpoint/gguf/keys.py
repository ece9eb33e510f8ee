"""The entries of a GGUF header that belong to its architecture, each taken once and by its type.

What is never taken is left over, and refused by name: an entry may change what the model computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.gguf.header import Header, Length, is_whole_number, shown, wrong

#: Where a file of the same model holds what this one says in a way that cannot be carried over.
INSTEAD = "Take the safetensors files of the model."


class Keys:
    """Entries of a header by their names after the architecture's.

    Parameters
    ----------
    header
        The file's header.

    Attributes
    ----------
    header
        As given.
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        start = f"{header.architecture}."
        self._left = {
            key.removeprefix(start): value
            for key, value in header.metadata.items()
            if key.startswith(start)
        }

    def whole(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """Take a whole number, or one that is the same for every block.

        Raises
        ------
        InputError
            If it is of another type, too small, or absent and has no default.
        UnsupportedModelError
            If blocks differ in it.
        """
        value = self._same(key, self._taken(key, default))
        if not is_whole_number(value) or value < least:
            raise self.wrong(key, value, f"a whole number of at least {least}")
        return int(value)

    def number(self, key: str, default: float | None = None) -> float:
        """Take a finite number; raise as `whole`."""
        value = self._same(key, self._taken(key, default))
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise self.wrong(key, value, "a finite number")
        return float(value)

    def positive(self, key: str, default: float | None = None) -> float:
        """Take a finite number above 0; raise as `whole`."""
        value = self.number(key, default)
        if value <= 0:
            raise self.wrong(key, value, "a number above 0")
        return value

    def text(self, key: str, default: str) -> str:
        """Take a text; raise as `whole`."""
        value = self._taken(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, value, "a text")
        return value

    def any(self, key: str) -> Any:
        """Take an entry of whatever type; None where there is none."""
        return self._left.pop(key, None)

    def stated(self, values: Mapping[str, Any]) -> None:
        """Take entries that may say what the model does anyhow, and nothing else.

        Parameters
        ----------
        values
            By key: what it may be; a tuple holds several.

        Raises
        ------
        UnsupportedModelError
            If one says something else.
        """
        for key, allowed in values.items():
            several = allowed if isinstance(allowed, tuple) else (allowed,)
            if key in self._left and self._same(key, self._left[key]) in several:
                del self._left[key]

    def refuse_left(self) -> None:
        """Refuse what was not taken.

        Raises
        ------
        UnsupportedModelError
            If anything is left.
        """
        if self._left:
            raise self.uncarried(**self._left)

    def uncarried(self, **values: Any) -> UnsupportedModelError:
        """Return the error that entries say what cannot be carried into a model."""
        of = self.header.architecture
        named = [f"{of}.{key} = {shown(value)}" for key, value in sorted(values.items())]
        return UnsupportedModelError(
            f"The header of {self.header.path} says {', '.join(named)}, which may change what the "
            f"model computes and cannot be carried into a {of} model here.",
            INSTEAD,
        )

    def wrong(self, key: str, value: object, expected: str) -> InputError:
        """Return the error that an entry is not what it must be."""
        return wrong(self.header, f"{self.header.architecture}.{key}", expected, value)

    def _taken(self, key: str, default: Any) -> Any:
        return self._left.pop(key, default)

    def _same(self, key: str, value: Any) -> Any:
        """Return a value, of a list the one that all its entries are."""
        if isinstance(value, Length):
            raise self.wrong(key, value, "one number, or one a block")
        if not isinstance(value, tuple) or not value:
            return value
        if any(entry != value[0] for entry in value):
            raise self.uncarried(**{key: value})
        return value[0]
