"""Workers, results computed once, and both renderers: what a page shows, whoever makes it."""

import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.commands import cli
from analysis.report import cache
from analysis.report.cache import results_of
from analysis.report.execution import ONE_THREAD, run_workers
from analysis.report.reading.inline import Inline
from analysis.store import open_store
from analysis.tidy.errors import ReportError
from collect.process import shipped
from tests.analysis.places import ROOT, SECOND
from tests.analysis.report.alone import render
from tests.analysis.report.both_renderers import content, differences

CODE = """
import sys
from IPython.display import Markdown, display
print("one"); print("two")
display(Markdown("*three*"))
print("four", file=sys.stderr)
{"five": 5}
"""


def looked_at(source, session):
    asked = [
        Inline("'bound' in globals()", "x"),
        Inline("__import__('os').getcwd()", "x"),
        Inline("__import__('os').environ['OMP_NUM_THREADS']", "x"),
        Inline("__import__('sys').executable", "x"),
    ]
    values = [value["text/plain"] for value in session.evaluate(asked)]
    session.run("bound = 1", name="x")
    return [session.run(CODE, name="x"), values, source.stem]


def failing(source, session):
    folder = tempfile.TemporaryDirectory(prefix="report-")  # as where images are kept
    assert Path(folder.name).is_dir()
    if source.stem == "raises":
        session.run("{}['x']", name="'bad' at a.qmd:3")
    elif source.stem == "absent":
        session.evaluate([Inline("absent", "a.qmd:4")])
    elif source.stem == "dies":
        os._exit(3)
    time.sleep(600)


@pytest.mark.slow
def test_a_worker_shows_in_order_what_a_chunk_showed_and_forgets_what_it_bound(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr("analysis.report.execution.MOST_WORKERS", 1)
    result = run_workers(looked_at, [Path("a.qmd"), Path("b.qmd")], tmp_path)
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
def test_an_error_on_one_page_ends_the_others_and_leaves_no_folder(
    tmp_path, page, said, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(ReportError) as caught:
        run_workers(failing, [Path("sleeps.qmd"), Path(f"{page}.qmd")], tmp_path)
    assert said in str(caught.value)
    assert list(tmp_path.glob("report-*")) == []


def test_a_result_that_another_computes_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(cache.LOCKS, str(tmp_path / "locks"))
    results, computed, second = cache.Results(b"key", tmp_path / "kept"), [], Event()
    both, note = Barrier(2, timeout=60), computed.append

    def compute():
        note(1)
        second.wait(0.2)  # time for the other to come
        return 7

    def ask(_):
        both.wait()
        return results.cached("number", compute)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, range(2))) == [7, 7]
    assert computed == [1]


EXAMPLE = Path(__file__).parent / "report_example"

MARKUP = Path(__file__).parent / "markup"
OURS = (MARKUP / "embedded.html").read_text(encoding="utf-8")


#: The same as Quarto marks it up.
THEIRS = (MARKUP / "quarto.html").read_text(encoding="utf-8")


def test_two_markups_of_one_page_say_the_same():
    result = content(OURS)
    assert result.headings == ["1 One"]
    assert result.captions == ["Figure 1: A line."]
    assert result.tables == [[["a", "b"], ["1", ".5"]]]
    links = [("#fig-a", "Figure 1"), ("claims.html#claim-7", "claim 7")]
    assert result.links == [*links, ("data:text/csv;base64,YQo=", "Data (CSV)")]
    before = ["See", "Figure", "1", "and", "claim", "7", "."]
    drawn = ["It", "rises.", "Data", "(CSV)"]
    assert result.words == [*before, *drawn, "Named", "Inside."]
    assert differences(OURS, THEIRS) == []


