"""Packs: files in which the rows of many units lie together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from collect.schema.headers.columns import UNREADABLE, damaged, opened

#: Name of the files of a compact copy, in which the rows of many units lie together: its run file
#: has one row a unit, and every unit that it names is taken from it, whatever else lies there.
_NAME = re.compile(r"packed~[0-9a-f]{16}")


def is_pack(stem: str) -> bool:
    """Return whether files of this name, without suffix, are those of a pack.

    >>> is_pack("packed~0123456789abcdef"), is_pack("acme--tiny@S")
    (True, False)
    """
    return _NAME.fullmatch(stem) is not None


def pack_name(digest: str) -> str:
    """Return the name of the files of a pack, from the hash of what identifies its units."""
    return f"packed~{digest[:16]}"


def units_of(path: Path) -> list[str]:
    """Return the names of the units in a pack, in the order of its rows.

    Parameters
    ----------
    path
        Its run file.

    Raises
    ------
    ContractError
        If it cannot be read, or is not the run file of a pack.
    """
    try:
        with opened(path) as file:
            metadata = file.metadata.metadata or {}
        return [str(stem) for stem in json.loads(metadata[b"determinants"])["units"]]
    except (*UNREADABLE, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, error) from error


def packed_units(run_files: Iterable[Path]) -> set[str]:
    """Return the names of all units in the packs among some run files."""
    return {unit for path in run_files if is_pack(path.stem) for unit in units_of(path)}
