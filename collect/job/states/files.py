"""Files of states: what a header says is judged first, then the numbers are read.

Two kinds of file hold one prompt each, safetensors and npz: an array ``hidden_states`` of three
axes and, beside it, ``token_ids``.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open

from collect.errors import InputError, first_line
from collect.job.states.declared import ARRAY, TOKENS, Declared

if TYPE_CHECKING:
    from torch import Tensor

_SUFFIXES = (".safetensors", ".npz")
_FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
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
    token_ids
        Of the prompt; None where the file has none.
    is_turned
        Whether the axes lie in the file as (tokens, layers, d).
    """

    path: Path
    n_entries: int
    n_tokens: int
    d_model: int
    number_format: str
    token_ids: tuple[int, ...] | None
    is_turned: bool = False


def head(path: Path, how: Declared) -> Head:
    """Return what a file says of its states."""
    if path.suffix not in _SUFFIXES or not path.is_file():
        raise InputError(
            f"There is no file of states, {' or '.join(_SUFFIXES)}, at {path}.", "Check the path."
        )
    with _intact(path):
        read = _of_npz if path.suffix == ".npz" else _of_safetensors
        shape, number_format, token_ids = read(path)
    if number_format not in _FLOATS.values() or len(shape) != 3 or not all(shape):
        raise InputError(
            f"States must be floating numbers, (layers, tokens, d) or (tokens, layers, d); those "
            f"of {path} are {number_format} of the shape {tuple(shape)}.",
            "Write one prompt a file, without an axis of batches.",
        )
    n_entries, n_tokens = (shape[1], shape[0]) if how.tokens_first else (shape[0], shape[1])
    if token_ids is not None and len(token_ids) != n_tokens:
        raise InputError(
            f"There must be a state for each token; {path} has {n_tokens} along the tokens and "
            f"{len(token_ids)} token ids.",
            "The axes are (layers, tokens, d), of vllm (tokens, layers, d).",
        )
    return Head(path, n_entries, n_tokens, shape[2], number_format, token_ids, how.tokens_first)


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


def _of_safetensors(path: Path) -> tuple[Sequence[int], str, tuple[int, ...] | None]:
    with safe_open(path, framework="np") as tensors:
        names = [*tensors.keys()]
        if ARRAY not in names:
            raise KeyError(ARRAY)
        stored = tensors.get_slice(ARRAY)
        ids = tensors.get_tensor(TOKENS) if TOKENS in names else None
        number_format = _FLOATS.get(stored.get_dtype(), stored.get_dtype())
        return stored.get_shape(), number_format, _numbers(ids)


def _of_npz(path: Path) -> tuple[Sequence[int], str, tuple[int, ...] | None]:
    with np.load(path, allow_pickle=False) as arrays:
        ids = arrays[TOKENS] if TOKENS in arrays.files else None
        with arrays.zip.open(f"{ARRAY}.npy") as stored:
            is_first = np.lib.format.read_magic(stored) == (1, 0)
            read = np.lib.format.read_array_header_1_0
            shape, _, dtype = (read if is_first else np.lib.format.read_array_header_2_0)(stored)
    return shape, str(dtype), _numbers(ids)


def _numbers(of: Any) -> tuple[int, ...] | None:
    return None if of is None else tuple(int(n) for n in np.asarray(of).reshape(-1))


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
    return numbers
