"""The strips of claims: what is drawn where, in words too, and beside values that claims name."""

import itertools
import math
import re
from dataclasses import replace

import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit.pages import estimates, strips
from analysis.audit.pages import estimates as estimates_shown
from analysis.audit.pages.strips import Line
from analysis.delia2026.pages.register import CLAIMS
from analysis.tidy import prose
from tests.analysis.places import PUBLISHED, ROOT


def check(condition, estimate, *ends, **other):
    low, high = ends or (math.nan, math.nan)
    row = {"term": "a <part>", "condition": condition, "kind": "universal", "holds": False}
    row |= {"decides": True, "has_data": True, "measure": "share", "is_percent": False}
    row["p_value"] = math.nan
    return row | {"estimate": estimate, "conf_low": low, "conf_high": high} | other


SHARES = [
    check("all <models>", 0.5, 0.25, 0.75),
    check("some", 1.0, 0.75, 1.0, holds=True),
    check("ours", 0.5, holds=None, decides=False),
    check("another quantity", 7.0, measure="count"),
    check("another part", 0.5, term="b"),
    check("nothing", math.nan, has_data=False),
]


def test_a_strip_has_a_row_and_a_title_for_each_reading_of_its_measure():
    drawn = strips.strip(SHARES, Line("a <part>", "share", 0.75))
    titles = re.findall("<title>(.*?)</title>", drawn)
    assert titles == [
        "all &lt;models&gt;: fails, share 50\u00a0%, 95\u00a0% interval 25\u00a0% to 75\u00a0%",
        "some: holds, share 100\u00a0%, 95\u00a0% interval 75\u00a0% to 100\u00a0%",
        "ours: shown only, share 50\u00a0%",
    ]
    assert re.findall(r'<div class="verdict-(\w+)">', drawn) == ["fails", "holds", "described"]
    # From 0 to 100 % with 3 % of the width free at either end.
    assert re.findall(r'<svg x="([\d.]+)%"', drawn) == ["50.0", "97.0", "50.0"]
    assert '<line x1="26.5%" x2="73.5%" y1="50%"' in drawn
    assert drawn.count('<line class="named" x1="73.5%" x2="73.5%"') == 3
    assert "claimed 75\u00a0%</text>" in drawn


def test_a_strip_says_in_words_what_it_shows():
    line = Line("a <part>", "share", 0.8)
    assert strips.finding(strips.drawn(SHARES, line), line) == (
        "a <part>: of 2 readings 1 holds, 1 fails. Named: share 80\u00a0%; "
        "found: 50\u00a0% to 100\u00a0%. 1 of 2 intervals reach the value named."
    )
    undecided = [replace(mark, outcome="undecided") for mark in strips.drawn(SHARES, line)]
    assert strips.finding(undecided, line).startswith("a <part>: of 3 readings 3 are undecided. Na")
    assert strips.finding(undecided[:1], line).startswith("a <part>: its one reading is undecided")
    one = strips.drawn(SHARES[:1], line)
    assert strips.finding(one, line).startswith("a <part>: its one reading fails. Named")
    drawn = strips.strip(SHARES, line)
    assert 'role="img" aria-label="a &lt;part&gt;: of 2 readings 1 holds' in drawn


def test_nothing_is_drawn_of_one_reading_without_an_interval_and_a_percentage_as_a_share():
    assert strips.strip(SHARES, Line("a <part>", "count", 7)) == ""
    assert strips.strip(SHARES, Line("c", "share", 1)) == ""
    assert strips.strip(SHARES, Line("b", "share", 1)) == ""
    assert strips.strip(SHARES[:1], Line("a <part>", "share", 1))
    row = check("file", 55.0, 50.0, 60.0, measure="error", is_percent=True)
    (mark,) = strips.drawn([row], Line("a <part>", "error", 0.05))
    assert (mark.value, mark.low, mark.high) == pytest.approx((0.55, 0.5, 0.6))
    assert estimates.written("error", mark.value) == "55\u00a0%"


def test_a_printed_value_is_set_beside_what_is_found_without_an_interval():
    rows = [check("file", -0.88, -0.98, -0.46, measure="r", kind="value") for _ in range(2)]
    drawn = strips.strip(rows, Line("a <part>", "r", -0.81))
    assert drawn.count("<title>file: fails, r −0.88</title>") == 2
    assert '<line class="named"' in drawn
    assert 'y1="50%"' not in drawn.replace('<svg x="', "")
    assert "interval" not in drawn


