"""The strip of a part of a claim: each reading as a row, beside the value that the claim names.

A strip is HTML with a small drawing per row. Places are shares of the width of a row, so it fits a
desk and a phone with letters of one size; colours of outcomes come from the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from analysis.audit.pages import estimates, readings
from analysis.tidy import html, notation, prose

#: The measure whose value is the p of a test, and the least p that is drawn.
P, LEAST_P = "p", 1e-5
#: Ends of the axis of measures that have some; others reach as far as what is drawn.
ENDS = dict.fromkeys(estimates.SHARES, (0.0, 1.0)) | dict.fromkeys(
    ("r", "partial r", "mean r", "rank r"), (-1.0, 1.0)
)
#: Values this many times the least are drawn on a logarithmic axis.
WIDE = 20.0
#: Share of the width that is left free at either end, and that a letter needs on a phone [%].
MARGIN, LETTER = 3.0, 2.1
#: How far two labels lie apart [%].
APART = 0.8
#: Ticks of an axis of p, the customary level among them, and most ticks of another.
P_TICKS, LEVEL = (0.001, 0.01, 0.05, 0.1, 1.0), 0.05
MOST_TICKS = 5
STEPS = (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0)
#: What an axis is of, where the name of its measure does not say it.
AXES = {
    P: "p of the test",
    "share": "share for which it holds",
    "accuracy": "share that is told right",
    "r": "correlation r",
    "mean r": "mean correlation r",
    "partial r": "correlation r, with other causes held constant",
    "rank r": "rank correlation",
    "share above": "share above the bound",
    "difference": "difference between the two",
    "mean gain": "mean gain (1: length unchanged)",
    "smallest mean": "smallest mean gain of a lab (1: length unchanged)",
    "twice the log likelihood ratio": "twice the log likelihood ratio (above 0: as stated)",
}
#: The mark of each outcome, around its place.
SHAPES = {
    "holds": Markup('<circle r="5"/>'),
    "fails": Markup('<path d="M-4-4 4 4M4-4-4 4"/>'),
    "undecided": Markup('<circle class="ring" r="4.5"/>'),
    "shown only": Markup('<path d="M0-5V5"/>'),
}


@dataclass(frozen=True, slots=True)
class Line:
    """What a claim names in one part: a row of table ``claim_line``."""

    #: The part, and what its value is set beside: the name of an estimate, or `P`.
    part: str
    measure: str
    #: The value, or NaN if none is named, and the margin that still counts as it; NaN where there
    #: is none.
    value: float
    low: float = math.nan
    high: float = math.nan
    is_null: bool = False  #: Whether the value is the null, and not one that the claim names.


@dataclass(frozen=True, slots=True)
class StripMark:
    """One reading as it is drawn: its words, kind, outcome, estimate and interval (or NaN)."""

    condition: str
    kind: str
    outcome: str
    value: float
    low: float
    high: float

    def in_words(self, measure: str) -> str:
        """Return the mark in words."""
        shown = f"{measure} {_write(measure, self.value)}"
        if math.isnan(self.low):
            return f"{self.condition}: {self.outcome}, {shown}"
        if measure == P:
            alone = _write(measure, self.low)
            return f"{self.condition}: {self.outcome}, p {alone}, adjusted over readings {shown}"
        ends = f"{_write(measure, self.low)} to {_write(measure, self.high)}"
        return f"{self.condition}: {self.outcome}, {shown}, 95\u00a0% interval {ends}"


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to places in percent of the width; logarithmic where ``is_log``."""

    low: float
    high: float
    is_log: bool

    def place(self, value: float) -> float:
        """Return where a value lies; beyond an end, the end."""
        low, high, at = (self._scaled(it) for it in (self.low, self.high, value))
        share = (at - low) / (high - low)
        return MARGIN + (100 - 2 * MARGIN) * min(max(share, 0.0), 1.0)

    def _scaled(self, value: float) -> float:
        if not self.is_log:
            return value
        return math.log(max(value, self.low)) if value < math.inf else math.inf


