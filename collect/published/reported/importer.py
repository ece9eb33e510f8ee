"""Folders of reported lengths into tables of the contract, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pandas as pd

from collect import schema
from collect.errors import InputError, OutputError
from collect.process.interruption import interruptible
from collect.published.reported import description, figures, lengths
from collect.record import writer
from collect.schema.counting import repeated

#: Tables that are written; lengths without a licence stay where they are.
TABLES = ("model", "reported_source", "reported_norm", "reported_figure")


@interruptible()
def import_reported(folders: Sequence[Path], out: Path) -> dict[str, int]:
    """Write the lengths of some folders, a source each, to Parquet files of one directory.

    Of a source that states no licence only figures of each model are written.

    Parameters
    ----------
    folders
        Each with a ``source.toml`` and a ``norms.csv``; its name is the source's.
    out
        Directory to write. What an earlier import put there is replaced; every source of it must
        be given again.

    Returns
    -------
    Number of rows written, by table.

    Raises
    ------
    InputError
        If a folder is not as `description.read` and `lengths.read` ask, two are of one name, or
        they describe one model in two ways.
    OutputError
        If the directory holds other tables, or a source that is not among the folders.
    """
    names = [folder.resolve().name for folder in folders]
    if twice := repeated(names):
        raise InputError(
            f"Each source must have a name of its own; two folders are named {twice[0]}.",
            "Rename one of them.",
        )
    held = schema.table_files(out) if out.is_dir() else {}
    others = sorted({*held} - {*TABLES})
    before = out / "reported_source.parquet"
    if others or (held and not before.is_file()):
        raise OutputError(
            f"Reported lengths must have a directory of their own; {out} holds "
            f"{(others or sorted(held))[0]}.",
            "Give another --out, and open both directories together.",
        )
    if held:
        sources = pd.read_parquet(before, columns=["source_id"])["source_id"]
        if lost := sorted({*sources} - {*names}):
            raise OutputError(
                f"{out} holds the source {lost[0]}, which is not given again and would be lost.",
                "Name its folder too, or give another --out.",
            )
    frames = _merge([_frames(folder) for folder in folders])
    return writer.write_tables(frames, lambda table: out / f"{table}.parquet")


def _frames(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the rows that one folder gives to each table."""
    source, models = description.read(folder)
    rows = lengths.read(folder, source, models)
    name = folder.resolve().name
    stated = {f.name: getattr(source, f.name) for f in fields(source) if f.name != "first_block"}
    kept = rows if source.licence else rows.iloc[:0]
    return {
        "model": pd.DataFrame([model.row() for model in models.values()]),
        "reported_source": pd.DataFrame([{"source_id": name} | stated]),
        "reported_norm": kept.assign(source_id=name),
        "reported_figure": figures.figures(rows, models).assign(source_id=name),
    }


def _merge(parts: Sequence[dict[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Return the rows of all folders by table; a model that several have stands once."""
    whole = {
        table: pd.concat([part[table].astype(object) for part in parts], ignore_index=True)
        for table in TABLES
    }
    models = whole["model"].drop_duplicates()
    twice = models[models["model_id"].duplicated(keep=False)]
    if len(twice):
        name = twice["model_id"].iloc[0]
        both = twice[twice["model_id"] == name].astype(str)
        differing = [column for column in both if not both[column].duplicated().any()]
        raise InputError(
            f"Sources must agree on the models that they share; of {name} they differ in "
            f"{', '.join(differing)}.",
            "Correct the [[model]] of one of them.",
        )
    return {**whole, "model": models}
