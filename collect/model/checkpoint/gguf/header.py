"""What stands in front of the tensors of a GGUF file: its metadata, and where each tensor lies.

The layout is that of the specification (``docs/gguf.md`` of the project ggml), with the constants
of the package ``gguf``. The reader of that package takes some 20 µs and 700 bytes for each entry of
a list, 5 to 30 s for a vocabulary; here the lists that no configuration needs are passed over.
"""

from __future__ import annotations

import mmap
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from collect.errors import InputError, MissingExtraError, UnsupportedModelError

#: The list of the vocabulary, as long as it is.
TOKENS = "tokenizer.ggml.tokens"

#: What to do about a file whose header is wrong.
ANOTHER_FILE = "Copy or download it again, or take another conversion of the model."

#: Longest list of numbers that is kept: one number a block.
_KEPT = 10_000

#: Most dimensions that a tensor of the format has.
_DIMENSIONS = 4

#: Letters of a value that a message shows at most.
_SHOWN = 60

#: Versions of the format that are read.
_VERSIONS = (2, 3)

#: By number of a type in the metadata: how `struct` reads it, and how long it is [bytes].
_SCALARS = {
    **{0: ("<B", 1), 1: ("<b", 1), 2: ("<H", 2), 3: ("<h", 2), 4: ("<I", 4), 5: ("<i", 4)},
    **{6: ("<f", 4), 7: ("<?", 1), 10: ("<Q", 8), 11: ("<q", 8), 12: ("<d", 8)},
}
_TEXT, _LIST = 8, 9


class Length(int):
    """How long a list is that was passed over."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of the file.

    Attributes
    ----------
    name
        As in the file, such as ``blk.0.attn_q.weight``.
    shape
        In torch's order.
    number_format
        Number of its format, as ``gguf.GGMLQuantizationType`` counts them.
    offset, n_bytes
        Where it begins in the file, and how long it is [bytes].
    """

    name: str
    shape: tuple[int, ...]
    number_format: int
    offset: int
    n_bytes: int

    @property
    def format_name(self) -> str:
        """The format by name, such as Q4_K or F32."""
        from gguf import GGMLQuantizationType

        return GGMLQuantizationType(self.number_format).name


@dataclass(frozen=True, slots=True)
class Header:
    """The header of one file.

    Attributes
    ----------
    path
        The file.
    metadata
        By key: numbers, truth values, texts and short lists of numbers; other lists by their
        `Length`.
    tensors
        In the file's order.
    seed
        Of the simulated quantisation noise that its quantised tensors are read with; see `steps`.
        None to read them as they are.
    has_numbers
        Whether the tensors lie in the file; those of a file that is still on the hub do not.
    """

    path: Path
    metadata: Mapping[str, Any]
    tensors: tuple[Tensor, ...]
    seed: int | None = None
    has_numbers: bool = True

    @property
    def architecture(self) -> str:
        """The name that llama.cpp gives the architecture."""
        return str(self.metadata["general.architecture"])

    def tensor(self, name: str) -> Tensor | None:
        """Return a tensor by its name; None where the file has none of that name."""
        return next((tensor for tensor in self.tensors if tensor.name == name), None)


