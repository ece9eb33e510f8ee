"""Which weights a revision of a model holds: rows of table ``revision``. No torch here."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from collect.record.stem import file_stem
from collect.record.units import Unit
from collect.record.writer import write_table

#: Name of the revision that the hub gives when none is asked for.
_DEFAULT = "main"

#: Digits of a hash in the name of a file.
_DIGITS = 10


def write_revision(
    unit: Unit, out: Path, *, training_step: int | None, training_tokens: int | None
) -> None:
    """Note at which commit the name of a revision stood, and which weights it holds.

    A row that is there already stays as it is. A local checkpoint that is not one of several has
    no revision, and no row.
    """
    known = unit.determinants
    if known["revision"] is None:
        return
    name = known["revision_name"] or _DEFAULT
    names = ("model_id", "revision", "weights_sha256", "config_sha256")
    row = {
        **{column: known[column] for column in names},
        "revision_name": name,
        "training_step": training_step,
        "training_tokens": training_tokens,
    }
    commit = re.sub(r"[^\w.-]", "--", str(known["revision"]))[:_DIGITS]
    content = str(known["weights_sha256"])[:_DIGITS]
    stem = f"{file_stem(known['model_id'], None, name)}~{commit}~{content}"
    path = out / "revision" / f"{stem}.parquet"
    if not path.exists():
        write_table("revision", pd.DataFrame([row]), path)
