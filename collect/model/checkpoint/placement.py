"""Parameters put into a model without weights, exactly as ``from_pretrained`` puts them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from transformers import core_model_loading
from transformers.modeling_utils import LoadStateDictConfig

from collect.model.checkpoint.shards import (
    Shards,
    aligned,
    contradiction,
    refuse_non_finite,
    unconverted,
)


def place(shards: Shards, parameters: Iterable[str], *, device: str) -> None:
    """Put parameters into the model of some shards, in its number format.

    Names of which the files hold no tensor are left out. Every parameter is `aligned`, so that
    how the files lay it out changes no number.

    Parameters
    ----------
    shards
        The files of a checkpoint, with the blueprint of a model.
    parameters
        Names of parameters and buffers.
    device
        Where to put them.

    Raises
    ------
    InputError
        If a number is not finite, or tensors cannot be converted.
    """
    model: Any = shards.blueprint.model
    stored = [name for name in parameters if name in shards.parameters]
    with shards.opened(stored) as tensors:
        dtype: torch.dtype = model.dtype
        report, _ = core_model_loading.convert_and_load_state_dict_in_model(
            model,
            tensors,
            LoadStateDictConfig(
                dtype=dtype,
                dtype_plan=model._get_dtype_plan(dtype),
                device_map={"": device},
                weight_mapping=list(shards.blueprint.conversions),
            ),
        )
    for name, problem in report.conversion_errors.items():
        raise unconverted(shards.directory, name, str(problem).splitlines()[-1])
    for name, actual, expected in report.mismatched_keys:
        raise contradiction(shards.directory, name, actual, expected)
    for name in shards.made_with(stored):
        placed = model.get_parameter_or_buffer(name)
        placed.data = aligned(placed.data)
        refuse_non_finite(name, placed)