def read_header(path: Path, *, has_numbers: bool = True) -> Header:
    """Return the header of a GGUF file; no tensor is read.

    Parameters
    ----------
    path
        The file.
    has_numbers
        False for the header of a file on the hub.

    Raises
    ------
    InputError
        If it is broken, holds something other than a model, or is part of one.
    MissingExtraError
        If the package that reads such files is not installed.
    UnsupportedModelError
        If a tensor has a number format that the package does not know.
    """
    refuse_without_package()
    metadata, table, place = _parse(path)
    _refuse_part(path, metadata)
    from gguf import GGUF_DEFAULT_ALIGNMENT

    step = metadata.get("general.alignment", GGUF_DEFAULT_ALIGNMENT)
    if type(step) is not int or step < 1 or step & (step - 1):
        raise broken(path, f"general.alignment must be a power of two; it is {step!r}")
    start = -(-place // step) * step
    tensors = tuple(
        Tensor(name, shape, kind, start + offset, _n_bytes(path, name, shape, kind))
        for name, shape, kind, offset in table
    )
    expected = start  # tensors may not overlap, nor leave a gap, as in llama.cpp
    for tensor in tensors:
        if tensor.offset != expected:
            raise broken(
                path,
                f"the tensor {tensor.name} begins at byte {tensor.offset}, and the one before it "
                f"ends so that it must begin at {expected}",
            )
        expected = tensor.offset + -(-tensor.n_bytes // step) * step
    end = max((tensor.offset + tensor.n_bytes for tensor in tensors), default=0)
    if not tensors or end > path.stat().st_size:
        raise broken(path, f"it has {path.stat().st_size} bytes, and its tensors end at {end}")
    return Header(path, metadata, tensors, has_numbers=has_numbers)


def is_whole(path: Path) -> bool:
    """Return whether a file, or the first part of one, holds all of a header."""
    try:
        _parse(path)
    except InputError:
        return False
    return True


_Table = list[tuple[str, tuple[int, ...], int, int]]


def _parse(path: Path) -> tuple[dict[str, Any], _Table, int]:
    """Return metadata, the table of tensors, and where that ends."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as blob:
            return _Parser(path, blob).parse()
    except (ValueError, OSError) as error:  # an empty file has no map
        raise broken(path, str(error)) from error


class _Parser:
    """Reads a header from its first byte to its last; everything is little-endian."""

    def __init__(self, path: Path, blob: mmap.mmap) -> None:
        self._path, self._blob, self._place = path, blob, 4

    def parse(self) -> tuple[dict[str, Any], _Table, int]:
        if self._blob[:4] != b"GGUF":
            raise broken(self._path, "it does not begin with the letters GGUF")
        try:
            self._require_version()
            n_tensors, n_entries = self._unpack("<QQ")
            metadata: dict[str, Any] = {}
            for _ in range(n_entries):
                key = self._text()
                if key in metadata:
                    raise broken(self._path, f"the key {key!r} stands twice in its header")
                metadata[key] = self._value(*self._unpack("<I"))
            if not isinstance(metadata.get("general.architecture"), str):
                raise broken(self._path, "general.architecture must be a text in its header")
            return metadata, self._table(n_tensors), self._place
        except (struct.error, IndexError, OverflowError, MemoryError) as error:
            raise broken(self._path, "its header ends too early") from error
        except UnicodeDecodeError as error:
            raise broken(self._path, "a name or a text in its header is not UTF-8") from error

    def _require_version(self) -> None:
        (version,) = self._unpack("<I")
        if version in _VERSIONS:
            return
        if struct.unpack(">I", struct.pack("<I", version))[0] in _VERSIONS:
            raise InputError(
                f"A GGUF file must be little-endian; {self._path} is big-endian.",
                "Convert it: gguf-convert-endian FILE little.",
            )
        raise InputError(
            f"The format of a GGUF file must be version 2 or 3; {self._path} has {version}.",
            "Convert it with a current llama.cpp.",
        )

    def _table(self, n_tensors: int) -> _Table:
        table: _Table = []
        for _ in range(n_tensors):
            name = self._text()
            (n_dims,) = self._unpack("<I")
            if not 0 < n_dims <= _DIMENSIONS:
                raise broken(self._path, f"the tensor {name!r} has {n_dims} dimensions")
            dims = self._unpack(f"<{n_dims}Q")
            if 0 in dims:
                raise broken(self._path, f"the tensor {name!r} has no numbers")
            kind, offset = self._unpack("<IQ")
            table.append((name, tuple(reversed(dims)), kind, offset))
        twice = [name for name, count in Counter(row[0] for row in table).items() if count > 1]
        if twice:
            raise broken(self._path, f"the tensor {twice[0]!r} stands twice in its header")
        return table

    def _value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self._unpack(_SCALARS[kind][0])[0]
        if kind == _TEXT:
            return self._text()
        if kind != _LIST:
            raise broken(self._path, f"its header holds a value of the unknown type {kind}")
        of_entry, n = self._unpack("<IQ")
        if of_entry in _SCALARS:
            letter, width = _SCALARS[of_entry]
            if n <= _KEPT:
                return self._unpack(f"<{n}{letter[1]}")
            self._skip(n * width)
        elif of_entry == _TEXT:
            if n > len(self._blob) // 8:
                raise IndexError
            unpack, blob, place = struct.Struct("<Q").unpack_from, self._blob, self._place
            for _ in range(n):  # the one loop that is as long as the vocabulary
                place += 8 + unpack(blob, place)[0]
            self._place = place
            self._skip(0)
        else:
            raise broken(self._path, f"its header holds a list of the unknown type {of_entry}")
        return Length(n)

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._blob, self._place)
        self._place += struct.calcsize(layout)
        return values

    def _text(self) -> str:
        (n,) = self._unpack("<Q")
        start = self._place
        self._skip(n)
        return self._blob[start : self._place].decode("utf-8")

    def _skip(self, n: int) -> None:
        self._place += n
        if self._place > len(self._blob):
            raise IndexError


def refuse_without_package() -> None:
    """Raise MissingExtraError unless the package that reads GGUF files is installed."""
    if find_spec("gguf") is None:
        raise MissingExtraError(
            "Reading a GGUF file needs the package gguf, which is not installed.",
            "Install the extra: pip install 'thermoscope[gguf]', or in a clone: "
            "pip install -e '.[gguf]'.",
        )


def is_whole_number(value: object) -> bool:
    """Return whether a value of metadata is a whole number: no truth value, nor a list's length."""
    return type(value) is int


def shown(value: object) -> str:
    """Return a value of metadata for a message, a long one cut."""
    if isinstance(value, Length):
        return f"a list of {int(value)}"
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def broken(path: Path, cause: str) -> InputError:
    """Return the error that a file is damaged."""
    return InputError(f"{path} is not a complete GGUF file: {cause}.", "Copy or download it again.")


def wrong(header: Header, key: str, expected: str, value: object) -> InputError:
    """Return the error that an entry is not what it must be, or is absent (``value`` None)."""
    is_there = "is absent" if value is None else f"is {shown(value)}"
    return InputError(
        f"The entry {key} in the header of {header.path} must be {expected}; it {is_there}.",
        ANOTHER_FILE,
    )


def _n_bytes(path: Path, name: str, shape: tuple[int, ...], kind: int) -> int:
    """Return how many bytes a tensor takes in its number format."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    known = {int(of_format): size for of_format, size in GGML_QUANT_SIZES.items()}
    if kind not in known:
        raise UnsupportedModelError(
            f"The tensor {name} of {path} has the number format {kind}, which is not known.",
            f"Take a file in one of {', '.join(each.name for each in GGMLQuantizationType)}.",
        )
    n_of_block, bytes_of_block = known[kind]
    if not shape or shape[-1] % n_of_block:
        raise broken(path, f"rows of the tensor {name} are no whole blocks of {n_of_block} numbers")
    return prod(shape) // n_of_block * bytes_of_block


def _refuse_part(path: Path, metadata: Mapping[str, Any]) -> None:
    kind = metadata.get("general.type", "model")
    if kind != "model":
        raise InputError(
            f"A GGUF file must hold a model; general.type of {path} is {kind!r}.",
            "Give the file of the whole model.",
        )
    n_parts = metadata.get("split.count", 0)
    if type(n_parts) is not int:
        raise broken(path, f"split.count must be a whole number; it is {n_parts!r}")
    if n_parts > 1:
        raise InputError(
            f"{path} is one of {n_parts} parts of a GGUF file.",
            "Merge them: llama-gguf-split --merge FIRST_PART MERGED.gguf.",
        )
