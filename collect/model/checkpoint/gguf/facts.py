"""What a GGUF file says of itself that is recorded: whose it is, and how it is quantised."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any
from urllib.parse import urlsplit

from collect.errors import UnsupportedModelError
from collect.model.checkpoint.gguf import steps
from collect.model.checkpoint.gguf.header import Header, Tensor
from collect.model.checkpoint.safetensors.header import FLOATS
from collect.model.labels import Labels

#: The way to perturb weights, as table ``run`` and the command line name it.
STEP = "step"


def labels(header: Header) -> Labels:
    """Return who trained the model, and its base, as far as the header says so."""
    lab = header.metadata.get("general.organization")
    return Labels(lab=_text(lab), base_model_id=_base(header.metadata))


def of_model(header: Header) -> dict[str, str | None]:
    """Return what table ``model`` holds of a file: its title, licence and kind of quantisation."""
    return {
        "title": _text(header.metadata.get("general.name")),
        "licence": _text(header.metadata.get("general.license")),
        "quantisation": _mix(header) if is_quantised(header) else None,
    }


def of_run(header: Header) -> dict[str, Any]:
    """Return what table ``run`` holds of a file: its formats by kind of matrix, and their size.

    Bits per weight are those of all tensors together. Nothing of a file in plain floats.
    """
    if not is_quantised(header):
        return {}
    by_kind: dict[str, set[str]] = {}
    for tensor in header.tensors:
        if len(tensor.shape) > 1:
            by_kind.setdefault(_kind(tensor), set()).add(tensor.format_name)
    formats = {kind: "+".join(sorted(names)) for kind, names in sorted(by_kind.items())}
    n_weights = sum(prod(tensor.shape) for tensor in header.tensors)
    n_bytes = sum(tensor.n_bytes for tensor in header.tensors)
    return {"quantisation": json.dumps(formats), "bits_per_weight": 8 * n_bytes / n_weights}


def perturbed(header: Header, seed: int) -> Header:
    """Return a file that is read with simulated quantisation noise, of its own rounding's size.

    Raises
    ------
    UnsupportedModelError
        If it is not quantised, or a format has no even grid.
    """
    quantised = {t.format_name for t in header.tensors if t.format_name not in FLOATS}
    uneven = sorted(name for name in quantised if not steps.has_step(name))
    if not quantised or uneven:
        stored = f"in {' and '.join(uneven)}" if uneven else "plain floats"
        raise UnsupportedModelError(
            "Weights must be quantised on an even grid to be perturbed by a step; those of "
            f"{header.path} are {stored}.",
            "Leave --perturb out.",
        )
    return replace(header, seed=seed)


def perturbation(header: Header) -> dict[str, Any]:
    """Return what table ``run`` holds of a file that is so read; nothing of another."""
    if header.seed is None:
        return {}
    return {"perturbation": STEP, "perturbation_seed": header.seed}


def n_quantised(header: Header) -> int:
    """Return how many numbers of a file are stored as anything but plain floats."""
    return sum(prod(t.shape) for t in header.tensors if t.format_name not in FLOATS)


def formats(header: Header) -> str:
    """Return the number formats of a file, joined by ``+``; plain floats as torch calls them."""
    names = {tensor.format_name for tensor in header.tensors}
    return "+".join(sorted(FLOATS.get(name, name) for name in names))


def is_quantised(header: Header) -> bool:
    """Return whether a tensor is stored as anything but plain floats."""
    return any(tensor.format_name not in FLOATS for tensor in header.tensors)


def _kind(tensor: Tensor) -> str:
    """Return the name of a tensor without its block's number and its ending.

    >>> _kind(Tensor("blk.3.attn_q.weight", (8, 8), 0, 0, 256))
    'attn_q'
    """
    return re.sub(r"^blk\.\d+\.", "", tensor.name).removesuffix(".weight")


def _mix(header: Header) -> str:
    """Return what the file calls its mix of formats, such as Q4_K_M, else the formats."""
    from gguf import LlamaFileType

    stated = header.metadata.get("general.file_type")
    known: dict[Any, str] = {int(each): each.name.removeprefix("MOSTLY_") for each in LlamaFileType}
    of_matrices = {tensor.format_name for tensor in header.tensors if len(tensor.shape) > 1}
    of_file = known.get(stated) if type(stated) is int else None
    return of_file or "+".join(sorted(of_matrices))


def _base(metadata: Mapping[str, Any]) -> str | None:
    """Return the identifier of the model that this one was made from."""
    url = _text(metadata.get("general.base_model.0.repo_url"))
    try:
        path = urlsplit(url).path.strip("/") if url else ""
    except ValueError:
        return None
    return path if path.count("/") == 1 else None


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
