"""The training text, cut into windows of bytes.

The text is cut into equal slabs; the end of each slab is held out and never trained on, so
that held-out bytes come from everywhere in the text. No window crosses a cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from collect.errors import InputError

N_SLABS = 16

#: One byte in this many is held out.
HELD_OUT_DIVISOR = 20


@dataclass(frozen=True, slots=True)
class Windows:
    """Stretches of context + 1 bytes, the last being only a target.

    ``training``: every window of the training part, shape (slab, offset, context + 1);
    ``held_out``: windows that do not overlap, shape (window, context + 1).
    """

    training: torch.Tensor
    held_out: torch.Tensor


def read_text(path: Path) -> bytes:
    """Return the bytes of a text file.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"The text {path} must be a readable file; {error.strerror or error}.",
            "The key text of a recipe is a path relative to the recipe.",
        ) from error


def cut_windows(text: bytes, context: int) -> Windows:
    """Return the training and the held-out windows of a text.

    Raises
    ------
    InputError
        If the text is too short to hold out one window of each slab.
    """
    shortest = N_SLABS * HELD_OUT_DIVISOR * (context + 1)
    if len(text) < shortest:
        raise InputError(
            f"The text must have at least {shortest} bytes for a context of {context}; "
            f"found {len(text)}.",
            "Give a longer text or a shorter context.",
        )
    n_bytes = len(text) // N_SLABS * N_SLABS
    slabs = torch.frombuffer(bytearray(text[:n_bytes]), dtype=torch.uint8).long()
    slabs = slabs.view(N_SLABS, -1)
    n_held_out = slabs.shape[1] // HELD_OUT_DIVISOR
    return Windows(
        training=slabs[:, :-n_held_out].unfold(1, context + 1, 1),
        held_out=slabs[:, -n_held_out:].unfold(1, context + 1, context + 1).flatten(0, 1),
    )


def draw_batch(windows: torch.Tensor, batch_size: int, generator: torch.Generator) -> torch.Tensor:
    """Return windows drawn with replacement, shape (batch_size, context + 1)."""
    n_slabs, n_offsets, _ = windows.shape
    slab = torch.randint(n_slabs, (batch_size,), generator=generator)
    offset = torch.randint(n_offsets, (batch_size,), generator=generator)
    return windows[slab, offset]
