"""The configuration of a checkpoint as transformers reads it, without any code of its model."""

from __future__ import annotations

from typing import Any

import transformers

from collect.errors import InputError
from collect.model.checkpoint.checkpoint import Checkpoint


def configuration(checkpoint: Checkpoint) -> Any:
    """Return what ``config.json`` describes, defaults of the model's type filled in.

    Raises
    ------
    InputError
        If it describes no model.
    """
    quieten()
    configurations: Any = transformers.AutoConfig
    try:
        return configurations.from_pretrained(
            checkpoint.directory, trust_remote_code=False, local_files_only=True
        )
    except Exception as error:
        raise not_the_model(checkpoint, error) from error


def not_the_model(checkpoint: Checkpoint, error: Exception) -> InputError:
    """Return the error that a checkpoint is not the model its ``config.json`` describes."""
    return InputError(
        f"The checkpoint {checkpoint.directory} must load as the model its config.json "
        f"describes; it does not: {first_line(error)}",
        "Copy or download it again, or check config.json.",
    )


def quieten() -> None:
    """Let the library say nothing but errors."""
    chatter: Any = transformers.logging
    chatter.set_verbosity_error()
    chatter.disable_progress_bar()


def first_line(error: Exception) -> str:
    """Return the first line of a message, and those after it as long as a colon announces them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    n_told = next((n for n, line in enumerate(lines, start=1) if not line.endswith(":")), None)
    return " ".join(lines[:n_told]) or type(error).__name__
