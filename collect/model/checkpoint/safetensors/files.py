"""The tensors of safetensors files, as stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from safetensors import safe_open

from collect.model.checkpoint.safetensors.header import Stored, of_file


class SafetensorsFiles:
    """The safetensors files of a checkpoint.

    Parameters
    ----------
    paths
        The files.
    listed
        What is known of tensors whose files are still on the hub.

    Attributes
    ----------
    entries
        By key of a tensor: what headers say of it; none where they are unknown.
    conversions
        None: tensors are named and laid out as the library's conversions expect.

    Raises
    ------
    InputError
        If a file is not complete.
    """

    conversions: None = None

    def __init__(self, paths: Iterable[Path], listed: Mapping[str, Stored | None]) -> None:
        self._paths: dict[str, Path] = {}
        self.entries = {key: stored for key, stored in listed.items() if stored is not None}
        for path in paths:
            of_path = of_file(path)
            self.entries |= of_path
            self._paths |= dict.fromkeys(of_path, path)

    @contextmanager
    def opened(self, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Open the files that hold some tensors, and close them again.

        A file that stays open keeps every page in memory that was ever read.
        """
        with ExitStack() as files:
            handles: dict[Path, Any] = {}
            tensors = {}
            for key in keys:
                path = self._paths[key]
                if path not in handles:
                    handles[path] = files.enter_context(safe_open(path, framework="pt"))
                tensors[key] = handles[path].get_slice(key)
            yield tensors
