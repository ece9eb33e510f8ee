"""What stands in front of the tensors of a GGUF file: its metadata, and where each tensor lies."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from collect.errors import InputError, MissingExtraError, UnsupportedModelError

#: What lists of the vocabulary are called in the metadata: as long as it is.
VOCABULARY = tuple(
    f"tokenizer.ggml.{name}" for name in ("tokens", "scores", "token_type", "merges")
)


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
        By key; lists of texts, and those of the vocabulary, by their length alone.
    tensors
        In the file's order.
    seed
        Of one more rounding error that its quantised tensors are read with; see `steps`. None to
        read them as they are.
    """

    path: Path
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    seed: int | None = None

    @property
    def architecture(self) -> str:
        """The name that llama.cpp gives the architecture."""
        return str(self.metadata["general.architecture"])


def of_file(path: Path) -> Header:
    """Return the header of a GGUF file; no tensor is read.

    Raises
    ------
    InputError
        If it is broken, or part of a model.
    MissingExtraError
        If the package that reads such files is not installed.
    UnsupportedModelError
        If a tensor has a number format that the package does not know.
    """
    refuse_without_package()
    metadata, table, place = _read(path)
    _refuse_part(path, metadata)
    listed = {key for key in VOCABULARY if isinstance(metadata.get(key), list)}
    short = {key: len(value) if key in listed else value for key, value in metadata.items()}
    step = int(metadata.get("general.alignment", 32))
    start = -(-place // step) * step
    tensors = tuple(
        Tensor(name, shape, kind, start + offset, _n_bytes(path, name, shape, kind))
        for name, shape, kind, offset in table
    )
    end = max((tensor.offset + tensor.n_bytes for tensor in tensors), default=0)
    if not tensors or end > path.stat().st_size:
        raise _broken(path, f"it has {path.stat().st_size} bytes, and its tensors end at {end}")
    return Header(path, short, tensors)


def is_whole(path: Path) -> bool:
    """Return whether a file, or the first part of one, holds all of a header."""
    try:
        _read(path)
    except InputError:
        return False
    return True


def _read(path: Path) -> tuple[dict[str, Any], list[tuple[str, tuple[int, ...], int, int]], int]:
    """Return metadata, the table of tensors, and where that ends."""
    from transformers.integrations.gguf import reader

    try:
        blob = reader._mapped(str(path))
        metadata, n_tensors, place = reader._read_metadata(blob, str(path))
        table, place = reader._read_tensor_table(blob, n_tensors, place)
    except (ValueError, OSError, OverflowError, MemoryError, LookupError) as error:
        raise _broken(path, str(error)) from error
    except Exception as error:  # struct.error and others of what is read past the end
        raise _broken(path, "its header ends too early") from error
    return metadata, table, place


def refuse_without_package() -> None:
    """Raise MissingExtraError unless the package that reads GGUF files is installed."""
    if find_spec("gguf") is None:
        raise MissingExtraError(
            "Reading a GGUF file needs the package gguf, which is not installed.",
            "Install the extra: pip install 'thermoscope[gguf]', or in a clone: "
            "pip install -e '.[gguf]'.",
        )


def _n_bytes(path: Path, name: str, shape: tuple[int, ...], kind: int) -> int:
    """Return how many bytes a tensor takes in its number format."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    known = {int(of_format): size for of_format, size in GGML_QUANT_SIZES.items()}
    if kind not in known:
        raise UnsupportedModelError(
            f"The number format {kind} of {name} in {path} is not known to the package gguf.",
            "Install a newer one, or take a file in one of "
            f"{', '.join(sorted(one.name for one in GGMLQuantizationType))}.",
        )
    n_of_block, bytes_of_block = known[kind]
    return prod(shape) // n_of_block * bytes_of_block


def _refuse_part(path: Path, metadata: dict[str, Any]) -> None:
    n_parts = int(metadata.get("split.count", 1) or 1)
    if n_parts > 1:
        raise InputError(
            f"{path} is one of {n_parts} parts of a GGUF file.",
            "Merge them: llama-gguf-split --merge FIRST_PART MERGED.gguf.",
        )


def _broken(path: Path, cause: str) -> InputError:
    return InputError(f"{path} is no complete GGUF file: {cause}.", "Copy or download it again.")