def lines(rows: pd.DataFrame) -> dict[int, list[Line]]:
    """Return what each claim names, by its number; ``rows`` are those of table ``claim_line``."""
    by_name: dict[int, list[Line]] = {}
    for row in rows.to_dict("records"):
        named = {str(name): value for name, value in row.items() if name != "claim_id"}
        by_name.setdefault(int(row["claim_id"]), []).append(Line(**named))
    return by_name


def unnamed(checks: Sequence[Mapping[Any, Any]]) -> list[Line]:
    """Return a line for each part of which an estimate is drawn, at the null that it declares."""
    parts: dict[str, Line] = {}
    for check in checks:
        if check["has_data"] and math.isfinite(check["estimate"]):
            part = str(check["term"])
            null = math.nan if check["kind"] == "value" else float(check.get("null", math.nan))
            parts.setdefault(part, Line(part, estimates.name(check), null, is_null=True))
    return list(parts.values())


def strip(checks: Sequence[Mapping[Any, Any]], line: Line) -> Markup:
    """Return the strip of one part of a claim as HTML; empty where there is nothing to draw.

    Parameters
    ----------
    checks
        Rows of `analysis.audit.check_rows` of the claim.
    line
        What the claim names there. One reading without an interval is no picture, nor is one at all
        where the value stands alone.
    """
    marks = drawn(checks, line)
    if len(marks) < 2 and all(math.isnan(mark.low) for mark in marks):
        return Markup("")
    axis = axis_of(marks, line)
    is_divider = line.is_null or any(mark.kind == "difference" for mark in marks)
    null = _null(checks, line)
    before = "claimed < " if line.measure == P else "claimed "
    if is_divider and line.measure != P:
        before = NONE if line.is_null or line.value in (null, 0.0) else "divided at "
    null = null if axis.low <= null <= axis.high and null != line.value else math.nan
    rows = html.joined([_row(mark, line, axis, null) for mark in marks])
    scale = ", logarithmic axis" if axis.is_log else ""
    foot = _foot(f"{_axis_title(line, marks)}{scale}", line, axis, before, null)
    opening = Markup('<figure class="strip" role="img" aria-label="{}">{}{}{}</figure>')
    return opening.format(finding(marks, line), rows, foot, _key(marks))


#: What stands before a value that divides the readings and is no effect.
NONE = "no effect: "


def _null(checks: Sequence[Mapping[Any, Any]], line: Line) -> float:
    """Return the value of no effect in a part, of p the customary level; NaN where there is none.

    A value that is compared with a printed one has none.
    """
    if line.measure == P:
        return LEVEL
    nulls = [
        float(check.get("null", math.nan))
        for check in checks
        if check["term"] == line.part
        and check["kind"] != "value"
        and estimates.name(check) == line.measure
    ]
    return next((it for it in nulls if math.isfinite(it)), math.nan)


def ticks(axis: Axis, measure: str) -> list[float]:
    """Return the values that an axis is labelled at, from low to high.

    >>> ticks(Axis(-1.0, 1.0, is_log=False), "r")
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    >>> ticks(Axis(0.0005, 1.0, is_log=True), P)
    [0.001, 0.01, 0.05, 0.1, 1.0]
    """
    if measure == P:
        return [it for it in P_TICKS if axis.low <= it <= axis.high]
    if axis.is_log:
        ends = round(math.log10(axis.low)), round(math.log10(axis.high))
        return [10.0**power for power in range(ends[0], ends[1] + 1)]
    span = axis.high - axis.low
    unit = 10.0 ** math.floor(math.log10(span))
    fits = [it * unit for it in STEPS if span / (it * unit) < MOST_TICKS]
    step = fits[0] if fits else span
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    return [round(step * at, 10) + 0.0 for at in range(first, last + 1)]


def _key(marks: Sequence[StripMark]) -> Markup:
    """Return what each kind of mark means, where some decide nothing."""
    present = [it for it in SHAPES if any(mark.outcome == it for mark in marks)]
    if readings.SHOWN not in present:
        return Markup("")
    item = Markup('<span class="{}"><svg aria-hidden="true">{}</svg>{}</span>')
    items = [item.format(readings.look(it), SHAPES[it], KEY.get(it, it)) for it in present]
    return Markup('<div class="strip-key">{}</div>').format(html.joined(items))


