"""The tensors of a GGUF file by the parameters of transformers that they make up.

What llama.cpp's converter did to a tensor is undone: rows of Q and K of a llama lie in pairs there,
norms of a Gemma hold 1 + w, matrices of a GPT-2 are transposed, and experts are stored as gate
and up. One tensor is read at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from collect.model.checkpoint.gguf import header
from collect.model.checkpoint.gguf.architectures import ARCHITECTURES, Architecture
from collect.model.checkpoint.gguf.numbers import dequantised
from collect.model.checkpoint.safetensors.header import Stored

#: From the numbers of a tensor as stored to those of the parameter.
Undo = Callable[[Any], Any]


@dataclass(frozen=True)
class Reading:
    """A parameter as it lies in the file, not read yet: indexed as slices of safetensors are.

    Attributes
    ----------
    path
        The file.
    parts
        The tensors it is made of, side by side in their second dimension.
    undo
        Undoes what the conversion to GGUF did; None where nothing was done.
    seed
        As in `header.Header`.
    """

    path: Path
    parts: Sequence[header.Tensor]
    undo: Undo | None = None
    seed: int | None = None

    def __getitem__(self, places: Any) -> Tensor:
        """Return the dequantised numbers, or some rows of them."""
        if len(self.parts) == 1 and self.undo is None:
            return torch.from_numpy(self._numbers(self.parts[0], places))
        pieces = [self._numbers(part, ...) for part in self.parts]
        numbers = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)
        whole = torch.from_numpy(
            np.ascontiguousarray(numbers if self.undo is None else self.undo(numbers))
        )
        return whole if places is Ellipsis else whole[places]

    def get_shape(self) -> list[int]:
        """Return the shape of the parameter."""
        first, *others = (part.shape for part in self.parts)
        shape = [*first]
        if others:
            shape[1] += sum(other[1] for other in others)
        # A view of one number: what is undone moves numbers and makes none.
        empty = np.broadcast_to(np.float32(0), shape)
        return [*(empty if self.undo is None else self.undo(empty)).shape]

    def get_dtype(self) -> str:
        """Return the name of the number format that the numbers are read in."""
        return "F32"

    def _numbers(self, part: header.Tensor, places: Any) -> Any:
        return dequantised(self.path, part, places, self.seed)


class GgufFile:
    """The tensors of one GGUF file.

    Parameters
    ----------
    of_file
        Its header.
    config
        The configuration of transformers.

    Attributes
    ----------
    entries
        By parameter: what is stored.
    conversions
        None: the names are the parameters' already.
    """

    conversions: list[Any] | None = None

    def __init__(self, of_file: header.Header, config: Any) -> None:
        known = ARCHITECTURES[of_file.architecture]
        parts: dict[str, list[header.Tensor]] = {}
        for tensor in of_file.tensors:
            if tensor.name not in known.factors:
                parts.setdefault(parameter(known, tensor.name), []).append(tensor)
        self._readings = {
            key: Reading(
                of_file.path,
                # Gate before up, whatever their order in the file.
                sorted(made_of, key=lambda part: "_up_" in part.name),
                _undo(of_file.architecture, made_of[0].name, config),
                of_file.seed,
            )
            for key, made_of in parts.items()
        }
        self.entries = {
            key: Stored(tuple(reading.get_shape()), reading.parts[0].format_name)
            for key, reading in self._readings.items()
        }

    @contextmanager
    def opened(self, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield what is stored under some keys, not read yet."""
        yield {key: self._readings[key] for key in keys}


def readings(of_file: header.Header) -> Iterator[tuple[str, Reading]]:
    """Yield the tensors of a file as they lie there, by the file's names."""
    for tensor in of_file.tensors:
        yield tensor.name, Reading(of_file.path, [tensor], seed=of_file.seed)


def parameter(known: Architecture, name: str) -> str:
    """Return the parameter of transformers that a tensor of an architecture belongs to.

    Examples
    --------
    >>> parameter(ARCHITECTURES["llama"], "blk.3.attn_q.weight")
    'model.layers.3.self_attn.q_proj.weight'
    """
    kind, _, leaf = name.rpartition(".")
    match = re.fullmatch(r"blk\.(\d+)\.(\w+)", kind)
    if match is None:
        module = "lm_head" if kind == "output" else f"{known.base}.{known.ends[kind]}"
        return f"{module}.{leaf}"
    module = f"{known.base}.{known.blocks}.{match[1]}.{known.modules[match[2]]}"
    return module if match[2].endswith("_exps") else f"{module}.{leaf}"


def _undo(architecture: str, name: str, config: Any) -> Undo | None:
    """Return what undoes the conversion of one tensor; None where nothing was done to it."""
    kind = name.removeprefix("blk.").partition(".")[2] if name.startswith("blk.") else name
    if architecture == "llama" and kind.startswith(("attn_q.", "attn_k.")):
        is_query = kind.startswith("attn_q.")
        n = config.num_attention_heads if is_query else config.num_key_value_heads
        return lambda numbers: _unpaired(numbers, n)
    if architecture in ("gemma2", "gemma3") and kind.endswith("norm.weight"):
        return lambda numbers: numbers - 1
    is_matrix = kind in {f"{of}.weight" for of in ("attn_qkv", "attn_output", "ffn_up", "ffn_down")}
    if architecture == "gpt2" and is_matrix:
        return lambda numbers: numbers.T
    if kind == "ffn_gate_inp_shexp.weight":
        return lambda numbers: numbers.reshape(1, -1)
    return None


def _unpaired(numbers: Any, n_heads: int) -> Any:
    """Return rows in halves: 0, 2, 4, ... of a head before 1, 3, 5, ..."""
    pairs = numbers.reshape(n_heads, -1, 2, *numbers.shape[1:])
    return pairs.swapaxes(1, 2).reshape(numbers.shape)
