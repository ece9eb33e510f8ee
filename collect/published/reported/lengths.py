"""The lengths of a folder as rows of the contract, their layers numbered as ours are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import csv

from collect.errors import InputError
from collect.published.reported.description import LENGTHS, MOST, Model, Source

#: Columns that ``norms.csv`` must have, and those that it may have.
REQUIRED, OPTIONAL = ("model_id", "layer", "norm"), ("series", "dtype", "file")

#: Lengths that can be: those outside are slips of the pen.
RANGE = (1e-100, 1e100)

#: What makes up a series of lengths, within which a gain is taken.
SERIES = ["model_id", "series"]


def read(folder: Path, source: Source, models: Mapping[str, Model]) -> pd.DataFrame:
    """Return the lengths of a folder: `model_id`, `series`, `layer`, `norm`, `dtype`, `file`.

    ``layer`` is the block after which a length stands, from 0, and -1 before block 0.

    Raises
    ------
    InputError
        If the table is absent or none, lacks a column or has one twice, names a model that the
        description does not, holds a length that is not positive and finite, or a series that skips
        or repeats a layer, begins after block 0, or has more layers than the model has blocks.
    """
    path = folder / LENGTHS
    columns = dict.fromkeys((*REQUIRED, *OPTIONAL), pa.string())
    options = csv.ConvertOptions(column_types=columns, strings_can_be_null=True)
    try:
        table = csv.read_csv(path, convert_options=options)
        names = table.column_names
    except (OSError, ValueError) as error:  # Arrow's are ValueErrors
        raise InputError(
            f"The lengths {path} must be a readable table; {str(error).splitlines()[0]}",
            f"Write a CSV file with the columns {', '.join(REQUIRED)}.",
        ) from error
    wrong = [f"has {it} twice" for it in columns if names.count(it) > 1]
    wrong += [f"lacks {it}" for it in REQUIRED if it not in names]
    wrong += ["has no row"] if not len(table) else []
    if wrong:
        raise InputError(
            f"The lengths {path} must have the columns {', '.join(REQUIRED)}; it {wrong[0]}.",
            "One row is one length: model, layer, norm.",
        )
    rows: pd.DataFrame = table.select([it for it in columns if it in names]).to_pandas()
    for name, default in (("series", "1"), ("dtype", source.dtype), ("file", LENGTHS)):
        rows[name] = rows[name].fillna(default) if name in rows else default
    unknown = sorted({*rows["model_id"].fillna("")} - {*models})
    if unknown:
        raise InputError(
            f"{path} must hold models that the description names; {unknown[0]!r} is not one of "
            "them.",
            "Add a [[model]] of it, with n_layers and d_model.",
        )
    norms = pd.to_numeric(rows["norm"], errors="coerce")
    _require(path, rows, norms.between(*RANGE), "norm", "a positive, finite number")
    layers = pd.to_numeric(rows["layer"], errors="coerce")
    first = source.first_block - 1
    is_whole = layers.between(first, MOST) & (layers % 1 == 0)
    _require(path, rows, is_whole, "layer", f"a whole number from {first}")
    rows = rows.assign(norm=norms.astype(float), layer=layers.astype("int64") - source.first_block)
    for (model_id, series), part in rows.groupby(SERIES, sort=True):
        _check_layers(path, f"{model_id}, series {series}", part["layer"], models[str(model_id)])
    return rows.sort_values([*SERIES, "layer"], ignore_index=True)


def _require(path: Path, rows: pd.DataFrame, holds: pd.Series[bool], name: str, what: str) -> None:
    """Refuse the first row of which something does not hold."""
    wrong = rows[~holds]
    if len(wrong):
        first = wrong.iloc[0]
        raise InputError(
            f"Each {name} of {path} must be {what}; {first['model_id']} has {first[name]!r}.",
            "Correct that row, or leave it out.",
        )


def _check_layers(path: Path, where: str, layers: pd.Series[int], model: Model) -> None:
    """Refuse a series whose layers cannot be what the description says they are."""
    found = sorted(layers.tolist())
    if found[0] not in (-1, 0) or found[-1] >= model.n_layers:
        raise InputError(
            f"{path}: {where} must have its first length before or after block 0 and none beyond "
            f"block {model.n_layers - 1}; found {found[0]} to {found[-1]}.",
            "Check first_block, n_layers, and whether the last entry is after the final norm.",
        )
    if found != list(range(found[0], found[0] + len(found))):
        raise InputError(
            f"{path}: {where} must have each layer once and skip none.", "Correct its rows."
        )
