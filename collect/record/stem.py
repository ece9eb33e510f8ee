"""The name of the files of a unit: its model, revision and prompt set, as file systems take it."""

from __future__ import annotations

from collect.errors import InputError
from collect.schema.headers import is_pack

#: Longest name of a unit [bytes]: file systems take 255, of which a temporary file needs some more.
STEM_BYTES = 200


def file_stem(
    model_id: str, prompt_set: str | None = None, revision_name: str | None = None
) -> str:
    """Return the file name, without suffix, of one unit of measurement.

    Examples
    --------
    >>> file_stem("EleutherAI/pythia-70m", "B_pythia_sweep")
    'EleutherAI--pythia-70m@B_pythia_sweep'
    >>> file_stem("EleutherAI/pythia-70m", None, "step1000")
    'EleutherAI--pythia-70m~step1000'
    """
    stem = _model_part(model_id)
    if revision_name is not None:
        stem = f"{stem}~{revision_name.replace('/', '--')}"
    if prompt_set is not None:
        stem = f"{stem}@{prompt_set}"
    try:
        n_bytes = len(stem.encode("utf-8"))
    except UnicodeEncodeError:
        n_bytes = 0
    is_printable = not any(ord(sign) < 32 or ord(sign) == 127 or sign == "\\" for sign in stem)
    if is_pack(stem):
        raise InputError(
            f"The names of a model and a revision must not make that of packed units; {stem} is "
            "such a name.",
            "Rename the checkpoint's directory.",
        )
    if not 0 < n_bytes <= STEM_BYTES or not is_printable:
        raise InputError(
            f"The names of a model and a prompt set must make a file name: at most {STEM_BYTES} "
            f"bytes of UTF-8 without control characters. Found {stem[:60]!a} "
            f"({len(stem)} characters).",
            "Rename the checkpoint's directory or the prompt file.",
        )
    return stem


def is_of_model(model_id: str, stem: str) -> bool:
    """Return whether the name of a unit may be of a model; a longer one may be of another."""
    return stem.startswith(_model_part(model_id))


def is_of_prompt_set(prompt_set: str, stem: str) -> bool:
    """Return whether the name of a unit may be of a prompt set."""
    return f"@{prompt_set}" in stem


def _model_part(model_id: str) -> str:
    return model_id.replace("/", "--")
