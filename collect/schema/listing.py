"""The files of a published store, as its Croissant description lists them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from collect.schema.contract import ContractError

#: Name of the description within a store.
DESCRIPTION = "croissant.json"

_SIZE = re.compile(r"(\d+) B")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Listed:
    """One file: its path within the store, its size [bytes] and the hash of its content."""

    name: str
    n_bytes: int
    sha256: str


def listed_files(text: str | bytes, place: str) -> list[Listed]:
    """Return the files that a description lists, in its order.

    Parameters
    ----------
    text
        The description.
    place
        Where it lies, for messages.

    Raises
    ------
    ContractError
        If it is no description of a store that `collect publish` wrote.
    """
    try:
        distribution = json.loads(text)["distribution"]
        files = [_list(entry) for entry in distribution if entry["@type"] == "cr:FileObject"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ContractError(
            f"{place} must list the files of a store, each with size and hash; it does not "
            f"({type(error).__name__}: {error}).",
            "Write it again with: thermoscope collect publish DIR",
        ) from error
    return files


def _list(entry: dict[str, Any]) -> Listed:
    name = str(entry["contentUrl"])
    size, digest = _SIZE.fullmatch(entry["contentSize"]), _HASH.fullmatch(entry["sha256"])
    place = PurePosixPath(name)
    if size is None or digest is None or place.is_absolute() or ".." in place.parts or ":" in name:
        raise ValueError(f"{name[:80]!a} is not a file within the store with its size and hash")
    return Listed(name, int(size[1]), digest[0])