#: What the key says of marks that decide nothing.
KEY = {readings.SHOWN: "shown for comparison, moves no verdict"}


def drawn(checks: Sequence[Mapping[Any, Any]], line: Line) -> list[StripMark]:
    """Return the readings of a part that have a value of its measure, in their order."""
    return [
        mark
        for check in checks
        if check["term"] == line.part and check["has_data"]
        for mark in [_mark(check, line.measure)]
        if not math.isnan(mark.value)
    ]


def finding(marks: Sequence[StripMark], line: Line) -> str:
    """Return what a strip shows, in one sentence a fact."""
    deciding = [mark.outcome for mark in marks if mark.outcome != readings.SHOWN]
    ends = [_write(line.measure, end([m.value for m in marks])) for end in (min, max)]
    found = " to ".join(dict.fromkeys(ends))
    across = [m for m in marks if not math.isnan(m.low) and line.measure != P]
    n_on = sum(m.low <= line.value <= m.high for m in across)
    items = [f"{line.part}: {readings.held(deciding)}."] if deciding else []
    if math.isnan(line.value):
        return " ".join([*items, f"Found: {line.measure} {found}."])
    named = "No effect" if line.is_null else "Named"
    items += [f"{named}: {line.measure} {_write(line.measure, line.value)}; found: {found}."]
    of_intervals = f"{n_on} of {prose.plural(len(across), 'interval')} reach the value named."
    if line.is_null:
        of_intervals = f"Intervals that contain it: {n_on} of {len(across)}."
    return " ".join([*items, of_intervals] if across else items)


def axis_of(marks: Sequence[StripMark], line: Line) -> Axis:
    """Return the axis of a strip: of a share or an r whole, else as far as what is drawn."""
    if line.measure == P:
        least = min(line.value, *(mark.value for mark in marks))
        return Axis(max(least / 2, LEAST_P), 1.0, is_log=True)
    values = [line.value, line.low, line.high]
    values += [it for mark in marks for it in (mark.value, mark.low, mark.high)]
    known = [it for it in values if math.isfinite(it)]
    low, high = min(known), max(known)
    ends = ENDS.get(line.measure)
    if ends and ends[0] <= low and high <= ends[1]:
        return Axis(*ends, is_log=False)
    if low > 0 and high / low > WIDE:
        decades = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return Axis(10.0 ** decades[0], 10.0 ** decades[1], is_log=True)
    if low == high:
        return Axis(low - 1.0, high + 1.0, is_log=False)
    step = 10.0 ** math.floor(math.log10(high - low)) / 2
    return Axis(step * math.floor(low / step), step * math.ceil(high / step), is_log=False)


def _mark(check: Mapping[Any, Any], measure: str) -> StripMark:
    value, low, high = math.nan, math.nan, math.nan
    outcome = readings.outcome(check)
    if measure == P:
        value = float(check["p_value"])
        if outcome == "undecided":  # the p adjusted over the readings decides, and is not small
            low, value = value, float(check["p_holm"])
            high = value
    elif estimates.name(check) == measure:
        # What a printed value says is whether it comes again: no interval decides that.
        names = ("estimate",) if check["kind"] == "value" else ("estimate", "conf_low", "conf_high")
        ends = [estimates.in_its_unit(check, float(check[name])) for name in names]
        value, low, high = (*ends, math.nan, math.nan)[:3]
    return StripMark(str(check["condition"]), str(check["kind"]), outcome, value, low, high)


def _write(measure: str, value: float) -> str:
    if measure == P:
        return prose.bare(prose.p_value(value))
    return estimates.written(measure, value) if math.isfinite(value) else prose.number(value)