@pytest.mark.parametrize(
    ("measure", "null", "low", "said"),
    [("odds ratio", 1.0, 0.64, "Intervals that contain it: 1 of 1."),
     ("r", 0.0, 0.7, "Intervals that contain it: 0 of 1.")],
)  # fmt: skip
def test_a_paper_that_names_no_value_has_a_line_at_the_null(measure, null, low, said):
    row = check("all", 0.8, low, 0.9 if measure == "r" else 400.0, measure=measure, null=null)
    (line,) = strips.unnamed([row])
    assert (line.value, line.is_null) == (null, True)
    drawn = strips.strip([row], line)
    assert drawn.count('<line class="named"') == 1
    assert f'text-anchor="middle">no effect: {null:g}</text>' in drawn
    label = re.findall('aria-label="([^"]*)"', drawn)[0]
    assert f"No effect: {measure} {null:g}; found: 0.80. {said}" in label
    # A printed value is compared with what is printed, and has no null.
    assert math.isnan(strips.unnamed([row | {"kind": "value"}])[0].value)


@pytest.mark.parametrize(
    ("line", "values", "places"),
    [
        (Line("a <part>", "ratio", 1, 0.5, 1.5), [0.0, 2.0], [3.0, 97.0]),
        (Line("a <part>", "ratio", 10), [1.0, 100.0], [3.0, 97.0]),
        (Line("a <part>", "ratio", 10), [2.0, 99.0], [17.1, 96.8]),
        (Line("a <part>", "p", 0.001), [1.0, 0.0005], [97.0, 10.9]),
        (Line("a <part>", "ratio", 4), [4.0, 4.0], [50.0, 50.0]),
    ],
)
def test_an_axis_reaches_as_far_as_what_is_drawn(line, values, places):
    rows = [check(str(it), it, measure="ratio", p_value=it) for it in values]
    drawn = strips.strip(rows, line)
    assert [float(it) for it in re.findall(r'<svg x="([\d.]+)%"', drawn)] == places
    assert drawn.count("<rect") == (2 if line.low == 0.5 else 0)


def test_every_value_that_a_claim_names_is_drawn_and_divides_its_readings(made):
    named = strips.lines(pd.read_csv(PUBLISHED / "claim_line.csv"))
    for number, lines in named.items():
        kind = claims.claim(number, CLAIMS).kind
        checks = claims.check_rows(made[number], kind).to_dict("records")
        for line in lines:
            drawn = strips.drawn(checks, line)
            # One printed value that comes again or does not has no interval, and is no picture.
            is_one = len(drawn) == 1 and drawn[0].kind == "value"
            assert bool(strips.strip(checks, line)) != is_one, (number, line)
            marks = [it for it in drawn if it.kind == "difference"]
            if line.measure == strips.P or not math.isnan(line.low):
                continue
            sides = {
                outcome: [it.value - line.value for it in marks if it.outcome == outcome]
                for outcome in ("holds", "fails")
            }
            if all(sides.values()):
                side = math.copysign(1, sides["holds"][0])
                assert min(side * it for it in sides["holds"]) > 0, (number, line)
                assert max(side * it for it in sides["fails"]) <= 0, (number, line)


@pytest.fixture(scope="module")
def committed():
    return pd.read_csv(ROOT / "reports/claims.csv")


def test_every_estimate_of_the_audit_has_a_name_and_its_interval_the_same_unit(committed):
    rows = committed[committed["estimate"].notna()].to_dict("records")
    unnamed = {row["claim_id"] for row in rows if estimates_shown.name(row) == prose.MISSING}
    assert unnamed == set()
    rows = committed.set_index("claim_id").loc[[40, 41]].to_dict("records")
    assert {estimates_shown.name(row) for row in rows} == {"error"}
    shown = [estimates_shown.estimate(row) for row in rows]
    assert shown == [f"error {value}\u00a0%" for value in (15.7, 55.7)]
    row = {"estimate": 0.8, "conf_low": 0.28, "conf_high": 0.99}
    row |= {"measure": "share", "is_percent": False}
    assert estimates_shown.interval(row) == "[28\u00a0%,\u00a099\u00a0%]"
    row["measure"] = "r"
    assert estimates_shown.interval(row) == "[0.28,\u00a00.99]"
    assert estimates_shown.interval(row | {"conf_low": float("nan")}) == "–"


