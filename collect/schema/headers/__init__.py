"""What Parquet files say of themselves, each read once.

`columns` checks the columns of a file against those of its table, `header` holds what one file
says, `reading` reads many, `cache` keeps headers between processes, and `packs` names the files
of many units.
"""

from collect.schema.headers.columns import (
    UNREADABLE,
    check_names,
    completed,
    damaged,
    opened,
    typed,
)
from collect.schema.headers.header import Header, Layout
from collect.schema.headers.packs import is_pack, pack_name, packed_units, units_of
from collect.schema.headers.reading import READ_WHOLE, Headers

__all__ = [
    "READ_WHOLE",
    "UNREADABLE",
    "Header",
    "Headers",
    "Layout",
    "check_names",
    "completed",
    "damaged",
    "is_pack",
    "opened",
    "pack_name",
    "packed_units",
    "typed",
    "units_of",
]
