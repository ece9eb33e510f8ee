"""Workers show a chunk in order and know no other page; both renderers say the same."""

import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest

from analysis.report import cache, render
from analysis.report.execution import in_workers
from analysis.report.reading.inline import Inline
from analysis.tidy.errors import ReportError
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
    if source.stem == "raises":
        session.run("{}['x']", name="'bad' at a.qmd:3")
    elif source.stem == "absent":
        session.evaluate([Inline("absent", "a.qmd:4")])
    elif source.stem == "dies":
        os._exit(3)
    time.sleep(600)


@pytest.mark.slow
def test_a_worker_shows_in_order_what_a_chunk_showed_and_forgets_what_it_bound(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr("analysis.report.execution.MOST_WORKERS", 1)
    result = in_workers(looked_at, [Path("a.qmd"), Path("b.qmd")], tmp_path)
    assert list(result) == [Path("a.qmd"), Path("b.qmd")]
    for source, (outputs, values, stem) in result.items():
        assert stem == source.stem
        assert values == ["False", repr(str(tmp_path)), "'2'", repr(sys.executable)]
        assert [output["type"] for output in outputs] == [
            *("stream", "display_data", "stream", "execute_result")
        ]
        assert outputs[0]["text"] == "one\ntwo\n"
        assert outputs[1]["data"]["text/markdown"] == "*three*"
        assert outputs[2] == {"type": "stream", "name": "stderr", "text": "four\n"}
        assert outputs[3]["data"] == {"text/plain": "{'five': 5}"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("raises", "The chunk 'bad' at a.qmd:3 must run; it ended with KeyError: 'x'"),
        ("absent", "'absent' at a.qmd:4 must have a value; it ended with NameError"),
        ("dies", "may have run out of memory"),
    ],
)
def test_an_error_on_one_page_ends_the_others(tmp_path, page, said):
    with pytest.raises(ReportError) as caught:
        in_workers(failing, [Path("sleeps.qmd"), Path(f"{page}.qmd")], tmp_path)
    assert said in str(caught.value)


def test_a_result_that_another_computes_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(cache.LOCKS, str(tmp_path / "locks"))
    results, computed, second = cache.Results(b"key", tmp_path / "kept"), [], Event()
    both = Barrier(2, timeout=60)

    def compute():
        computed.append(1)
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
        page = render(project / "paper.qmd", tmp_path / f"{engine}.html", engine=engine)
        pages.append(page.read_text(encoding="utf-8"))
    assert differences(*pages) == []