@pytest.mark.parametrize(
    ("measure", "is_percent", "estimate", "printed"),
    [
        ("share", False, 0.8, "share 80\u00a0%"),
        ("error", True, 55.69, "error 55.7\u00a0%"),
        ("count", False, 33.0, "count 33"),
        ("ratio", False, 9.92, "ratio 9.92"),
        ("mean trace", False, 62695.9, "mean trace 62,696"),
        ("r", False, float("nan"), "–"),
        ("", False, 0.5, "0.50"),
    ],
)
def test_an_estimate_by_hand(measure, is_percent, estimate, printed):
    row = {"measure": measure, "is_percent": is_percent, "estimate": estimate}
    assert estimates_shown.estimate(row) == printed


def labels(drawn):
    """Return the labels of the axis of a strip with their places."""
    foot = re.findall(r'<svg aria-hidden="true">(.*?)</svg></div>', drawn)[0]
    return {text: float(x) for x, text in re.findall(r'x="([\d.]+)%"[^>]*>([^<]*)<', foot)}


def test_an_axis_of_p_shows_the_ticks_that_a_reader_needs():
    rows = [check("a", 1.0, p_value=0.036, measure="ratio")]
    rows += [check("b", 1.0, p_value=0.17, measure="ratio", decides=False)]
    drawn = strips.strip(rows, Line("a <part>", "p", 0.001))
    assert {".01", ".05", ".1", "1", "claimed &lt; 0.001"} <= {*labels(drawn)}
    assert drawn.count('<line class="null"') == 2
    assert f'<line class="null" x1="{labels(drawn)[".05"]}%"' in drawn


def test_a_claimed_value_stands_beside_the_value_of_no_effect():
    rows = [check("a", 0.4, 0.2, 0.6, measure="ratio", null=1.0)]
    drawn = strips.strip(rows, Line("a <part>", "ratio", 0.5, 0.2, 1.2))
    assert {"claimed 0.50", "no effect: 1"} <= {*labels(drawn)}
    assert drawn.count('<line class="null"') == drawn.count('<line class="named"') == 1
    alone = strips.strip(rows, Line("a <part>", "ratio", 1.0, is_null=True))
    assert 'class="null"' not in alone


def test_a_strip_with_marks_that_decide_nothing_says_what_they_are():
    key = strips.strip(SHARES, Line("a <part>", "share", 0.75)).split("strip-key")[1]
    said = re.findall(r'<span class="(verdict-\w+)"', key)
    assert said == ["verdict-holds", "verdict-fails", "verdict-described"]
    assert "strip-key" not in strips.strip(SHARES[:2], Line("a <part>", "share", 0.75))


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (-2.5, 5.0), (0.0, 1.0), (20.0, 35.0), (0.8, 1.05), (-0.2, 0.7)]
)
def test_ticks_are_few_and_lie_on_their_axis(low, high):
    marked = strips.ticks(strips.Axis(low, high, is_log=False), "ratio")
    assert 3 <= len(marked) <= strips.MOST_TICKS
    assert all(low - 1e-9 <= it <= high + 1e-9 for it in marked)
    steps = {round(b - a, 9) for a, b in itertools.pairwise(marked)}
    assert len(steps) == 1


def test_labels_below_a_strip_lie_where_they_are_reckoned_to():
    line = strips.Line("a", strips.P, 0.001)
    marks = [strips.StripMark("b", "value", "fails", p, math.nan, math.nan) for p in (0.04, 0.9)]
    foot = strips._foot("p", line, strips.axis_of(marks, line), "claimed < ", 0.05)
    found = re.findall(r'<text[^>]*x="([\d.]+)%" y="12" text-anchor="(\w+)">([^<]*)', foot)
    spans = []
    for place, anchor, text in found:
        long = strips.LETTER * len(text.replace("&lt;", "<"))
        back = {"start": 0.0, "middle": long / 2, "end": long}[anchor]
        spans.append((float(place) - back, float(place) - back + long))
    assert len(spans) >= 3
    assert all(low >= -0.1 and high <= 100.1 for low, high in spans)
    for (_, high), (low, _) in itertools.pairwise(sorted(spans)):
        assert high <= low
