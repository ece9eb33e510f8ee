"""The lengths of a folder as rows of the contract, their layers numbered as ours are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from collect.errors import InputError
from collect.published.reported.description import LENGTHS, Model, Source

#: Columns that ``norms.csv`` must have, and those that it may have.
REQUIRED, OPTIONAL = ("model_id", "layer", "norm"), ("series", "dtype", "file")

#: What makes up a series of lengths, within which a gain is taken.
SERIES = ["model_id", "series"]


def read(folder: Path, source: Source, models: Mapping[str, Model]) -> pd.DataFrame:
    """Return the lengths of a folder: `model_id`, `series`, `layer`, `norm`, `dtype`, `file`.

    ``layer`` is the block after which a length stands, from 0, and -1 before block 0.

    Raises
    ------
    InputError
        If the table is absent or none, lacks a column, names a model that the description does
        not, holds a length that is not positive and finite, or a series that skips or repeats a
        layer, begins after block 0, or has more layers than the model has blocks.
    """
    path = folder / LENGTHS
    rows = _table(path)
    names = [name for name in OPTIONAL if name in rows]
    rows = rows[[*REQUIRED, *names]].copy()
    for name, default in (("series", "1"), ("dtype", source.dtype), ("file", LENGTHS)):
        rows[name] = rows[name] if name in rows else pd.Series(None, rows.index, dtype=object)
        rows[name] = rows[name].fillna(default).astype(str)
    unknown = sorted({*rows["model_id"]} - {*models})
    if unknown:
        raise InputError(
            f"{path} must hold models that the description names; {unknown[0]} is not among them.",
            "Add a [[model]] of it, with n_layers and d_model.",
        )
    rows["norm"] = _numbers(path, rows, "norm")
    wrong = rows[~(np.isfinite(rows["norm"]) & (rows["norm"] > 0))]
    if len(wrong):
        first = wrong.iloc[0]
        raise InputError(
            f"Each length of {path} must be positive and finite; that of {first['model_id']} at "
            f"layer {first['layer']} is {first['norm']}.",
            "Leave out what was not measured.",
        )
    numbers = _numbers(path, rows, "layer")
    rows["layer"] = (numbers - source.first_block).astype("int64")
    for (model_id, series), part in rows.groupby(SERIES, sort=True):
        _check_layers(path, f"{model_id}, series {series}", part["layer"], models[str(model_id)])
    return rows.sort_values([*SERIES, "layer"], ignore_index=True)


def _table(path: Path) -> pd.DataFrame:
    try:
        rows = pd.read_csv(path, dtype={"series": str, "dtype": str, "file": str, "model_id": str})
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The lengths {path} must be a readable table; {reason}.",
            f"Write a CSV file with the columns {', '.join(REQUIRED)}.",
        ) from error
    missing = [name for name in REQUIRED if name not in rows]
    if missing or rows.empty:
        what = f"lacks {', '.join(missing)}" if missing else "has no row"
        raise InputError(
            f"The lengths {path} must have the columns {', '.join(REQUIRED)}; it {what}.",
            "One row is one length: model, layer, norm.",
        )
    return rows


def _numbers(path: Path, rows: pd.DataFrame, name: str) -> pd.Series[float]:
    numbers = pd.to_numeric(rows[name], errors="coerce")
    wrong = rows[numbers.isna() | (name == "layer") & (numbers % 1 != 0)]
    if len(wrong):
        kind = "whole number" if name == "layer" else "number"
        raise InputError(
            f"Each {name} of {path} must be a {kind}; found {wrong[name].iloc[0]!r}.",
            "Correct that row.",
        )
    return numbers.astype(float)


def _check_layers(path: Path, where: str, layers: pd.Series[int], model: Model) -> None:
    """Refuse a series whose layers cannot be what the description says they are."""
    found = sorted(layers.tolist())
    if found != list(range(found[0], found[0] + len(found))):
        raise InputError(
            f"{path}: {where} must have each layer once and skip none.", "Correct its rows."
        )
    if found[0] not in (-1, 0) or found[-1] >= model.n_layers:
        raise InputError(
            f"{path}: {where} must have its first length before or after block 0 and none beyond "
            f"block {model.n_layers - 1}; found {found[0]} to {found[-1]}.",
            "Check first_block, n_layers, and whether the last entry is after the final norm.",
        )