@pytest.mark.parametrize(
    ("kind", "text", "instead"),
    [
        ("headings", 'section-number">1<', 'section-number">2<'),
        ("captions", "A line.", "A dot."),
        ("tables", "<td>.5</td>", "<td>0.5</td>"),
        ("links", "#claim-7", "#claim-8"),
        ("words", "Inside.", ""),
    ],
)
def test_what_differs_is_told_by_kind(kind, text, instead):
    assert text in OURS
    told = differences(OURS.replace(text, instead), THEIRS)
    assert told
    assert {line.split(":")[0] for line in told} == {kind}


@pytest.mark.skipif(shutil.which("quarto") is None, reason="quarto is not on the PATH")
def test_the_example_says_the_same_in_both_renderings(tmp_path):
    pages = []
    for engine in ("quarto", "embedded"):
        project = shutil.copytree(EXAMPLE, tmp_path / engine)
        page = render(project / "paper.qmd", tmp_path / f"{engine} out", engine=engine)
        pages.append(page.read_text(encoding="utf-8"))
    assert differences(*pages) == []


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


def test_each_text_given_has_a_result_of_its_own(tmp_path):
    results, asked = cache.Results(b"key", tmp_path), []
    note = asked.append

    def ask(text):
        return results.cached("answer", lambda: (note(text), text.upper())[1], given=text, n_kept=2)

    assert [ask(text) for text in "abab"] == list("ABAB")
    assert asked == ["a", "b"]
    assert (ask("c"), len(list(tmp_path.glob("*.cache")))) == ("C", 2)


CHUNK = """
rows = pd.DataFrame({{"lab": {labs}, "gain": [0.5, 2.0]}})
names = {names}
def named(row):
    return {{name: row[name] {operation} for name in names}}
kept = results.cached("kept", lambda: [named(row) for row in rows.to_dict("records")])
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"gain": 1.0}),
        ({"labs": ["a", "b"]}, {"gain": 1.0}),
        ({"labs": [["a"], ["c"]]}, {"gain": 1.0}),
        ({"names": ("gain", "lab")}, {"gain": 1.0, "lab": "aa"}),
        ({"operation": "* 3"}, {"gain": 1.5}),
    ],
)
def test_a_chunk_whose_inputs_change_is_computed_anew(tmp_path, change, expected):
    """Its function is the same to the letter: what differs stands beside it on the page."""
    results = cache.Results(b"key", tmp_path)
    given = {"labs": ["a", "c"], "names": ("gain",), "operation": "* 2"}
    for values in (given, {**given, **change}, given):
        namespace = {"pd": pd, "results": results, "__name__": "__main__"}
        exec(CHUNK.format(**values), namespace)  # as a kernel runs a chunk
        last = namespace["kept"][0] if values != given else None
        assert last in (None, expected)
    assert len(list(tmp_path.glob("*.cache"))) == 1 + bool(change)


def test_two_results_of_one_name_are_computed_at_the_same_time(tmp_path, monkeypatch):
    """Else the workers of a report would draw one picture at a time."""
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(cache.LOCKS, str(tmp_path / "locks"))
    results, both = cache.Results(b"key", tmp_path / "kept"), Barrier(2, timeout=60)

    def ask(text):
        return results.cached("picture", lambda: (both.wait(), text)[1], given=text)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, "ab")) == ["a", "b"]


def test_both_renderers_give_chunks_one_thread_of_blas():
    """A second one took half of the time of a first rendering by Quarto."""
    lines = (ROOT / "quarto" / "_environment").read_text(encoding="utf-8").splitlines()
    given = dict(line.split("=") for line in lines if not line.startswith("#"))
    assert given == ONE_THREAD


def test_the_page_of_data_keeps_its_rows_under_all_data_that_it_shows():
    """Its store has the public models too; rows kept under the others' hash would go stale."""
    source = (ROOT / "quarto" / "sections" / "_ask.qmd").read_text(encoding="utf-8")
    opening = source.index("store = open_store(published, trained, public, reported)")
    assert opening < source.index("results = results_of(store)") < source.index("results.cached(")


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
