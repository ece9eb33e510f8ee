"""Named tensors in one file, with a full disk told as every other file tells it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def write_tensors(tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    """Write tensors to a safetensors file that those may read who may read other new files.

    The library makes a file of its own that nobody but its owner can read.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path.touch()
    permissions = path.stat().st_mode & 0o777
    try:
        save_file(dict(tensors), path)
        path.chmod(permissions)
    except SafetensorError as error:
        raise OSError(str(error)) from error
