"""What a store needs to be found and used by others: its description, and its card."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from collect.errors import InputError
from collect.process.interruption import interruptible
from collect.record.atomic.files import text_writing, write_together
from collect.record.provenance import DIRTY
from collect.record.publication.card import card
from collect.record.publication.description import About, description
from collect.schema import LARGE, arrow_schema, incomplete_units, read_rows, tables
from collect.schema.counting import counted
from collect.schema.headers import Headers
from collect.schema.listing import DESCRIPTION, Listed
from collect.schema.marks import file_sha256
from collect.schema.paths import text_at
from collect.schema.sources import Sources

CARD = "README.md"

_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True, slots=True)
class Published:
    """What was described: number of files, their size [bytes], and rows [1] by table.

    In ``notes``, a sentence on each column that is not described, as this version does not know it.
    A row that several files hold, such as that of a model, of which each unit brings one, counts
    once.
    """

    n_files: int
    n_bytes: int
    n_rows: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was described, in one line."""
        return (
            f"{counted(len(self.n_rows), 'table')}, {counted(sum(self.n_rows.values()), 'row')}, "
            f"{counted(self.n_files, 'file')}, {self.n_bytes:,} bytes, "
            "every hash as the run files say"
        )


@interruptible()
def publish(directory: Path, about: About, *, allow_dirty: bool = False) -> Published:
    """Write ``croissant.json`` and ``README.md`` into a store, from what its files are now.

    Parameters
    ----------
    directory
        The store.
    about
        What is said of it.
    allow_dirty
        True to describe rows that code wrote which no commit holds.

    Raises
    ------
    InputError
        If what is said of it is incomplete, or the store is; or if nobody can look up the code
        that wrote its rows.
    OutputError
        If the two files cannot be written.
    """
    _check(about)
    _check_complete(directory)
    sources = Sources(contents=True)
    sources.add(directory)
    if not allow_dirty:
        _refuse_dirty(sources)
    by_table = {
        table: [path.relative_to(directory).as_posix() for path in paths]
        for table, paths in sources.files.items()
    }
    counting = {name for names in by_table.values() for name in names}
    files = _files(directory, counting)
    n_rows = {
        table: _n_rows(paths, table, sources.headers) for table, paths in sources.files.items()
    }
    for table, paths in sources.files.items():
        for at in (path for path in paths if path.suffix == ".parquet"):
            sources.headers.note_columns(at, table, sources.headers.of(at).columns.names)
    n_bytes = sum(file.n_bytes for file in files)
    done = Published(len(files), n_bytes, n_rows, sources.headers.notes)
    path = directory / CARD
    hint = "Save it as UTF-8, or move it away: one is written where there is none."
    before = text_at(path, "The card of a data set", hint) if path.is_file() else ""
    shown = card(about, by_table, n_rows, n_bytes=done.n_bytes, before=before)
    described = description(about, files, by_table, _lacking(sources))
    text = json.dumps(described, indent=1, ensure_ascii=False)
    write_together({path: text_writing(shown), directory / DESCRIPTION: text_writing(text + "\n")})
    return done


def _files(directory: Path, counting: set[str]) -> list[Listed]:
    """Return every file to describe; a Parquet file in a directory only if it counts."""
    listed = []
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        is_hidden = any(part.startswith(".") for part in name.split("/"))
        is_stray = path.suffix == ".parquet" and name not in counting
        if path.is_file() and not is_hidden and not is_stray and name not in (CARD, DESCRIPTION):
            listed.append(Listed(name, path.stat().st_size, file_sha256(path)))
    return listed


def _lacking(sources: Sources) -> dict[str, set[str]]:
    """Return the columns of each table that some Parquet file of it lacks."""
    return {
        table: {
            name
            for path in paths
            if path.suffix == ".parquet"
            for name in arrow_schema(table).names
            if name not in sources.headers.of(path).columns.names
        }
        for table, paths in sources.files.items()
    }


def _n_rows(paths: Sequence[Path], table: str, headers: Headers) -> int:
    """Return how many rows a table has as the store opens: of small ones each key counts once."""
    if table in LARGE and not any(path.suffix == ".csv" for path in paths):
        return sum(headers.of(path).n_rows for path in paths)
    key = list(tables()[table].key)
    rows = pa.concat_tables([read_rows(path, table, headers).select(key) for path in paths])
    return int(rows.group_by(key).aggregate([]).num_rows)


def _refuse_dirty(sources: Sources) -> None:
    """Refuse rows of a code that no commit holds: nobody can look it up or run it again."""
    for path in sources.files.get("run", []):
        rows = read_rows(path, "run", sources.headers).select(["run_id", "code_version"])
        for row in rows.to_pylist():
            if str(row["code_version"]).endswith(DIRTY):
                raise InputError(
                    f"Published rows must be measured by committed code; run "
                    f"{row['run_id']} of {path} is of {row['code_version']}.",
                    "Commit the code and measure it again with --overwrite; --allow-dirty "
                    "describes it all the same.",
                )


def _check(about: About) -> None:
    is_licence = "://" in about.licence or _SPDX.fullmatch(about.licence)
    texts = [about.name, *about.creators]
    if not (is_licence and about.creators and all(text.strip() for text in texts)):
        raise InputError(
            "A data set needs a name, somebody who made it, and a licence: an identifier of SPDX, "
            f"or an address; found {about.name!r}, {about.creators} and {about.licence!r}.",
            "Give for example --license CC-BY-4.0 --creator 'Your group'.",
        )


def _check_complete(directory: Path) -> None:
    if not directory.is_dir():
        raise InputError(
            f"The store must be a directory; {directory} is not one.",
            "Name the directory given to `collect run` as --out.",
        )
    interrupted = incomplete_units(directory)
    if interrupted:
        raise InputError(
            f"A published store must be complete; {interrupted[0]} is not.",
            "Finish it with the command that began it; `collect check` lists all there is.",
        )
