"""What a model may be named by, looked at before torch is imported."""

from __future__ import annotations

import re

from collect.errors import InputError
from collect.schema.paths import expand_path

#: How names of GGUF files end.
SUFFIX = ".gguf"

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


def refuse_nameless(model: str) -> None:
    """Refuse what is no path that is there and can be no identifier of the hub either.

    Raises
    ------
    InputError
        If it is neither.
    """
    path = expand_path(model)
    if model and path.exists():
        return
    repository, _ = file_in(model) or (model, "")
    is_file_name = "/" not in model and path.suffix.lower() == SUFFIX
    if is_file_name or not _HUB_ID.fullmatch(repository):
        raise neither(model)


def neither(model: str) -> InputError:
    """Return the error that a model is neither on this machine nor of the hub."""
    path = expand_path(model)
    is_missing = not path.exists() and (path.is_absolute() or path.suffix.lower() == SUFFIX)
    return InputError(
        "A model must be a checkpoint directory, a GGUF file or a hub identifier; "
        + (f"there is nothing at {model!r}." if is_missing else f"{model!r} is neither."),
        "Give the directory that holds config.json, a GGUF file, or an identifier such as "
        "EleutherAI/pythia-70m.",
    )


def file_in(model: str) -> tuple[str, str] | None:
    """Return repository and file of an identifier that names both, else None.

    >>> file_in("acme/tiny-GGUF/tiny-Q4_K_M.gguf")
    ('acme/tiny-GGUF', 'tiny-Q4_K_M.gguf')
    >>> file_in("acme/tiny-GGUF") is None
    True
    """
    repository, _, name = model.rpartition("/")
    return (repository, name) if name.endswith(SUFFIX) and "/" in repository else None
