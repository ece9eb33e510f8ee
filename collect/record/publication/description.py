"""A data set in Croissant, the vocabulary in which data sets are described to be found and loaded.

Every table is a record set with the meaning and unit of each column, as ``schema.sql`` has them;
every file has its size and hash, so that a store can be opened where it lies.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from collect.schema import Table, tables
from collect.schema.counting import counted
from collect.schema.listing import Listed
from collect.schema.merging import MERGED

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"

#: What the terms mean: the context that the specification prescribes, word for word.
CONTEXT: dict[str, Any] = json.loads(
    files("collect.record.publication").joinpath("croissant_context.json").read_text("utf-8")
)

_DATA_TYPES = {
    "VARCHAR": "sc:Text",
    "BOOLEAN": "sc:Boolean",
    "TIMESTAMP": "sc:DateTime",
    "DATE": "sc:Date",
    "DOUBLE": "cr:Float64",
    "FLOAT": "cr:Float32",
    "INTEGER": "cr:Int32",
    "BIGINT": "cr:Int64",
}

_FORMATS = {
    ".parquet": "application/x-parquet",
    ".csv": "text/csv",
    ".json": "application/json",
    ".gz": "application/gzip",
    ".toml": "application/toml",
    ".md": "text/markdown",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True)
class About:
    """What a data set is, in the words of who publishes it.

    Attributes
    ----------
    name
        Its title.
    licence
        Identifier of SPDX, such as CC-BY-4.0, or the address of a licence's text.
    creators
        Who made it.
    published
        Day of publication.
    url
        Where it is to be found; None if that is not known yet.
    citation
        How to cite it, preferably as BibTeX; None to leave that out.
    description
        What it holds, in a sentence or two.
    version
        Its version, three numbers.
    """

    name: str
    licence: str
    creators: tuple[str, ...]
    published: date
    url: str | None = None
    citation: str | None = None
    description: str = "Measurements of the residual stream of transformers, token by token."
    version: str = "1.0.0"

    @property
    def licence_url(self) -> str:
        """Address of the licence's text."""
        is_address = "://" in self.licence
        return self.licence if is_address else f"https://spdx.org/licenses/{self.licence}.html"


def description(
    about: About,
    listed: Sequence[Listed],
    by_table: Mapping[str, Sequence[str]],
    lacking: Mapping[str, Collection[str]],
) -> dict[str, Any]:
    """Return the description of a data set as an object of JSON-LD."""
    known = {table: tables()[table] for table in tables() if table in by_table}
    named = {"url": about.url, "citeAs": about.citation}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about.name,
        "description": about.description,
        "license": about.licence_url,
        "creator": [{"@type": "sc:Organization", "name": name} for name in about.creators],
        "version": about.version,
        "datePublished": about.published.isoformat(),
        **{name: value for name, value in named.items() if value is not None},
        "distribution": [
            *(_file_object(file) for file in listed),
            *(_file_set(table, by_table[table]) for table in known if _is_set(by_table[table])),
        ],
        "recordSet": [
            _record_set(table, by_table[name], lacking.get(name, ()))
            for name, table in known.items()
        ],
    }


def _file_object(file: Listed) -> dict[str, Any]:
    suffix = PurePosixPath(file.name).suffix
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": file.name,
        "contentSize": f"{file.n_bytes} B",
        "encodingFormat": _FORMATS.get(suffix, "application/octet-stream"),
        "sha256": file.sha256,
    }


def _is_set(names: Sequence[str]) -> bool:
    """Return whether a table lies in a directory of its own."""
    return PurePosixPath(names[0]).suffix == ".parquet" and "/" in names[0]


def _file_set(table: str, names: Sequence[str]) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{table}-files",
        "name": f"{table}-files",
        "description": f"{counted(len(names), 'file')} of table {table}.",
        "encodingFormat": _FORMATS[".parquet"],
        "includes": f"{table}/*.parquet",
    }


def _record_set(table: Table, names: Sequence[str], lacking: Collection[str]) -> dict[str, Any]:
    is_set = _is_set(names)
    source = {"fileSet": {"@id": f"{table.name}-files"}}
    if not is_set:
        source = {"fileObject": {"@id": names[0]}}
    record_set: dict[str, Any] = {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.meaning,
    }
    if table.name not in MERGED:  # each unit brings its own row
        record_set["key"] = [{"@id": f"{table.name}/{name}"} for name in table.key]
    columns = [column for column in table.columns if column.name not in lacking]
    return {
        **record_set,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table.name}/{column.name}",
                "name": column.name,
                "description": f"{column.meaning} [{column.unit}]",
                "dataType": _DATA_TYPES[column.sql_type],
                "source": {**source, "extract": {"column": column.name}},
            }
            for column in columns
        ],
    }
