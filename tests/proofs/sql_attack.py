"""Proof that SQL writes nothing: hostile statements by the thousand, hashes before and after.

    python -m tests.proofs.sql_attack --n 2000 --seed 1

Stores, a database file with a stranger's views and macros, and another paper are attacked through
``Store.query`` and past its check, on the engine alone. No file may change, nor, through the check,
any table, view, macro, setting or database.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np

from analysis.store import Store, open_store
from analysis.store.statement import kinds as kinds_of
from analysis.tidy.errors import QueryError
from collect.record.publication.database import write_database
from tests.fuzz import mutation
from tests.proofs.statements import statement

ROOT = Path(__file__).parents[2]

#: What a stranger may have put into a database file.
EVIL = """
CREATE MACRO evil() AS TABLE FROM read_text('/etc/hostname');
CREATE MACRO evil_scalar() AS (SELECT content FROM read_text('/etc/hostname'));
CREATE VIEW evil AS FROM read_text('/etc/hostname');
"""

#: Share of the statements whose text is spoilt besides.
SPOILT = 0.4
#: How no statement may end.
UNCLEAR = "refused in no or several lines"

#: Functions that take addresses of memory or wait: past the check they end the process.
_UNSAFE = ("arrow_scan", "pandas_scan", "sleep_ms")


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file under a folder, and each directory, by its place."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else "directory"
        for path in sorted(folder.rglob("*"))
    }


def table_hashes(store: Store) -> dict[str, str]:
    """Return a hash of the rows of every table, and of all that the catalogue lists."""
    store.query("SELECT comment FROM duckdb_tables() LIMIT 0")  # made when first asked for
    connection = store.connection
    names = connection.sql(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'raw' "
        "AND table_catalog = 'memory' AND table_name IN (SELECT unnest($tables)) ORDER BY ALL",
        params={"tables": store.counts()["table"].tolist()},
    ).fetchall()
    result = {
        name: str(
            connection.sql(f'SELECT count(*), bit_xor(hash(t)) FROM raw."{name}" AS t').fetchall()
        )
        for (name,) in names
    }
    lists = {
        "tables": "SELECT table_name, sql, comment FROM duckdb_tables() ORDER BY ALL",
        "views": "SELECT view_name, sql, comment FROM duckdb_views() ORDER BY ALL",
        "functions": "SELECT function_name, macro_definition FROM duckdb_functions() "
        "WHERE NOT internal ORDER BY ALL",
        "settings": "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
        "databases": "SELECT database_name, path, readonly FROM duckdb_databases() ORDER BY ALL",
        "sequences": "SELECT sequence_name FROM duckdb_sequences() ORDER BY ALL",
    }
    return result | {name: str(connection.sql(sql).fetchall()) for name, sql in lists.items()}


def places(folder: Path) -> list[str]:
    """Return how statements may name files under a folder, and files beside them."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    some = [*files[:: max(1, len(files) // 20)], *folder.rglob("claim*"), *folder.rglob("*.duckdb")]
    named = [text for path in some for text in (str(path), f"file://{path}", f"store://{path}")]
    beside = [f"{path}.wal" for path in some] + [f"store://{path}.wal" for path in some]
    return [*named, *beside, str(folder / "new.csv"), "new.csv", ".tmp/new.csv", "../new.csv"]


def attack(store: Store, folder: Path, *, n: int, rng: np.random.Generator) -> Counter[str]:
    """Run statements as ``analysis sql`` does and return how many came to which end."""
    ends: Counter[str] = Counter()
    named, tables = places(folder), _tables(store)
    for _ in range(n):
        sql = statement(rng, named, tables)
        if rng.random() < SPOILT:
            sql = mutation.text(rng, sql, most=2)
        try:
            store.query(sql)
        except QueryError as refusal:
            is_one = refusal.problem.strip() and "\n" not in refusal.problem.strip()
            ends[_end(refusal.__cause__) if is_one else UNCLEAR] += 1
        else:
            ends["rows returned"] += 1
    return ends


def _end(cause: BaseException | None) -> str:
    if isinstance(cause, duckdb.ParserException):
        return "no SQL"
    return "refused by the engine" if isinstance(cause, duckdb.Error) else "refused by the check"


def kinds(n: int, rng: np.random.Generator) -> Counter[str]:
    """Return how many of some statements DuckDB parses as each of its kinds."""
    result: Counter[str] = Counter()
    for _ in range(n):
        with contextlib.suppress(QueryError):
            result.update(set(kinds_of(statement(rng, ["x"], ["model"]))))
    return result


def attack_engine(store: Store, folder: Path, *, n: int, rng: np.random.Generator) -> Counter[str]:
    """Run statements past the check, each on a connection of its own."""
    ends: Counter[str] = Counter()
    named, tables = places(folder), _tables(store)
    for _ in range(n):
        sql = statement(rng, named, tables)
        if any(name in sql for name in _UNSAFE):
            continue
        with store.connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                ends["run by the engine"] += 1
            except (duckdb.Error, RuntimeError):
                ends["refused by the engine"] += 1
            with contextlib.suppress(duckdb.Error):
                cursor.execute("ROLLBACK")
    return ends


def _tables(store: Store) -> list[str]:
    return [*store.counts()["table"], "gain_by_model", "block_gain", "sqlite_master"]


def _laid_out(folder: Path) -> list[Sequence[Path]]:
    """Copy what is attacked into a folder and return the sources of the stores to open."""
    published, sample, paper = folder / "published", folder / "sample", folder / "paper"
    shutil.copytree(ROOT / "data/published", published)
    shutil.copytree(ROOT / "data/sample", sample)
    shutil.copytree(ROOT / "tests/analysis/second_paper", paper)
    write_database([published, sample], folder / "some.duckdb")
    with duckdb.connect(str(folder / "some.duckdb")) as connection:
        connection.execute(EVIL)
    (folder / "work").mkdir()
    return [(published, sample), (paper,), (folder / "some.duckdb",)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack every store and print what came of it; 1 if anything changed or was refused amiss."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.sql_attack")
    parser.add_argument("--n", type=int, default=2000, help="statements in each of both ways")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    changed, unclear = [], 0
    *rngs, counting = np.random.default_rng(options.seed).spawn(4)
    counted_kinds = sorted(kinds(options.n, counting).items())
    print("of each kind:", ", ".join(f"{n} {kind}" for kind, n in counted_kinds))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        stores = _laid_out(folder)
        before = file_hashes(folder)
        share = -(-options.n // len(stores))
        with contextlib.chdir(folder / "work"):
            for sources, rng in zip(stores, rngs, strict=True):
                store = open_store(*sources)
                tables = table_hashes(store)
                ends = attack(store, folder, n=share, rng=rng)
                unclear += ends[UNCLEAR]
                after = table_hashes(store)
                changed += [name for name in tables if tables[name] != after[name]]
                past = attack_engine(open_store(*sources), folder, n=share, rng=rng)
                print(f"{', '.join(path.name for path in sources)}: {_words(ends)}")
                print(f"  past the check: {_words(past)}; {len(tables)} tables and lists compared")
        left = file_hashes(folder)
        changed += sorted(k for k in before.keys() | left.keys() if before.get(k) != left.get(k))
    print(f"{len(before)} files and directories; changed: {', '.join(changed) or 'none'}")
    return 1 if changed or unclear else 0


def _words(ends: Counter[str]) -> str:
    counted = ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
    return f"{ends.total()} statements ({counted})"


if __name__ == "__main__":
    sys.exit(main())
