"""Open measurements and published figures as one read-only database.

A store is an in-memory DuckDB. Its schema raw has every table of ``collect/schema.sql`` (large
ones stay in their Parquet files) and every view of ``analysis/store/views``; its schema main has
the tables of ``analysis/store/front``, which a name without a schema means first. It never writes:
the engine sees only the store's own files, through a file system that cannot write
(`listed_files`); every query is a read-only transaction; and `statement` refuses what is more than
reading before the engine is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import duckdb

from analysis.store import exact, units
from analysis.store.attachment import attach
from analysis.store.deferred import Deferred
from analysis.store.hint import hint, problem
from analysis.store.remote import Remote, RemotePath, is_address
from analysis.store.sources import (
    exists,
    forget_failures,
    raise_unreached,
    shipped_sources,
    shortened,
)
from analysis.store.statement import check_reads
from analysis.tidy.errors import QueryError, StoreError
from collect import schema
from collect.process.child import temporary_place
from collect.schema import raise_interruption

if TYPE_CHECKING:
    import pandas as pd

    from analysis.store.listed_files import ListedFiles

Further = ParamSpec("Further")
Result = TypeVar("Result")

#: What the engine calls the place of the store's files.
_PROTOCOL = "store"

#: Measured rows from which on queries gain by more than one thread.
_MANY_ROWS = 3_000_000

#: A statement that lists tables.
_LISTING = re.compile(r"\s*SHOW\s+TABLES\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Store:
    """An open database of measurements.

    Attributes
    ----------
    sources
        Directories and addresses (or the database file) it was opened from.
    incomplete
        Units whose measurement was interrupted; none of their rows are visible.
    comparison
        In what the files of measured units were compared with what their run files say.
    notes
        What of the files is left out because this version does not know it, in sentences.

    Examples
    --------
    >>> import thermoscope as ts
    >>> store = ts.open_store()
    >>> store.query("SELECT 1 AS one")["one"].item()
    1
    """

    sources: tuple[Path | RemotePath, ...]
    incomplete: tuple[str, ...]
    comparison: schema.Comparison
    notes: tuple[str, ...]
    _engine: duckdb.DuckDBPyConnection = field(repr=False)
    _deferred: Deferred = field(repr=False, compare=False)
    _asked: dict[tuple[str, str], pd.DataFrame] = field(
        default_factory=dict, repr=False, compare=False
    )
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """DuckDB connection with every table and view; use `query` rather than this."""
        self._deferred.make()
        return self._engine

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor that looks a name without a schema up in main first, then in raw."""
        cursor = self._engine.cursor()
        cursor.execute(schema.lookup(schema.FRONT, schema.RAW))
        return cursor

    def facts(self, sql: str, **parameters: Any) -> pd.DataFrame:
        """Return the rows of `query`, asked of the engine once: what many claims rest on.

        Of small results only, as all are kept. What a caller changes is its own (pandas copies it
        then).
        """
        question = (sql, repr(sorted(parameters.items())))
        if question not in self._asked:
            self._asked[question] = self.query(sql, **parameters)
        return self._asked[question].copy(deep=False)

    def query(self, sql: str, **parameters: Any) -> pd.DataFrame:
        """Return the rows of one reading statement; ``$name`` takes the parameter of that name.

        Raises
        ------
        QueryError
            If the statement is not one reading statement, or DuckDB refuses it.
        StoreError
            If a file of the store is no longer where it was opened.
        """

        def answer() -> pd.DataFrame:
            with self._reading(sql) as cursor:
                # `cursor.sql` would plan the statement twice.
                rows: pd.DataFrame = cursor.execute(sql, parameters or None).df()
            return rows

        return self._with_views(sql, answer)

    def columns(self, sql: str) -> tuple[exact.Column, ...]:
        """Return the columns of `query`, with the types that DuckDB gives them.

        Raises
        ------
        QueryError, StoreError
            As for `query`.
        """

        def answer() -> tuple[exact.Column, ...]:
            with self._reading(sql) as cursor:
                return exact.columns(sql, cursor)

        return self._with_views(sql, answer)

    def texts(
        self, sql: str, columns: Sequence[exact.Column], form: exact.Form
    ) -> Iterator[list[str | None]]:
        """Yield the rows of `query` as text that loses nothing; see `exact.rows`.

        Parameters
        ----------
        sql
            One reading statement.
        columns
            Its `columns`.
        form
            What values are written for.

        Raises
        ------
        QueryError, StoreError
            As for `query`, also between two rows.
        """
        with self._reading(sql) as cursor:
            yield from exact.rows(sql, columns, cursor, form)

    def make_views(self, *names: str) -> None:
        """Make the views of these names, with their schema, that a cursor is to read.

        Raises
        ------
        StoreError
            If a file is no longer there.
        """
        self._deferred.make_for(" ".join(names))

    def _with_views(self, sql: str, answer: Callable[[], Result]) -> Result:
        """Return an answer, asked again with every view if it fails without those not yet made."""
        forget_failures(self.sources)
        self._deferred.make_for(sql)
        try:
            return answer()
        except QueryError:
            if self._deferred.is_made:
                raise
        self._deferred.make()  # it may name a view in a way of its own
        return answer()

    @contextmanager
    def _reading(self, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor in a read-only transaction for a statement that only reads."""
        with self.cursor() as cursor:
            if _LISTING.match(sql):  # the tables to ask first; SHOW ALL TABLES has the others
                cursor.execute(schema.lookup(schema.FRONT))
            check_reads(sql, cursor)
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            try:
                yield cursor
            except duckdb.Error as error:
                raise_interruption(error)
                raise_unreached(self.sources, error)
                raise QueryError(problem(error), hint(error, sql, self.cursor)) from error

    def counts(self) -> pd.DataFrame:
        """Return one row per table: `table` and `n_rows`."""
        import pandas as pd

        names = list(schema.tables())
        rows = [
            self.connection.sql(f'SELECT count(*) FROM raw."{name}"').fetchall()[0][0]
            for name in names
        ]
        return pd.DataFrame({"table": names, "n_rows": rows})


def shared(
    compute: Callable[Concatenate[Store, Further], Result],
) -> Callable[Concatenate[Store, Further], Result]:
    """Return a function that computes once for each store and what else it is given, all hashable.

    Its result must not be changed.
    """

    @wraps(compute)
    def once(store: Store, /, *args: Further.args, **options: Further.kwargs) -> Result:
        # Keys that hold 1 and True are equal.
        kinds = tuple(type(it) for it in (*args, *options.values()))
        asked = (compute, args, tuple(options.items()), kinds)
        if asked not in store._made:
            store._made[asked] = compute(store, *args, **options)
        made: Result = store._made[asked]
        return made

    return once


def open_store(*sources: Path | str, verify: bool = False) -> Store:
    """Open one or several measurement directories, or one ``.duckdb`` file, read-only.

    A directory that `collect publish` described may lie at an address; it is read where it lies.

    The rows and sizes of measured files must be what the run files of their units say; whether
    their times are, is counted (`Store.comparison`), because copies have times of their own.

    Parameters
    ----------
    *sources
        Directories, addresses of directories that fsspec knows, or one file; none for what
        ``thermoscope sql`` opens: what comes with the package, but for ``data/sample``.
    verify
        True to compare the contents as well, by their hashes; every file is then read.

    Raises
    ------
    StoreError
        If a source does not exist or holds no table, a table lies in two places, a file is
        damaged, breaks the contract or is not as its run file says, or two sources disagree
        about the same key; or if a database file is to be verified, which has no hashes.
    MissingExtraError
        If the package that reads an address is not installed.
    UnreachableError
        If what lies at an address does not come.

    Examples
    --------
    >>> import thermoscope as ts
    >>> store = ts.open_store()
    >>> store.query("SELECT lab FROM model WHERE model_id = 'EleutherAI/pythia-70m'")["lab"].item()
    'EleutherAI'
    """
    paths = tuple(
        RemotePath(Remote(s)) if isinstance(s, str) and is_address(s) else Path(s)
        for s in sources or shipped_sources()
    )
    missing = [shortened(path) for path in paths if not exists(path)]
    advice = "Name a directory that `thermoscope collect` wrote, such as data/sample."
    if missing:
        raise StoreError(
            f"A store must be opened from existing places; not found: {', '.join(missing)}.", advice
        )
    databases = [path for path in paths if isinstance(path, Path) and path.is_file()]
    if databases and len(paths) > 1:
        raise StoreError(
            f"A database file must be opened alone; {databases[0]} comes with other sources.",
            "Name its directories instead, or build one database of them all.",
        )
    if databases and verify:
        raise StoreError(
            f"The contents of directories can be verified; {databases[0]} is a database, which "
            "keeps no hashes of its rows.",
            "Open the directories that it was built from with --verify.",
        )
    connection = schema.connect(comments=False)
    connection.execute("SET threads = 1")  # small tables: a second thread costs more than it does
    try:
        return _fill(connection, paths, databases, verify=verify)
    except (schema.ContractError, StoreError) as error:
        raise_unreached(paths, error)
        raise StoreError(error.problem, _hint(paths, error)) from error


def _hint(paths: Iterable[object], error: StoreError | schema.ContractError) -> str:
    """Return what to do; files that others published are theirs to measure again or to delete."""
    at_an_address = [str(path) for path in paths if isinstance(path, RemotePath)]
    if any(address in error.problem for address in at_an_address):
        return "Ask again; if it stays so, tell who published it, or open a copy of your own."
    return error.hint


def _fill(
    connection: duckdb.DuckDBPyConnection,
    paths: tuple[Path | RemotePath, ...],
    databases: Sequence[Path],
    *,
    verify: bool,
) -> Store:
    """Return the store of a connection, filled from directories or from a database."""
    listed, comparison = _Listed(connection), schema.Comparison()
    notes: tuple[str, ...] = ()
    deferred, n_rows = Deferred(connection, {}, listed.add, lambda _: (), lambda _: 0), _MANY_ROWS
    if databases:
        notes = attach(connection, databases[0], listed.add(databases[0]))
    else:
        # The schema asks of a path no more than a remote one knows.
        sources = schema.assemble(
            connection, cast("tuple[Path, ...]", paths), copy=False, contents=verify
        )
        comparison, notes = sources.comparison, sources.headers.notes

        def columns(path: Path) -> list[str]:
            return list(sources.headers.of(path).columns.names)

        def count(path: Path) -> int:
            return sources.headers.of(path).n_rows

        files = schema.left_in_files(sources)
        deferred = Deferred(connection, files, listed.add, columns, count)
        if any(isinstance(path, RemotePath) for path in paths):
            deferred.make()  # a locked engine takes no address within a name
        for table, places in files.items():
            if not sources.vouched.issuperset(places):
                names = {listed.add(file): columns(file) for file in places}
                schema.check_keys(connection, table, names, places)
        n_rows = sum(count(path) for places in files.values() for path in places)
    units.add(connection, paths)
    _lock(connection, is_small=n_rows < _MANY_ROWS)
    incomplete = tuple(
        f"{path}: {unit}"
        for path in cast("tuple[Path, ...]", paths)
        for unit in schema.incomplete_units(path)
    )
    return Store(paths, incomplete, comparison, notes, connection, deferred)


class _Listed:
    """The store's files as the engine gets them, once there is one to open."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._files: ListedFiles | None = None

    def add(self, path: Path | RemotePath) -> str:
        """Let the engine read a file, and return the name by which it knows it."""
        if self._files is None:
            from analysis.store.listed_files import ListedFiles

            self._files = ListedFiles()
            self._connection.register_filesystem(self._files)
        return self._files.add(path)


def _lock(connection: duckdb.DuckDBPyConnection, *, is_small: bool) -> None:
    """Leave the engine the store's own files and nothing else, and let it install nothing.

    A small store keeps the one thread it was opened with: more would wait for each other.

    What does not fit into memory is put into a directory of temporary files of its own, which
    the engine makes when it needs it and removes when it is closed.
    """
    if not is_small:
        connection.execute("RESET threads")
    spill = schema.quoted(str(temporary_place()))
    connection.execute(f"SET temp_directory = {spill}")
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET python_enable_replacements = false")
    connection.execute(f"SET allowed_directories = ['{_PROTOCOL}://']")
    connection.execute("SET enable_external_access = false")
    connection.execute(schema.lookup(schema.FRONT, schema.RAW))
    connection.execute("SET lock_configuration = true")
