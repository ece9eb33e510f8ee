"""Kept results: the same for the same data and code, computed anew for anything else."""

import os
import re
import shutil
import time
from pathlib import Path

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.commands import cli
from analysis.report import cache
from analysis.report.cache import results_of
from analysis.store import open_store
from collect.process import shipped
from tests.analysis.places import ROOT, SECOND


class Counter:
    """Counts how often a result is computed."""

    def __init__(self):
        self.n = 0

    def frame(self):
        self.n += 1
        return pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]})


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(SECOND, tmp_path / "paper"))


@pytest.fixture(scope="module")
def store():
    """The folder's store as it is before anything changes."""
    return open_store(SECOND)


def keep(store, directory, counter):
    results = results_of(store, directory)
    return results.cached("frame", counter.frame)


def test_a_result_is_computed_once_and_anew_for_other_data(store, tmp_path, folder):
    counter, directory = Counter(), tmp_path / "kept"
    first, second = (keep(store, directory, counter) for _ in range(2))
    assert counter.n == 1
    pd.testing.assert_frame_equal(first, second)
    figures = folder / "published_figure.csv"
    figures.write_text(figures.read_text().replace("2.9", "3.1"))
    keep(open_store(folder), directory, counter)
    assert counter.n == 2


def test_other_code_and_other_packages_are_computed_anew(store, tmp_path, monkeypatch):
    counter, directory = Counter(), tmp_path / "kept"
    keep(store, directory, counter)
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(shipped, "BESIDE", tmp_path)
    monkeypatch.setattr(cache, "CODE", ("code",))
    keep(store, directory, counter)
    (code / "a.py").write_text("x = 2\n")
    keep(store, directory, counter)
    assert counter.n == 3
    monkeypatch.setattr(cache, "_packages", list)
    keep(store, directory, counter)
    assert counter.n == 4
    results = results_of(store, directory)
    assert results.cached("frame", lambda: 5) == 5


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-3], lambda b: b"", lambda b: b[:40] + b"x" + b[41:], lambda b: b * 2]
)
def test_a_damaged_result_is_computed_anew(store, tmp_path, damage):
    counter, directory = Counter(), tmp_path / "kept"
    keep(store, directory, counter)
    (path,) = directory.glob("*.cache")
    path.write_bytes(damage(path.read_bytes()))
    keep(store, directory, counter)
    keep(store, directory, counter)
    assert counter.n == 2


def test_few_results_of_a_name_are_kept(store, tmp_path):
    results = results_of(store, tmp_path / "kept")
    computed = [lambda i=i: i for i in range(3)]
    assert [results.cached("one", it) for it in computed] == [0, 1, 2]
    for text in "abcdefg":
        cache.Results(text.encode(), tmp_path / "kept").cached("one", lambda: 1)
    assert len(list((tmp_path / "kept").glob("*.cache"))) == cache.N_SIDE_BY_SIDE
    (tmp_path / "file").write_text("")
    counter = Counter()
    for _ in range(2):
        keep(store, tmp_path / "file" / "kept", counter)
    assert counter.n == 2
    results = results_of(store, tmp_path / "kept")
    assert results.cached("function", lambda: len)([1]) == 1
    assert results.cached("local", lambda: lambda: 7)() == 7


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_claim_is_examined_once(form, monkeypatch, capsys):
    examined, calls = claims.examined, []

    def counted(one, store):
        calls.append(one.claim_id)
        return examined(one, store)

    monkeypatch.setattr(claims, "examined", counted)
    assert cli.main(["--paper", str(SECOND), "claim", "2", *form]) == 0
    assert "contradicted" in capsys.readouterr().out
    assert calls == [2]


def test_a_result_kept_before_the_clock_was_set_back_does_not_oust_a_new_one(tmp_path):
    directory, tomorrow = tmp_path / "kept", time.time() + 86_400
    for text in map(str, range(cache.N_SIDE_BY_SIDE)):
        cache.Results(text.encode(), directory).cached("one", lambda: 1)
    for path in directory.glob("*.cache"):
        os.utime(path, (tomorrow, tomorrow))
    newest = cache.Results(b"new", directory)
    assert newest.cached("one", lambda: 2) == 2
    assert len(list(directory.glob("*.cache"))) == cache.N_SIDE_BY_SIDE
    ((place, content),) = [
        (path, path.read_bytes())
        for path in directory.glob("*.cache")
        if path.stat().st_mtime < tomorrow
    ]
    assert newest.cached("one", lambda: 2) == 2
    assert place.read_bytes() == content


def test_a_name_of_the_report_stands_for_one_computation():
    """Two ways to write one lambda would be computed twice, under two keys."""
    asked = {}
    for path in sorted((ROOT / "quarto" / "sections").glob("*.qmd")):
        for name, compute in re.findall(
            r"results\.cached\(\s*\"([^\"]+)\",\s*(.+?)\)\n", path.read_text(), re.DOTALL
        ):
            asked.setdefault(name, set()).add(re.sub(r"\s+", "", compute).rstrip(")"))
    assert {"suites", "position", "study shares"} <= asked.keys()
    assert {name: ways for name, ways in asked.items() if len(ways) > 1} == {}
