"""The training text, cut into windows of bytes or of other tokens.

The text is cut into equal slabs; the end of each slab is held out and never trained on, so
that held-out bytes come from everywhere in the text. No window crosses a cut.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from collect.errors import InputError

N_SLABS = 16

#: One byte in this many is held out.
HELD_OUT_DIVISOR = 20


@dataclass(frozen=True, slots=True)
class Windows:
    """Stretches of context + 1 tokens, the last being only a target.

    ``training``: every window of the training part, shape (slab, offset, context + 1);
    ``held_out``: windows that do not overlap, shape (window, context + 1);
    ``bytes_per_token``: length of a token, on average over the text.
    """

    training: torch.Tensor
    held_out: torch.Tensor
    bytes_per_token: float = 1.0


def read_text(path: Path) -> bytes:
    """Return the bytes of a text file, unpacked if its name ends in ``.xz``."""
    try:
        content = path.read_bytes()
        return lzma.decompress(content) if path.suffix == ".xz" else content
    except lzma.LZMAError as error:
        raise InputError(
            f"The text {path} must be a whole xz file; {error}.", "Copy or pack it again."
        ) from error
    except OSError as error:
        raise InputError(
            f"The text {path} must be a readable file; {error.strerror or error}.",
            "The key text of a recipe is a path relative to the recipe.",
        ) from error


def cut_windows(text: bytes, context: int) -> Windows:
    """Return the training and the held-out windows of a text."""
    return _cut(np.frombuffer(text, dtype=np.uint8), context, "bytes", 1.0)


def cut_tokens(token_ids: Sequence[int], n_bytes: int, context: int) -> Windows:
    """Return the windows of a text of ``n_bytes`` that a tokenizer has turned into tokens."""
    tokens = np.asarray(token_ids, dtype=np.int64)
    return _cut(tokens, context, "tokens", n_bytes / max(1, len(tokens)))


def training_part(text: bytes) -> bytes:
    """Return the text without what is held out of it, byte for byte as `cut_windows` cuts."""
    return b"".join(part for part, _ in _stretches(text))


def held_out_part(text: bytes) -> list[bytes]:
    """Return the stretches of a text that are held out, one of each slab."""
    return [held_out for _, held_out in _stretches(text)]


def _stretches(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield of each slab what is trained on, and what is held out; a last rest is in neither."""
    length = len(text) // N_SLABS
    n_training = length - length // HELD_OUT_DIVISOR
    for start in (slab * length for slab in range(N_SLABS)):
        yield text[start : start + n_training], text[start + n_training : start + length]


def _cut(tokens: np.ndarray, context: int, unit: str, bytes_per_token: float) -> Windows:
    shortest = N_SLABS * HELD_OUT_DIVISOR * (context + 1)
    if len(tokens) < shortest:
        raise InputError(
            f"The text must have at least {shortest} {unit} for a context of {context}; "
            f"found {len(tokens)}.",
            "Give a longer text or a shorter context.",
        )
    n_whole = len(tokens) // N_SLABS * N_SLABS
    slabs = torch.tensor(tokens[:n_whole]).long().view(N_SLABS, -1)
    n_held_out = slabs.shape[1] // HELD_OUT_DIVISOR
    return Windows(
        training=slabs[:, :-n_held_out].unfold(1, context + 1, 1),
        held_out=slabs[:, -n_held_out:].unfold(1, context + 1, context + 1).flatten(0, 1),
        bytes_per_token=bytes_per_token,
    )


def draw_batch(windows: torch.Tensor, batch_size: int, generator: torch.Generator) -> torch.Tensor:
    """Return windows drawn with replacement, shape (batch_size, context + 1)."""
    n_slabs, n_offsets, _ = windows.shape
    slab = torch.randint(n_slabs, (batch_size,), generator=generator)
    offset = torch.randint(n_offsets, (batch_size,), generator=generator)
    return windows[slab, offset]
