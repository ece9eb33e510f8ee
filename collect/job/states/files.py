"""Files of states: what a header says is judged first, then the numbers are read.

Three kinds of file hold one prompt each: safetensors and npz with an array of three axes and,
beside it, ``token_ids``; Parquet with a row per layer and token: ``layer``, ``position``, the
vector, and ``token_id``.
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
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open

from collect.errors import InputError, first_line
from collect.job.states.declared import TOKENS, Declared, order_hint

if TYPE_CHECKING:
    from torch import Tensor

_SUFFIXES = (".safetensors", ".npz", ".parquet")
_FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_OF_ARROW = {"double": "float64", "float": "float32", "halffloat": "float16"}
_DAMAGED = (
    *(SafetensorError, zipfile.BadZipFile, zlib.error, pa.ArrowException),
    *(OSError, EOFError, ValueError, KeyError),
)


@dataclass(frozen=True, slots=True)
class Head:
    """What a file says of its states before they are read.

    Attributes
    ----------
    path
        The file.
    n_entries, n_tokens, d_model
        Lengths of the axes.
    number_format
        As torch calls it.
    token_ids
        Of the prompt; None where the file has none.
    layers
        Number of each entry along the layers, where the file says it, as Parquet does.
    is_turned
        Whether the axes lie in the file as (tokens, layers, d).
    """

    path: Path
    n_entries: int
    n_tokens: int
    d_model: int
    number_format: str
    token_ids: tuple[int, ...] | None
    layers: tuple[int, ...] | None = None
    is_turned: bool = False


#: Shape as stored, number format, token ids and numbers of layers.
_Header = tuple[Sequence[int], str, tuple[int, ...] | None, tuple[int, ...] | None]


def head(path: Path, how: Declared) -> Head:
    """Return what a file says of its states."""
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"A file of states must end in {', '.join(_SUFFIXES)}; {path} does not.",
            "Write safetensors, an npz archive or Parquet.",
        )
    if not path.is_file():
        raise InputError(f"A file of states must be there; {path} is not.", "Check the path.")
    with _intact(path):
        shape, number_format, token_ids, layers = _HEADERS[path.suffix](path, how.array)
    if number_format not in _FLOATS.values():
        raise InputError(
            f"States must be floating numbers ({', '.join(_FLOATS.values())}); those of {path} "
            f"are {number_format}.",
            "Convert them before they are written.",
        )
    if len(shape) != 3 or not all(shape):
        raise InputError(
            f"States must have three axes that are not empty, (layers, tokens, d) or (tokens, "
            f"layers, d); {how.array} of {path} has the shape {tuple(shape)}.",
            "Write one prompt a file, without an axis of batches.",
        )
    is_turned = how.tokens_first and layers is None
    n_entries, n_tokens = (shape[1], shape[0]) if is_turned else (shape[0], shape[1])
    if token_ids is not None and len(token_ids) != n_tokens:
        raise InputError(
            f"There must be a state for each token; {path} has {n_tokens} along the tokens and "
            f"{len(token_ids)} token ids.",
            order_hint(how),
        )
    return Head(path, n_entries, n_tokens, shape[2], number_format, token_ids, layers, is_turned)


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Refuse a file that turns out to be damaged."""
    try:
        yield
    except _DAMAGED as error:
        raise InputError(
            f"A file of states must be whole; {path} cannot be read: {first_line(error)}.",
            "Write or copy it again.",
        ) from error


def _of_safetensors(path: Path, array: str) -> _Header:
    with safe_open(path, framework="np") as tensors:
        names = [*tensors.keys()]
        _refuse_absent([array], names, path)
        stored = tensors.get_slice(array)
        ids = tensors.get_tensor(TOKENS) if TOKENS in names else None
        number_format = _FLOATS.get(stored.get_dtype(), stored.get_dtype())
        return stored.get_shape(), number_format, _numbers(ids), None


