"""Pages made side by side: at the same time, each result once, an error ends the others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest

from analysis.report import crew, kept
from analysis.report.crew import Bench, work_through
from analysis.tidy.errors import ReportError

PAGES = [Path("one.qmd"), Path("two.qmd"), Path("three.qmd")]


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_n_cores", lambda: 2)


def test_pages_are_made_two_at_a_time_and_no_kernel_is_started_unasked(tmp_path: Path) -> None:
    both, made = Barrier(2, timeout=60), []

    def make(source: Path, _bench: Bench) -> None:
        if source in PAGES[:2]:
            both.wait()  # breaks, and so raises, where the other is not begun
        made.append(source)

    work_through(PAGES, make, tmp_path / "no kernel could work here")
    assert sorted(made) == sorted(PAGES)


@pytest.mark.slow
def test_an_error_on_one_page_ends_what_the_others_run(tmp_path: Path) -> None:
    running, begun, ended = Event(), [], []

    def make(source: Path, bench: Bench) -> None:
        begun.append(source)
        if source == PAGES[0]:
            assert running.wait(60)
            raise ReportError("The first page must fail; it does.")
        kernel = bench.kernel()
        running.set()
        try:
            kernel.run("import time; time.sleep(600)", name="long")
        except ReportError as error:
            ended.append(str(error))
            raise

    with pytest.raises(ReportError, match="first page must fail"):
        work_through(PAGES, make, tmp_path)
    assert ended == ["The chunk long was ended: the rendering is over."]
    assert begun == PAGES[:2]


def test_a_result_that_another_computes_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(kept.LOCKS, str(tmp_path / "locks"))
    results, computed, second = kept.Results(b"key", tmp_path / "kept"), [], Event()

    def compute() -> int:
        computed.append(1)
        second.wait(0.2)  # time for the other to come
        return 7

    def ask(begin: Callable[[], object]) -> int:
        begin()
        return results.keep("number", compute)

    with ThreadPoolExecutor(2) as pool:
        both = Barrier(2, timeout=60)
        assert list(pool.map(ask, [both.wait, both.wait])) == [7, 7]
    assert computed == [1]
