"""Workers: what a chunk shows, in order; what it raises; one page knows nothing of another."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from analysis.report import cache
from analysis.report.execution import Session, in_workers
from analysis.report.reading.inline import Inline
from analysis.tidy.errors import ReportError

CODE = """
import sys
from IPython.display import Markdown, display
print("one"); print("two")
display(Markdown("*three*"))
print("four", file=sys.stderr)
{"five": 5}
"""


def looked_at(source: Path, session: Session) -> list[Any]:
    asked = [
        Inline("'bound' in globals()", "x"),
        Inline("__import__('os').getcwd()", "x"),
        Inline("__import__('os').environ['OMP_NUM_THREADS']", "x"),
        Inline("__import__('sys').executable", "x"),
    ]
    values = [value["text/plain"] for value in session.evaluate(asked)]
    session.run("bound = 1", name="x")
    return [session.run(CODE, name="x"), values, source.stem]


def failing(source: Path, session: Session) -> None:
    if source.stem == "raises":
        session.run("{}['x']", name="'bad' at a.qmd:3")
    elif source.stem == "absent":
        session.evaluate([Inline("absent", "a.qmd:4")])
    elif source.stem == "dies":
        os._exit(3)
    time.sleep(600)


@pytest.mark.slow
def test_a_worker_shows_in_order_what_a_chunk_showed_and_forgets_what_it_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr("analysis.report.execution.MOST_WORKERS", 1)
    result = in_workers(looked_at, [Path("a.qmd"), Path("b.qmd")], tmp_path)
    assert list(result) == [Path("a.qmd"), Path("b.qmd")]
    for source, (outputs, values, stem) in result.items():
        assert stem == source.stem
        assert values == ["False", repr(str(tmp_path)), "'2'", repr(sys.executable)]
        assert outputs[0]["text/markdown"] == "*three*"
        assert outputs[1:] == [{"text/plain": "{'five': 5}"}]
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "one\ntwo\nfour\n" in printed.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("raises", "The chunk 'bad' at a.qmd:3 must run; it ended with KeyError: 'x'"),
        ("absent", "'absent' at a.qmd:4 must have a value; it ended with NameError"),
        ("dies", "may have run out of memory"),
    ],
)
def test_an_error_on_one_page_ends_the_others(tmp_path: Path, page: str, said: str) -> None:
    with pytest.raises(ReportError) as caught:
        in_workers(failing, [Path("sleeps.qmd"), Path(f"{page}.qmd")], tmp_path)
    assert said in str(caught.value)


def test_a_result_that_another_computes_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(cache.LOCKS, str(tmp_path / "locks"))
    results, computed, second = cache.Results(b"key", tmp_path / "kept"), [], Event()
    both = Barrier(2, timeout=60)

    def compute() -> int:
        computed.append(1)
        second.wait(0.2)  # time for the other to come
        return 7

    def ask(_: int) -> int:
        both.wait()
        return results.cached("number", compute)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, range(2))) == [7, 7]
    assert computed == [1]