def _axis_title(line: Line, marks: Sequence[StripMark]) -> str:
    has_interval = any(not math.isnan(mark.low) for mark in marks)
    named = AXES.get(line.measure, line.measure)
    if line.measure == P:
        return (
            f"{named}; ring: adjusted over the readings, its line from p" if has_interval else named
        )
    return f"{named}; lines: 95{prose.NO_BREAK}% intervals" if has_interval else named


def _row(mark: StripMark, line: Line, axis: Axis, null: float) -> Markup:
    """Return one reading: its words, and beside them the value named, the interval and the mark."""
    named = axis.place(line.value)
    parts = [Markup("<title>{}</title>").format(mark.in_words(line.measure))]
    if not math.isnan(line.low):
        low, high = axis.place(line.low), axis.place(line.high)
        margin = Markup('<rect x="{:.1f}%" width="{:.1f}%" height="100%"/>')
        parts.append(margin.format(low, high - low))
    if not math.isnan(null):
        at = Markup('<line class="null" x1="{0:.1f}%" x2="{0:.1f}%" y2="100%"/>')
        parts.append(at.format(axis.place(null)))
    if not math.isnan(line.value):
        at = Markup('<line class="named" x1="{0:.1f}%" x2="{0:.1f}%" y2="100%"/>')
        parts.append(at.format(named))
    if not math.isnan(mark.low):
        low, high = axis.place(mark.low), axis.place(mark.high)
        reach = Markup('<line x1="{:.1f}%" x2="{:.1f}%" y1="50%" y2="50%"/>')
        parts.append(reach.format(low, high))
    place, shape = axis.place(mark.value), SHAPES[mark.outcome]
    parts.append(Markup('<svg x="{:.1f}%" y="50%">{}</svg>').format(place, shape))
    row = Markup('<div class="{}"><span>{}</span><svg>{}</svg></div>')
    words = notation.marked(prose.bound(mark.condition))
    return row.format(readings.look(mark.outcome), words, html.joined(parts))


def _foot(measured: str, line: Line, axis: Axis, before: str, null: float) -> Markup:
    """Return what is drawn, the value named after a word, and the ticks of the axis.

    What would lie over the value named, or over another tick, is left out; ends come first.
    """
    labels: list[tuple[float, str, Markup]] = []
    if not math.isnan(line.value):
        labels.append((line.value, f"{before}{_write(line.measure, line.value)}", NAMED))
    if not math.isnan(null):
        alone = _write(line.measure, null)
        labels.append((null, _tick(P, null) if line.measure == P else f"{NONE}{alone}", Markup("")))
    marked = ticks(axis, line.measure)
    order = [*marked[:1], *marked[-1:], *marked[1:-1]]
    labels += [(it, _tick(line.measure, it), Markup("")) for it in order]
    taken: list[tuple[float, float]] = []
    texts = []
    for value, text, kind in labels:
        place = axis.place(value)
        low, high = _reach(place, text)
        if all(high + APART < left or low - APART > right for left, right in taken):
            taken.append((low, high))
            texts.append(_text(place, text, kind))
    return FOOT.format(measured, html.joined(texts))


#: The row below the readings, and what marks the value named in it.
FOOT = Markup('<div class="strip-foot"><span>{}</span><svg aria-hidden="true">{}</svg></div>')
NAMED = Markup(' class="named"')


def _tick(measure: str, value: float) -> str:
    """Return a value on an axis; of p without the zero before the point."""
    return f"{value:g}".removeprefix("0") if measure == P else _write(measure, value)


def _reach(place: float, text: str) -> tuple[float, float]:
    """Return where a label begins and ends [% of the width]."""
    width = LETTER * len(text)
    low = min(max(place - width / 2, 0.0), max(100 - width, 0.0))
    return low, low + width


def _text(place: float, text: str, mark: Markup) -> Markup:
    """Return a label in the middle of its place, or at the end of the row that it would pass."""
    low, high = _reach(place, text)
    at, anchor = (0.0, "start") if low == 0 else (place, "middle")
    if high >= 100:
        at, anchor = 100.0, "end"
    written = Markup('<text{} x="{:.1f}%" y="12" text-anchor="{}">{}</text>')
    return written.format(mark, at, anchor, text)
