"""What ends a command: requests that come while DuckDB calls back, and lack of memory."""

import resource
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from collect.errors import scarcity
from collect.process import memory
from collect.schema import arrow_schema, connect, is_interruption
from collect.schema.headers import damaged

SAMPLE = Path(__file__).resolve().parents[3] / "data" / "sample"
TABLE = "next_token"


def interrupted(*_, **__):
    """Return rows of the table of which the first is asked for when the keyboard interrupts."""

    def batches():
        raise KeyboardInterrupt
        yield

    return pa.RecordBatchReader.from_batches(arrow_schema(TABLE), batches())


def test_a_request_to_end_is_told_from_an_error_that_names_it():
    connection = duckdb.connect()
    connection.register("rows", interrupted())
    with pytest.raises(duckdb.Error) as wrapped:
        connection.execute("FROM rows").fetchall()
    assert is_interruption(wrapped.value)
    with pytest.raises(duckdb.Error) as named:
        connection.execute("FROM rows WHERE 'Traceback' = \nKeyboardInterrupt\n")
    assert "KeyboardInterrupt" in str(named.value)
    assert not is_interruption(named.value)


def out_of_memory():
    """Return what DuckDB raises where a statement wants more than its limit."""
    connection = duckdb.connect(config={"memory_limit": "16MB", "temp_directory": ""})
    with pytest.raises(duckdb.OutOfMemoryException) as lack:
        connection.execute("SELECT count(DISTINCT hash(range)) FROM range(100000000)").fetchall()
    return lack.value


@pytest.mark.parametrize(
    "lack",
    [
        MemoryError("of Python"),
        pa.ArrowMemoryError("malloc of size 65536 failed"),
        pa.ArrowException("Unknown error: Failed to launch worker thread: unavailable"),
        out_of_memory,
    ],
    ids=["python", "arrow", "thread", "duckdb"],
)
def test_lack_of_memory_blames_no_file_and_is_told_as_that(lack):
    error = lack() if callable(lack) else lack
    with pytest.raises(type(error)) as raised:
        damaged(Path("model.csv"), error)
    assert raised.value is error
    assert scarcity(error).exit_code == 71


def addressed():
    """Return the memory that this process addresses [bytes]."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def let_have(monkeypatch, n_bytes):
    """Let the system say that this process may address so much more."""
    limit = addressed() + n_bytes
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (limit, limit))


def test_the_engine_takes_no_more_than_the_process_may_have(monkeypatch):
    assert memory.engine_memory() == {}
    let_have(monkeypatch, 8 << 30)
    n_bytes = int(memory.engine_memory()["memory_limit"].removesuffix("B"))
    assert 1 << 30 < n_bytes < 4 << 30
    let_have(monkeypatch, 1 << 20)
    assert memory.engine_memory() == {"memory_limit": f"{32 << 20}B"}
    with connect() as connection:
        result = "SELECT value FROM duckdb_settings() WHERE name = 'memory_limit'"
        assert connection.execute(result).fetchall() == [("32.0 MiB",)]


FREE = 3_000_000 * 1024


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return the folder of a machine with 3,000,000 kB to give, and a container's files."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 3000000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_LIMITS", ((tmp_path / "limit", tmp_path / "used"),))
    return tmp_path


@pytest.mark.parametrize(
    ("limit", "bytes_left"), [("max", FREE), ("2000", 1500), ("100", 0), (str(FREE * 2), FREE)]
)
def test_a_limit_of_a_container_counts_less_what_it_uses(machine, limit, bytes_left):
    (machine / "limit").write_text(limit)
    (machine / "used").write_text("500")
    assert memory.available_memory() == bytes_left
