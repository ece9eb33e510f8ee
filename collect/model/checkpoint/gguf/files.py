"""Which GGUF file is meant by a path."""

from __future__ import annotations

from pathlib import Path

from collect.errors import InputError
from collect.model.checkpoint.gguf.header import SUFFIX


def of(path: Path, revision: str | None = None) -> Path | None:
    """Return the GGUF file that a path names: itself, or the only one in a directory.

    A directory that holds safetensors files is a checkpoint, whatever lies beside them.

    Parameters
    ----------
    path
        A file or directory, or neither.
    revision
        As asked for; a GGUF file has none.

    Returns
    -------
    The file; None where the path names none.

    Raises
    ------
    InputError
        If a directory holds several, or a revision of a file is asked for.
    """
    beside = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else []
    if not beside and not (path.suffix == SUFFIX and path.is_file()):
        return None
    if beside and (any(path.glob("*.safetensors*")) or revision is not None):
        return None
    if revision is not None:
        raise InputError(
            f"A GGUF file has no revisions; {path} was asked for at {revision!r}.",
            "Leave --revision out.",
        )
    if len(beside) > 1:
        raise InputError(
            f"The directory {path} holds {len(beside)} GGUF files.",
            f"Give one of them: {', '.join(str(file) for file in beside)}.",
        )
    return beside[0] if beside else path