def _of_npz(path: Path, array: str) -> _Header:
    with np.load(path, allow_pickle=False) as arrays:
        _refuse_absent([array], arrays.files, path)
        ids = arrays[TOKENS] if TOKENS in arrays.files else None
        with arrays.zip.open(f"{array}.npy") as stored:
            is_first = np.lib.format.read_magic(stored) == (1, 0)
            read = np.lib.format.read_array_header_1_0
            shape, _, dtype = (read if is_first else np.lib.format.read_array_header_2_0)(stored)
    return shape, str(dtype), _numbers(ids), None


def _of_parquet(path: Path, array: str) -> _Header:
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        _refuse_absent(["layer", "position", array], names, path)
        keys = [name for name in ("layer", "position", "token_id") if name in names]
        table = file.read(keys).to_pandas().sort_values(keys[:2])
        kind, n_numbers = file.schema_arrow.field(array).type, _n_numbers(file.metadata, array)
    tokens = {layer: rows[keys[1:]].to_numpy() for layer, rows in table.groupby("layer")}
    first = next(iter(tokens.values()), np.empty((0, 2)))
    for layer, of_layer in tokens.items():
        if not np.array_equal(of_layer, first) or (np.diff(first[:, 0]) != 1).any():
            raise InputError(
                "There must be a row for each layer and token, the same tokens at each layer; "
                f"layer {layer} of {path} has others.",
                "Write each position once, from the first to the last.",
            )
    width, rest = divmod(n_numbers, len(table) or 1)
    if rest:
        raise _ragged(path)
    value = str(getattr(kind, "value_type", kind))
    ids = first[:, 1] if "token_id" in keys else None
    shape = (len(tokens), len(first), width)
    return shape, _OF_ARROW.get(value, value), _numbers(ids), _numbers([*tokens])


def _n_numbers(metadata: Any, array: str) -> int:
    """Return how many numbers the vectors of a Parquet file have together."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [group.column(n) for group in groups for n in range(group.num_columns)]
    return sum(c.num_values for c in columns if f"{c.path_in_schema}.".startswith(f"{array}."))


_HEADERS = {".safetensors": _of_safetensors, ".npz": _of_npz, ".parquet": _of_parquet}


def _refuse_absent(needed: Sequence[str], names: Sequence[str], path: Path) -> None:
    absent = [name for name in needed if name not in names]
    if absent:
        raise InputError(
            f"A file of states must hold {absent[0]}; {path} holds "
            f"{', '.join(names) or 'nothing'}.",
            "Name the array with --array." if names else "Write it again.",
        )


def _ragged(path: Path) -> InputError:
    return InputError(
        f"All vectors of a file must be as long; those of {path} differ.",
        "Write every state in full.",
    )


def _numbers(of: Any) -> tuple[int, ...] | None:
    return None if of is None else tuple(int(n) for n in np.asarray(of).reshape(-1))


def states(of: Head, array: str) -> Tensor:
    """Return the states of a file, (n_entries, n_tokens, d_model)."""
    with _intact(of.path):
        numbers = _READERS[of.path.suffix](of, array)
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


def _read_safetensors(of: Head, array: str) -> Tensor:
    with safe_open(of.path, framework="pt") as tensors:
        numbers: Tensor = tensors.get_tensor(array)
    return numbers


def _read_npz(of: Head, array: str) -> Tensor:
    import torch

    with np.load(of.path, allow_pickle=False) as arrays:
        return torch.from_numpy(arrays[array])


def _read_parquet(of: Head, array: str) -> Tensor:
    import torch

    table = pq.ParquetFile(of.path).read(["layer", "position", array])
    vectors = table.sort_by([("layer", "ascending"), ("position", "ascending")])[array]
    if pc.unique(pc.list_value_length(vectors)).to_pylist() != [of.d_model]:
        raise _ragged(of.path)
    numbers = torch.from_numpy(pc.list_flatten(vectors).to_numpy().copy())
    return numbers.reshape(of.n_entries, of.n_tokens, of.d_model)


_READERS = {".safetensors": _read_safetensors, ".npz": _read_npz, ".parquet": _read_parquet}
