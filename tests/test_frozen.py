"""The comparison of dumps: what it lets pass, and what it names."""

import json

import pytest

from tests.frozen.compare import compare, same
from tests.frozen.pages import parse_page

PAGE = """<head><title>t</title></head><body><p>Gain <b>1.25</b> of
blocks</p><svg><text>no</text></svg><table><tr><td>3</td><td>x</td></tr></table>
<a download="fig.csv" href="data:text/csv;base64,YSxiCjEsMgo=">CSV</a></body>"""


def test_a_page_is_its_blocks_its_cells_and_the_frames_of_its_figures(tmp_path):
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    assert parse_page(tmp_path / "page.html") == {
        "text": ["Gain 1.25 of blocks", "3", "x"],
        "fig.csv": ["a,b", "1,2"],
    }


@pytest.mark.parametrize(
    ("before", "after", "equal"),
    [
        ("gain 1.2345678", "gain 1.2345679", True),
        ("gain 1.23456", "gain 1.23457", False),
        ("gain 1.5", "growth 1.5", False),
        ("p = −0.5", "p = 0.5", False),
        ("2026-11-24 10:00 UTC, commit a9b46c8", "2026-11-25 11:30 UTC, commit ba0e12f", True),
    ],
)
def test_words_count_to_the_letter_and_numbers_to_the_sixth_digit(before, after, equal):
    assert same(before, after) is equal


def test_what_went_and_what_came_is_named(tmp_path):
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    before.write_text(json.dumps({"x": ["1", "2"], "gone": ["y"]}), encoding="utf-8")
    after.write_text(json.dumps({"x": ["1", "3"]}), encoding="utf-8")
    assert compare(before, after) == ["[gone]", "- y", "[x]", "- 2", "+ 3"]
    assert compare(before, before) == []
