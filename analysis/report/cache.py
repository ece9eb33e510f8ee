"""Results cached between two renderings: the same data, code and packages give the same numbers.

A result is cached under a hash of everything that it may depend on, so that a change of prose costs
no computing and any other change costs all of it. What cannot be read back whole is computed.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from analysis.tidy.errors import ReportError
from analysis.tidy.output import replace_bytes
from collect.process import shipped

if TYPE_CHECKING:
    from analysis.store import Store
from analysis.store.remote import RemotePath

Result = TypeVar("Result")
DIRECTORY = shipped.results()
CODE = ("analysis", "collect/schema", "collect/schema.sql")
SUFFIX = ".cache"
DIGEST_BYTES = 32

#: Where several kernels that make one site lock what they compute, where they do.
LOCKS = "THERMOSCOPE_LOCKS"

#: Results of one name that are kept side by side, for data sets that are rendered in turn.
N_SIDE_BY_SIDE = 4


@dataclass(frozen=True, slots=True)
class Results:
    """The results that belong to one store."""

    #: Hash of the store's files, of the code and of the installed packages; see `results_of`.
    key: bytes
    directory: Path = field(default=DIRECTORY)  #: Where they are kept. Nothing else writes there.

    def cached(
        self,
        name: str,
        compute: Callable[[], Result],
        *,
        given: str = "",
        n_kept: int = N_SIDE_BY_SIDE,
        is_announced: bool = True,
    ) -> Result:
        """Return a result: the cached one, or else a computed one, which is cached.

        Parameters
        ----------
        name
            Letters, digits and hyphens.
        compute
            Depends on the store, on this project's code, on ``given``, and on the tables, texts,
            numbers and functions beside it that it names, nothing else.
        given
            What the function takes besides, whole: each text has a result of its own.
        n_kept
            How many results of the name are kept.
        is_announced
            Whether it is said on standard error that the result is computed.
        """
        words = repr((_behaviour(compute), given))
        digest = hashlib.sha256(self.key + words.encode()).hexdigest()
        path = self.directory / f"{name}-{digest[:32]}{SUFFIX}"
        with suppress(OSError, ValueError):
            stored: Result = _read_whole(path)
            return stored
        with _alone(path.stem):
            with suppress(OSError, ValueError):
                made_meanwhile: Result = _read_whole(path)
                return made_meanwhile
            if is_announced:
                print(f"computing: {name}", file=sys.__stderr__, flush=True)
            result = compute()
            # A result that cannot be kept is as good as one that can.
            with suppress(OSError, ReportError, pickle.PicklingError, TypeError, AttributeError):
                payload = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                replace_bytes(path, hashlib.sha256(payload).digest() + payload)
                _forget_older(path, name, n_kept)
        return result


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Wait while another kernel of the same rendering computes the result of a name.

    The lock goes with the process that holds it, however it ends.
    """
    directory = os.environ.get(LOCKS)
    with ExitStack() as opened:
        with suppress(OSError, ImportError):
            if directory:
                import fcntl

                held = opened.enter_context(Path(directory, name).open("wb"))
                fcntl.flock(held, fcntl.LOCK_EX)
        yield


def results_of(store: Store, directory: Path = DIRECTORY) -> Results:
    """Return the cached results of a store; see `results_for`."""
    return results_for(store.sources, (), directory)


def results_for(
    sources: Iterable[Path | RemotePath], further: Iterable[str] = (), directory: Path = DIRECTORY
) -> Results:
    """Return the results that belong to some data, the code, the packages, and words told besides.

    Reads every file of the sources and of the code once, to hash them.
    """
    digest = hashlib.sha256()
    for source in (*sources, *(shipped.BESIDE / name for name in CODE)):
        digest.update(_hash_of_files(source))
    machine = (sys.version, platform.machine(), platform.processor(), *_packages(), *further)
    digest.update(repr(machine).encode())
    return Results(digest.digest(), directory)


