"""Files of states: what a header says is judged first, then the numbers are read.

Three kinds of file hold one prompt each: safetensors and npz with an array of three axes and,
beside it, ``token_ids``; Parquet with a row per layer and token: ``layer``, ``position``, the
vector, and ``token_id``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open

from collect.errors import InputError
from collect.job.states.declared import TOKENS, Declared

if TYPE_CHECKING:
    from torch import Tensor

_SUFFIXES = (".safetensors", ".npz", ".parquet")
_FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_DAMAGED = (SafetensorError, OSError, ValueError, KeyError, zipfile.BadZipFile, pa.ArrowException)


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
    """

    path: Path
    n_entries: int
    n_tokens: int
    d_model: int
    number_format: str
    token_ids: tuple[int, ...] | None
    layers: tuple[int, ...] | None = None


#: Shape, number format, token ids and numbers of layers.
_Said = tuple[list[int], str, tuple[int, ...] | None, tuple[int, ...] | None]


def head(path: Path, how: Declared) -> Head:
    """Return what a file says of its states.

    Raises
    ------
    InputError
        If it is missing, damaged, of no kind that is read, lacks the array, or the array has not
        three axes; or if it has other token ids than tokens.
    """
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"A file of states must end in {', '.join(_SUFFIXES)}; {path} does not.",
            "Write safetensors, an npz archive or Parquet.",
        )
    if not path.is_file():
        raise InputError(f"A file of states must be there; {path} is not.", "Check the path.")
    try:
        shape, number_format, token_ids, layers = _HEADS[path.suffix](path, how)
    except _DAMAGED as error:
        raise InputError(
            f"A file of states must be whole; {path} cannot be read: "
            f"{str(error).strip().partition(chr(10))[0]}.",
            "Write or copy it again.",
        ) from error
    if len(shape) != 3 or not all(shape):
        raise InputError(
            f"States must have three axes that are not empty, (layers, tokens, d) or (tokens, "
            f"layers, d); {how.array} of {path} has the shape {tuple(shape)}.",
            "Write one prompt a file, without an axis of batches.",
        )
    n_entries, n_tokens = (shape[1], shape[0]) if how.tokens_first else (shape[0], shape[1])
    if token_ids is not None and len(token_ids) != n_tokens:
        turned = "leave --tokens-first out" if how.tokens_first else "add --tokens-first"
        raise InputError(
            f"There must be a state for each token; {path} has {n_tokens} along the tokens and "
            f"{len(token_ids)} token ids.",
            f"If the first two axes are the other way round, {turned}.",
        )
    return Head(path, n_entries, n_tokens, shape[2], number_format, token_ids, layers)


def _of_safetensors(path: Path, how: Declared) -> _Said:
    with safe_open(path, framework="np") as tensors:
        names = [*tensors.keys()]
        _refuse_absent(how.array, names, path)
        stored = tensors.get_slice(how.array)
        number_format = _FLOATS.get(stored.get_dtype(), stored.get_dtype())
        ids = tensors.get_tensor(TOKENS) if TOKENS in names else None
        return [*stored.get_shape()], _plain(number_format, path), _ids(ids), None


def _of_npz(path: Path, how: Declared) -> _Said:
    with np.load(path, allow_pickle=False) as arrays:
        _refuse_absent(how.array, arrays.files, path)
        found = arrays[how.array]
        ids = arrays[TOKENS] if TOKENS in arrays.files else None
        return [*found.shape], _plain(str(found.dtype), path), _ids(ids), None


def _of_parquet(path: Path, how: Declared) -> _Said:
    table = _rows(path, how)
    layers = _ids(pc.unique(table["layer"])) or ()
    n_entries = len(layers)
    n_tokens = len(pc.unique(table["position"]))
    if len(table) != n_entries * n_tokens:
        raise InputError(
            f"There must be a row for each layer and token; {path} has {len(table)} rows of "
            f"{n_entries} layers and {n_tokens} tokens.",
            "Write each once.",
        )
    widths = {*pc.list_value_length(table[how.array]).to_pylist()}
    if len(widths) != 1:
        raise InputError(
            f"All vectors must be as long; {path} has lengths {sorted(map(str, widths))}.",
            "Write every state in full.",
        )
    first = table.filter(pc.equal(table["layer"], table["layer"][0]))
    ids = np.array(first["token_id"]) if "token_id" in table.column_names else None
    shape = [n_tokens, n_entries] if how.tokens_first else [n_entries, n_tokens]
    number_format = {"double": "float64", "float": "float32", "halffloat": "float16"}
    kind = str(table.schema.field(how.array).type.value_type)
    return [*shape, widths.pop()], _plain(number_format.get(kind, kind), path), _ids(ids), layers


_HEADS = {".safetensors": _of_safetensors, ".npz": _of_npz, ".parquet": _of_parquet}


def _rows(path: Path, how: Declared) -> pa.Table:
    """Return the rows of a Parquet file, sorted by layer and position."""
    table = pq.ParquetFile(path).read()
    for name in ("layer", "position", how.array):
        _refuse_absent(name, table.column_names, path)
    return table.sort_by([("layer", "ascending"), ("position", "ascending")])


def _refuse_absent(name: str, names: Sequence[str], path: Path) -> None:
    if name not in names:
        raise InputError(
            f"A file of states must hold {name}; {path} holds {', '.join(names) or 'nothing'}.",
            "Name the array with --array." if names else "Write it again.",
        )


def _plain(number_format: str, path: Path) -> str:
    if number_format not in _FLOATS.values():
        raise InputError(
            f"States must be floating numbers ({', '.join(_FLOATS.values())}); those of {path} "
            f"are {number_format}.",
            "Convert them before they are written.",
        )
    return number_format


def _ids(found: Any) -> tuple[int, ...] | None:
    return None if found is None else tuple(int(n) for n in np.asarray(found).reshape(-1))


def states(found: Head, how: Declared) -> Tensor:
    """Return the states of a file, (n_entries, n_tokens, d_model).

    Raises
    ------
    InputError
        If a number is not finite.
    """
    import torch

    if found.path.suffix == ".safetensors":
        with safe_open(found.path, framework="pt") as tensors:
            numbers: Tensor = tensors.get_tensor(how.array)
    elif found.path.suffix == ".npz":
        with np.load(found.path, allow_pickle=False) as arrays:
            numbers = torch.from_numpy(arrays[how.array])
    else:
        flat = pc.list_flatten(_rows(found.path, how)[how.array])
        shape = (found.n_entries, found.n_tokens, found.d_model)
        numbers = torch.from_numpy(flat.to_numpy().copy()).reshape(shape)
    if how.tokens_first and found.path.suffix != ".parquet":
        numbers = numbers.transpose(0, 1)
    wrong = ~numbers.isfinite()
    if wrong.any():
        layer, token, feature = (int(n) for n in wrong.nonzero()[0])
        raise InputError(
            f"Every number must be finite; {int(wrong.sum())} of {found.path} are not, the first "
            f"in entry {layer}, token {token}, feature {feature}.",
            "Write the states again, in float32 if a short format overflowed.",
        )
    return numbers
