"""Which files of a checkpoint hold its weights, and the small file that configures them.

They are those that transformers loads, for every number.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from collect.adapters import ADAPTERS, nearest_types, quantised
from collect.adapters.nested import PLACES, text_entry
from collect.errors import InputError, UnsupportedModelError
from collect.model.checkpoint.hub import Repository

#: Name of a file that holds all weights, and of the list of files that hold them together.
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

#: Entry of config.json that names another file than these two.
_NAMED_BY_CONFIG = "transformers_weights"

#: What says that small matrices must be added to the weights of another model.
ADAPTER = "adapter_config.json"

_PICKLES = (".bin", ".pt", ".pth", ".ckpt")

_COPY_AGAIN = "Correct the file, or copy or download it again."

#: Missing files that a message names at most.
_SHOWN = 3


class IncompleteError(InputError):
    """Some of the files that an index lists are not there."""


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """The files that make up the weights, and what an index says of them.

    Attributes
    ----------
    names
        Of the safetensors files, sorted.
    tensors
        Names of the tensors that the index lists; none where there is no index.
    """

    names: tuple[str, ...]
    tensors: tuple[str, ...] = ()


def weight_files(
    directory: Path, config: dict[str, Any], listed: Repository | None = None
) -> WeightFiles:
    """Return the safetensors files that make up the weights.

    The file that ``config.json`` names under ``transformers_weights`` comes first, then
    ``model.safetensors``, then the files that ``model.safetensors.index.json`` lists, as in
    ``from_pretrained``. What else lies beside them is of no account.

    Parameters
    ----------
    directory
        Where the small files are.
    config
        ``config.json``.
    listed
        The repository of the hub whose snapshot the directory is; None where it holds all.

    Raises
    ------
    InputError
        If there is no safetensors file, or an index is broken; `IncompleteError`, if it names
        files that are not there.
    UnsupportedModelError
        If they are quantised, or an adapter lies beside them, which would change activations but
        no weights.
    """
    where = str(directory) if listed is None else listed.model
    packed = config.get("quantization_config") or text_entry(config, "quantization_config")
    if packed:
        method = packed.get("quant_method") if isinstance(packed, dict) else None
        named = f" ({method})" if isinstance(method, str) else ""
        raise UnsupportedModelError(
            f"The weights of {where} are quantised{named}, not plain floating numbers.",
            quantised.hint(method),
        )
    if listed is None:
        beside = {path.name for path in directory.iterdir()}
    else:
        beside = {name.partition("/")[0] for name in listed.sizes}
    if ADAPTER in beside:
        raise UnsupportedModelError(
            f"The weights must be those that run; {where} holds {ADAPTER}, which adds others to "
            "them at every pass.",
            "Merge the adapter with merge_and_unload and save the result, or take the file out.",
        )
    chosen = _choose(where, config, beside)
    is_index = chosen.endswith(".index.json") and _holds(directory, chosen, listed)
    files = WeightFiles((chosen,))
    if is_index:
        places = json_object(directory / chosen).get("weight_map")
        if not isinstance(places, dict) or not places or not all(map(_is_beside, places.values())):
            raise InputError(
                f"The weight_map of {chosen} must say of each weight which file beside it holds "
                f"it; that of {where} does not.",
                "Copy or download it again.",
            )
        files = WeightFiles(tuple(sorted(set(places.values()))), tuple(places))
    missing = [name for name in files.names if not _holds(directory, name, listed)]
    if missing and is_index:
        raise _incomplete(where, chosen, missing, len(files.names))
    if missing:
        pickles = sorted(name for name in beside if PurePosixPath(name).suffix in _PICKLES)
        raise InputError(
            f"A checkpoint must keep its weights in safetensors files; {where} lacks "
            f"{', '.join(missing)} and holds {', '.join(pickles) or 'no other weights'}.",
            "Convert pickled weights with save_pretrained: a pickle can run code and is never "
            "opened. Otherwise copy the whole directory again.",
        )
    return files


def _holds(directory: Path, name: str, listed: Repository | None) -> bool:
    return (directory / name).is_file() if listed is None else name in listed.sizes


def _incomplete(where: str, index: str, missing: list[str], n: int) -> IncompleteError:
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return IncompleteError(
        f"A checkpoint must hold every file of weights that its {index} lists; {where} lacks "
        f"{len(missing)} of {n}: {', '.join(missing[:_SHOWN])}{more}.",
        "Copy or download what is missing again, beside the others; where it was never uploaded, "
        "name another revision.",
    )


def _choose(where: str, config: dict[str, Any], beside: Collection[str]) -> str:
    """Return the name of the file, or of the index, that transformers opens."""
    named = config.get(_NAMED_BY_CONFIG)
    if named is None:
        return INDEX if INDEX in beside and SINGLE not in beside else SINGLE
    if not isinstance(named, str) or not named.endswith(
        (".safetensors", ".safetensors.index.json")
    ):
        raise InputError(
            f"The entry {_NAMED_BY_CONFIG} of config.json must name a safetensors file or an "
            f"index of such files; {where} has {named!r}.",
            "Correct the entry, or take it out.",
        )
    return named


def _is_beside(name: object) -> bool:
    """Return whether a name is that of a safetensors file in the same directory or below."""
    if not isinstance(name, str) or not name.endswith(".safetensors"):
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def config_of(directory: Path) -> dict[str, Any]:
    """Return ``config.json`` of a directory, of a model that can be measured as far as it tells.

    Raises
    ------
    InputError
        If it is not there, or broken.
    UnsupportedModelError
        If the model is code of the repository's own.
    """
    path = directory / "config.json"
    if not path.is_file():
        raise InputError(
            f"A checkpoint directory must hold config.json; {directory} does not.",
            "Give the directory that save_pretrained wrote. Merge an adapter into its model with "
            "merge_and_unload first, and shards of a training into safetensors.",
        )
    config = json_object(path)
    if "model_type" not in config:
        raise InputError(
            f"{path} must say which model_type it configures; it does not.",
            "Give the directory that save_pretrained wrote.",
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
        kind = type(content).__name__
        raise InputError(f"{path} must hold a JSON object; found {kind}.", _COPY_AGAIN)
    return content
