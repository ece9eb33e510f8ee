"""Records of prompts read from files: JSON lines, JSON, CSV, Parquet, directories of `datasets`."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from collect.errors import InputError
from collect.schema.counting import repeated
from collect.schema.paths import text_at

#: Where a record stands, for messages, and the record.
Placed: TypeAlias = "tuple[str, Any]"

#: What `datasets.save_to_disk` leaves in the directory of a set, and of several splits of one.
_STATE, _SPLITS = "state.json", "dataset_dict.json"

#: Longest cell of a table [characters]: a document, of which Python by itself takes 131,072.
_LONGEST_CELL = 2**31 - 1


def readable(path: Path) -> bool:
    """Return whether a path is of a kind that holds records."""
    return is_dataset(path) or path.suffix.lower() in _READERS


def is_dataset(path: Path) -> bool:
    """Return whether a path is a directory that `datasets.save_to_disk` wrote."""
    return path.is_dir() and any((path / name).is_file() for name in (_STATE, _SPLITS))


def set_name(path: Path) -> str:
    """Return the name of the prompt set that a path holds: with its split, where it is one."""
    if path.is_dir():
        resolved = path.resolve()
        is_split = (resolved.parent / _SPLITS).is_file()
        return f"{resolved.parent.name}-{resolved.name}" if is_split else resolved.name
    return path.stem


def records(path: Path) -> list[Placed]:
    """Return the records of a file, or of a directory that `datasets.save_to_disk` wrote.

    Raises
    ------
    InputError
        If it cannot be read, or is not what its name says.
    """
    try:
        read = _read_dataset if path.is_dir() else _READERS[path.suffix.lower()]
        return list(read(path))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error).strip().partition("\n")[0]
        raise unreadable(path, reason) from error
    except pa.ArrowException as error:
        message = str(error).strip().partition("\n")[0].removesuffix(".")
        raise InputError(
            f"The prompts of {path} must be written as its name says; they are not ({message}).",
            "Write the file again, or give it the ending of what it is.",
        ) from error


def unreadable(path: Path, reason: str) -> InputError:
    """Return the refusal of a file of prompts that the system does not let this program read."""
    return InputError(
        f"The prompts of {path} must be readable; {reason}.",
        "Check that the file is whole, and that you may read it.",
    )


def text_of(path: Path) -> str:
    """Return the text of a prompt file; see `text_at`."""
    return text_at(path, "A prompt file", "Check that you may read it, and save it as UTF-8.")


def _read_json_lines(path: Path) -> Iterator[Placed]:
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            yield place, _parse(line, place)


def _read_json(path: Path) -> Iterator[Placed]:
    content = _parse(text_of(path), str(path))
    if not isinstance(content, list):
        raise InputError(
            f"A JSON file of prompts must be a list of them; {path} is one "
            f"{type(content).__name__}.",
            "With one object per line, name it .jsonl.",
        )
    for number, record in enumerate(content, start=1):
        yield f"{path}, item {number}", record


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"Each prompt must be readable JSON; {place} is not ({error}).",
            "Plain prompts, one per line, go into a .txt file.",
        ) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or raise ValueError if a key comes twice: one value would be lost."""
    twice = repeated(name for name, _ in pairs)
    if twice:
        raise ValueError(f"the key {twice[0]!r} comes twice")
    return dict(pairs)


def _table_reader(delimiter: str) -> Callable[[Path], Iterator[Placed]]:
    """Return what reads a table with a line of names and then one row per prompt."""

    def rows(path: Path) -> Iterator[Placed]:
        reader = csv.DictReader(
            io.StringIO(text_of(path), newline=""), delimiter=delimiter, strict=True
        )
        limit = csv.field_size_limit(_LONGEST_CELL)  # one for all of Python
        try:
            names = list(reader.fieldnames or [])
            _check_names(names, path)
            for row in reader:
                place = f"{path}, line {reader.line_num}"
                if None in row or None in row.values():
                    raise InputError(
                        f"Every row must have {len(names)} cells, as the first line has; {place} "
                        "has a different number.",
                        "Put cells with separators or line breaks between double quotes.",
                    )
                yield place, {name: cell or None for name, cell in row.items()}
        except csv.Error as error:
            raise InputError(
                f"{path} must be a well-formed table; line {reader.line_num} is not ({error}).",
                "Put cells with separators, quotes or line breaks between double quotes.",
            ) from error
        finally:
            csv.field_size_limit(limit)

    return rows


def _check_names(names: list[str], path: Path) -> None:
    twice = repeated(names)
    if twice:
        raise InputError(
            f"Columns must have different names; {path} has {twice[0]!r} twice.",
            "Rename one of them, or leave it out.",
        )


def _read_dataset(path: Path) -> Iterator[Placed]:
    if not (path / _STATE).is_file():
        splits = sorted(place.parent.name for place in path.glob(f"*/{_STATE}"))
        raise InputError(
            f"A data set must be one split; {path} has {', '.join(splits) or 'none'}.",
            f"Give {path / splits[0]}." if splits else "Save it again with save_to_disk.",
        )
    state = _parse(text_of(path / _STATE), str(path / _STATE))
    try:
        names = [str(file["filename"]) for file in state["_data_files"]]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path / _STATE} must list the files of the set, as datasets writes it; it does not.",
            "Save it again with save_to_disk.",
        ) from error
    if not names:
        return
    yield from _read_rows(path, pa.concat_tables([_arrow(path / name) for name in names]))


def _arrow(path: Path) -> pa.Table:
    """Return the rows of an Arrow file: a stream, as datasets writes it, or a file with footer."""
    with pa.memory_map(str(path)) as source:
        try:
            return pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_file(source).read_all()


def _read_rows(path: Path, rows: pa.Table) -> Iterator[Placed]:
    _check_names(rows.column_names, path)
    for number, row in enumerate(rows.to_pylist(), start=1):
        yield f"{path}, row {number}", row


_READERS: dict[str, Callable[[Path], Iterator[Placed]]] = {
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".json": _read_json,
    ".csv": _table_reader(","),
    ".tsv": _table_reader("\t"),
    ".parquet": lambda path: _read_rows(path, pq.ParquetFile(path).read()),
}
