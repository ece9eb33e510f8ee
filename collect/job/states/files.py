"""Files of states: what a header says is judged first, then the numbers are read.

Two kinds of file hold one prompt each, safetensors and npz: an array ``hidden_states`` of three
axes and, beside it, ``token_ids``.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from safetensors import SafetensorError, safe_open

from collect.errors import InputError, first_line
from collect.job.states.declared import ARRAY, TOKENS, Declared

if TYPE_CHECKING:
    from torch import Tensor

_SUFFIXES = (".safetensors", ".npz")
_FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
#: Number formats of token ids, as numpy and as safetensors name them.
_WHOLE = re.compile(r"u?int(8|16|32|64)|[IU](8|16|32|64)")

#: Largest state: sums of its square over a prompt are stored in float32.
_LARGEST = 1e15

#: Shape and number format of an array.
_Kind: TypeAlias = "tuple[Sequence[int], str]"

_DAMAGED = (SafetensorError, zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError)


@dataclass(frozen=True, slots=True)
class Head:
    """What a file says of its states before they are read.

    Attributes
    ----------
    n_entries, n_tokens, d_model
        Lengths of the axes.
    number_format
        As torch calls it.
    has_token_ids
        Whether the ids of the prompt's tokens stand beside the states.
    is_turned
        Whether the axes lie in the file as (tokens, layers, d).
    """

    path: Path
    n_entries: int
    n_tokens: int
    d_model: int
    number_format: str
    has_token_ids: bool
    is_turned: bool = False

    @property
    def token_ids(self) -> tuple[int, ...] | None:
        """Ids of the prompt's tokens, read from the file; None where it has none."""
        if not self.has_token_ids:
            return None
        with _intact(self.path):
            ids = _array(self.path, TOKENS).reshape(-1)
        if len(ids) and int(ids.min()) < 0:
            raise InputError(
                f"Token ids must be whole numbers of 0 or more; {self.path} has {int(ids.min())}.",
                "Give the ids that the model's tokenizer returns.",
            )
        return tuple(int(number) for number in ids)


def head(path: Path, how: Declared) -> Head:
    """Return what a file says of its states."""
    if path.suffix not in _SUFFIXES or not path.is_file():
        raise InputError(
            f"There is no file of states, {' or '.join(_SUFFIXES)}, at {path}.", "Check the path."
        )
    with _intact(path):
        read = _describe_npz if path.suffix == ".npz" else _describe_safetensors
        (shape, number_format), of_ids = read(path)
    if number_format not in _FLOATS.values() or len(shape) != 3 or not all(shape):
        raise InputError(
            f"States must be floating numbers, (layers, tokens, d) or (tokens, layers, d); those "
            f"of {path} are {number_format} of the shape {tuple(shape)}.",
            "Write one prompt a file, without an axis of batches.",
        )
    n_entries, n_tokens = (shape[1], shape[0]) if how.tokens_first else (shape[0], shape[1])
    if of_ids is not None:
        _check_token_ids(path, n_tokens, *of_ids)
    return Head(
        path, n_entries, n_tokens, shape[2], number_format, of_ids is not None, how.tokens_first
    )


def _check_token_ids(path: Path, n_tokens: int, shape: Sequence[int], number_format: str) -> None:
    """Refuse token ids that are no whole numbers, or not as many as there are states."""
    if not _WHOLE.fullmatch(number_format):
        raise InputError(
            f"Token ids must be whole numbers of 0 or more; those of {path} are {number_format}.",
            "Give the ids that the model's tokenizer returns.",
        )
    n_ids = math.prod(shape)
    if n_ids != n_tokens:
        raise InputError(
            f"There must be a state for each token; {path} has {n_tokens} along the tokens and "
            f"{n_ids} token ids.",
            "The axes are (layers, tokens, d), of vllm (tokens, layers, d).",
        )


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Refuse a file that turns out to be damaged, or lacks what it should hold."""
    try:
        yield
    except KeyError as error:
        raise InputError(f"{path} holds no {error}.", "Write it again.") from error
    except _DAMAGED as error:
        raise InputError(
            f"The file {path} cannot be read: {first_line(error)}.", "Write or copy it again."
        ) from error


def _describe_safetensors(path: Path) -> tuple[_Kind, _Kind | None]:
    with safe_open(path, framework="np") as tensors:
        names = [*tensors.keys()]
        if ARRAY not in names:
            raise KeyError(ARRAY)
        stored = {name: tensors.get_slice(name) for name in (ARRAY, TOKENS) if name in names}
        kinds = {name: (of.get_shape(), of.get_dtype()) for name, of in stored.items()}
    shape, dtype = kinds[ARRAY]
    return (shape, _FLOATS.get(dtype, dtype)), kinds.get(TOKENS)


def _describe_npz(path: Path) -> tuple[_Kind, _Kind | None]:
    with zipfile.ZipFile(path) as arrays:
        has_ids = f"{TOKENS}.npy" in arrays.namelist()
        return _header(arrays, ARRAY), _header(arrays, TOKENS) if has_ids else None


def _header(arrays: zipfile.ZipFile, name: str) -> _Kind:
    """Return shape and number format of an array by its header; it ends where the file does."""
    with arrays.open(f"{name}.npy") as stored:
        is_first = np.lib.format.read_magic(stored) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if is_first else _LATER_HEADER
        shape, _, dtype = read(stored)
        n_bytes = stored.tell() + math.prod(shape) * dtype.itemsize
    held = arrays.getinfo(f"{name}.npy").file_size
    if held != n_bytes:
        raise ValueError(f"{name} takes {n_bytes} bytes by its header, and {held} are there")
    return shape, str(dtype)


_LATER_HEADER = np.lib.format.read_array_header_2_0


def _array(path: Path, name: str) -> Any:
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return arrays[name]
    with safe_open(path, framework="np") as tensors:
        return tensors.get_tensor(name)


def states(of: Head) -> Tensor:
    """Return the states of a file, (n_entries, n_tokens, d_model)."""
    import torch

    with _intact(of.path):
        if of.path.suffix == ".npz":
            with np.load(of.path, allow_pickle=False) as arrays:
                numbers = torch.from_numpy(arrays[ARRAY])
        else:
            with safe_open(of.path, framework="pt") as tensors:
                numbers = tensors.get_tensor(ARRAY)
    numbers = numbers.transpose(0, 1) if of.is_turned else numbers
    wrong = ~numbers.isfinite()
    if wrong.any():
        layer, token, feature = (int(n) for n in wrong.nonzero()[0])
        raise InputError(
            f"Every number must be finite; {int(wrong.sum())} of {of.path} are not, the first "
            f"in entry {layer}, token {token}, feature {feature}.",
            "Write the states again, in float32 if a short format overflowed.",
        )
    largest = float(numbers.abs().max())
    if largest > _LARGEST:
        raise InputError(
            f"States must be at most {_LARGEST:g}, so that their squares can be stored; the "
            f"largest of {of.path} is {largest:g}.",
            "Write the states again: no model's are as large.",
        )
    return numbers
