"""GGUF files of a hub repository: which there are, and what the header of one says."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from collect.errors import InputError
from collect.model.checkpoint import hub
from collect.model.checkpoint.gguf import header
from collect.model.checkpoint.memory import as_text
from collect.model.checkpoint.safetensors.header import part
from collect.model.identifier import SUFFIX

#: How much of a file is asked for first; the header is mostly the vocabulary [bytes].
_FIRST = 1 << 22

#: Files that a message lists at most.
_SHOWN = 30


def choice(repository: hub.Repository) -> str | None:
    """Return a hint that lists the GGUF files of a repository; None where it has none."""
    candidates = sorted(name for name in repository.sizes if name.endswith(SUFFIX))
    if not candidates:
        return None
    sized = [
        f"{repository.model}/{name} ({as_text(repository.sizes[name])})"
        for name in candidates[:_SHOWN]
    ]
    more = f" and {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""
    return f"Give one of its GGUF files: {', '.join(sized)}{more}."


def refuse_absent(repository: hub.Repository, name: str) -> None:
    """Raise InputError unless a repository has a file."""
    if name not in repository.sizes:
        raise InputError(
            f"The repository {repository.model} has no file {name}.",
            choice(repository) or "It has no GGUF files.",
        )


def headed(repository: hub.Repository, name: str) -> Path:
    """Return a file with the header of one on the hub, of which no tensor is fetched.

    It is as long as the original, and gone when the process ends.

    Raises
    ------
    InputError
        If there is no header of the format.
    UnreachableError
        If the hub does not answer, or not to this account.
    """
    path = Path(_place().name) / repository.commit / name
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    size = repository.sizes[name]
    n = _FIRST
    content = part(repository.model, repository.commit, name, 0, n)
    path.write_bytes(content)
    while not header.is_whole(path) and len(content) == n and content[:4] == b"GGUF":
        n *= 2
        content = part(repository.model, repository.commit, name, 0, n)
        path.write_bytes(content)
    with path.open("r+b") as file:
        file.truncate(max(size, len(content)))
    return path


@cache
def _place() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="thermoscope-")
