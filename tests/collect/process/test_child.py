"""`sql` in a child process: ended when asked, at its time limit, and told when memory is short."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis.commands import cli
from tests.analysis.places import ROOT

ENDLESS = {
    "asleep": "SELECT pg_sleep(3600)",
    "one call": "SELECT list_reduce(range(1000000000), lambda x, y: x + y)",
    "rows": "SELECT sum(hash(a.range, b.range)) FROM range(1000000) a, range(1000000000) b",
}


def started(sql, *options, n_bytes=None, temporary=None):
    """Start the command line in a process of its own, which may address a number of bytes."""

    typed = [sys.executable, "-m", "analysis", "--data", "data/sample", "sql", sql, *options]
    if n_bytes is not None:
        limits = f'ulimit -c 0; ulimit -v {n_bytes >> 10}; exec "$@"'
        typed = ["bash", "-c", limits, "bash", *typed]
    place = {} if temporary is None else {"TMPDIR": str(temporary)}
    return subprocess.Popen(
        typed,
        cwd=ROOT,
        env=os.environ | place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children(process):
    """Return the processes that a process started."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return [int(number) for number in listed.split()]


def is_alive(process):
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def child_at_work(process):
    """Return the child that runs the statement, once it has used the processor for a second."""
    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(600):
        for child in children(process):
            used = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]
            if sum(map(int, used)) > 0.5 * ticks:
                return child
        time.sleep(0.1)
    raise AssertionError("no child was at work within a minute")


@pytest.mark.parametrize(
    ("sql", "ending"),
    [*zip(ENDLESS.values(), [signal.SIGINT, signal.SIGTERM, signal.SIGINT], strict=True)],
    ids=ENDLESS,
)
def test_a_statement_that_never_ends_is_interrupted(sql, ending, tmp_path):
    process = started(sql, temporary=tmp_path)
    child = child_at_work(process.pid)
    process.send_signal(ending)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "error: interrupted\n"
    assert not is_alive(child)
    assert list(tmp_path.iterdir()) == []


def test_a_statement_ends_at_its_time_limit_and_with_a_parent_that_is_killed():
    process = started(ENDLESS["rows"], "--timeout", "1")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (71, "")
    assert err.startswith("error: The time limit of 1 s")
    assert "Traceback" not in err
    process = started(ENDLESS["rows"])
    child = child_at_work(process.pid)
    process.kill()
    process.communicate(timeout=60)  # would wait for a child that holds the output open
    for _ in range(100):
        if not is_alive(child):
            return
        time.sleep(0.1)
    raise AssertionError("the child outlived its parent by 10 s")


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_is_a_time(limit, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["sql", "SELECT 1", "--timeout", limit])
    assert ended.value.code == 2
    assert "--timeout" in capsys.readouterr().err


@pytest.mark.parametrize("n_mebibytes", [120, 300, 600, 1000])
def test_little_memory_is_told_as_that_and_blames_no_file(n_mebibytes):
    process = started("SELECT count(*) AS n FROM raw.attention", n_bytes=n_mebibytes << 20)
    out, err = process.communicate(timeout=120)
    assert process.returncode in (0, 71)
    if process.returncode == 71:
        assert out == ""
        assert err.startswith("error: Out of ")
    else:
        assert err == "1 row\n"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT len(list(range)) FROM range(400000000)",
        "SELECT list_sum(list_transform(range(400000000), lambda x: x * 2))",
        "SELECT len(string_agg(repeat('x', 1000), '')) FROM range(10000000)",
    ],
    ids=["list", "lambda", "text"],
)
def test_a_statement_that_wants_more_memory_than_there_is_exits_71(sql):
    process = started(sql, n_bytes=2 << 30)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (71, "")
    assert err.startswith("error: Out of memory")


def test_what_a_statement_prints_goes_through_whole():
    process = started("SELECT range FROM range(30000)", "--csv")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.splitlines()[-1] == "29999"
    refused = started("FROM modl")
    assert "Table with name modl" in refused.communicate(timeout=60)[1]
    assert refused.returncode == 2
