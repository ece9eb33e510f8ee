"""The small files of a checkpoint directory: its configuration, and who it says trained it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collect.adapters import ADAPTERS, nearest_types, quantised
from collect.adapters.within import PLACES, text_entry
from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.weight_files import ADAPTER, adapter_alone, refuse_other_format
from collect.model.labels import Labels

#: File a checkpoint directory may hold to say who trained it; written by ``training.train``.
SIDECAR = "thermoscope.json"

_COPY_AGAIN = "Correct the file, or copy or download it again."


def labels_of(sidecar: dict[str, Any], directory: Path) -> Labels:
    """Return the labels that a sidecar states.

    Raises
    ------
    InputError
        If one of them can be none.
    """
    try:
        return Labels(**{key: sidecar.get(key) for key in Labels.__slots__})
    except InputError as error:
        raise InputError(f"{directory / SIDECAR}: {error.problem}", error.hint) from error


def config_of(directory: Path) -> dict[str, Any]:
    """Return ``config.json`` of a directory, of a model that can be measured as far as it tells.

    Raises
    ------
    InputError
        If it is not there, or broken.
    UnsupportedModelError
        If the weights are quantised, or the model is code of the repository's own.
    """
    path = directory / "config.json"
    if not path.is_file() and (directory / ADAPTER).is_file():
        raise adapter_alone("checkpoint directory", str(directory))
    if not path.is_file():
        refuse_other_format(str(directory), {beside.name for beside in directory.iterdir()})
        raise InputError(
            f"A checkpoint directory must hold config.json; {directory} does not.",
            "Give the directory that save_pretrained wrote.",
        )
    config = json_object(path)
    if "model_type" not in config:
        raise InputError(
            f"{path} must say which model_type it configures; it does not.",
            "Give the directory that save_pretrained wrote.",
        )
    packed = config.get("quantization_config") or text_entry(config, "quantization_config")
    if packed:
        method = packed.get("quant_method") if isinstance(packed, dict) else None
        said = f" ({method})" if isinstance(method, str) else ""
        raise UnsupportedModelError(
            f"The weights of {directory} are quantised{said}, not plain floating numbers.",
            quantised.hint(method),
        )
    if config.get("auto_map") and config["model_type"] not in {**ADAPTERS, **PLACES}:
        raise UnsupportedModelError(
            f"The model must be one that transformers itself can run; {directory} brings code "
            f"of its own for model_type {config['model_type']!r}, which is never run.",
            "Use a conversion of the model to a type that has an adapter; nearest in name: "
            f"{', '.join(nearest_types(str(config['model_type'])))}.",
        )
    return config


def json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises
    ------
    InputError
        If the file cannot be read, or holds none.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} must be readable JSON; {reason}.", _COPY_AGAIN) from error
    if not isinstance(content, dict):
        found = type(content).__name__
        raise InputError(f"{path} must hold a JSON object; found {found}.", _COPY_AGAIN)
    return content