def _packages() -> list[str]:
    """Return the names of the directories in which installed packages say their name and version.

    Their names hold both; reading what lies in them costs more than opening a store.
    """
    places = [Path(place) for place in dict.fromkeys(sys.path) if Path(place).is_dir()]
    return sorted(
        entry.name
        for place in places
        for entry in os.scandir(place)
        if entry.name.endswith((".dist-info", ".egg-info"))
    )


def _hash_of_files(place: Path | RemotePath) -> bytes:
    """Return a hash of the names and contents of the files at a place."""
    if isinstance(place, RemotePath):
        return hashlib.sha256(repr((str(place), place.contents())).encode()).digest()
    digest = hashlib.sha256()
    files = (it for it in place.rglob("*") if it.is_file() and it.suffix != ".pyc")
    for path in [place] if place.is_file() else sorted(files):
        digest.update(repr((str(path.relative_to(place)), path.stat().st_size)).encode())
        with path.open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.digest()


def _behaviour(function: Any, seen: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return what a function does, and with which values of the names that it takes from around.

    Of these count data, and functions of the same module, such as a page's; all else is code, which
    the key of the results has, or is made from the store.
    """
    code: CodeType = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    around = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    known = (*seen, function)
    named = [(name, around[name]) for name in sorted(_names(code)) if name in around]
    values = [
        (name, _behaviour(it, known) if _is_beside(it, function) else _value(it))
        for name, it in named
        if not any(it is one for one in known)
    ]
    return (_content(code), function.__defaults__, values)


def _is_beside(value: object, function: FunctionType) -> bool:
    """Tell whether a value is a function of the module of another."""
    return isinstance(value, FunctionType) and value.__module__ == function.__module__


def _names(code: CodeType) -> set[str]:
    """Return every name that a function or one within it takes from around."""
    within = [_names(it) for it in code.co_consts if isinstance(it, CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*within)


def _value(value: object) -> object:
    """Return data such that the same has the same representation; None for what is no data."""
    import pandas as pd  # here: pages of plain text have none, and need none

    if isinstance(value, str | int | float | bytes):
        return value
    if isinstance(value, Mapping):
        return [(_value(name), _value(it)) for name, it in value.items()]
    if isinstance(value, list | tuple):
        return [_value(it) for it in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_value(it)) for it in value)
    if not isinstance(value, pd.DataFrame | pd.Series):
        return None
    table = value.to_frame() if isinstance(value, pd.Series) else value
    try:
        rows = pd.util.hash_pandas_object(table).to_numpy().tobytes()
    except TypeError:  # a cell is a list
        rows = repr(table.to_dict("split")).encode()
    return (list(map(str, table.columns)), hashlib.sha256(rows).hexdigest())


def _content(code: CodeType) -> tuple[Any, ...]:
    """Return what a function does, wherever its text stands."""
    constants = [_content(it) if isinstance(it, CodeType) else it for it in code.co_consts]
    return (code.co_code, code.co_names, code.co_freevars, constants)


def _read_whole(path: Path) -> Any:
    """Return a cached result; ValueError if it is not as it was written."""
    content = path.read_bytes()
    digest, payload = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError(f"{path} must not change after it was written; it did.")
    try:
        return pickle.loads(payload)  # noqa: S301  # this project's own file, whole by its hash
    except Exception as error:
        raise ValueError(f"{path} must be readable; {error}.") from error


def _forget_older(newest: Path, name: str, n_kept: int) -> None:
    """Remove the oldest results of a name; never the one just kept, whatever the clock says."""
    length = len(newest.name)
    others = [
        it
        for it in newest.parent.glob(f"{name}-*{SUFFIX}")
        if len(it.name) == length and it != newest
    ]
    others.sort(key=lambda it: it.stat().st_mtime, reverse=True)
    for path in others[n_kept - 1 :]:
        path.unlink(missing_ok=True)
