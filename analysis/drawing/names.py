"""Names beside the points and lines that they name, so that a figure needs no legend."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.drawing.theme import INK

#: Size of the letters of a name, width of one against its size, and height of a line [px].
SIZE, LETTER, LINE = 12, 0.55, 13
#: Half the side of a mark, distance of a name from it, and those of names with a leader [px].
MARK, BESIDE, LEADERS = 5, 7, (14, 44)
#: How far a name is moved from its mark in one step, and how many steps at most [px].
STEP, STEPS = 6, 16
#: From here on a leader joins a name to its mark [px].
FAR = 8
#: What a name may reach beyond the right edge of its panel [px].
OVER = 18
#: How often every name is placed anew, with the others where they are.
ROUNDS = 8
#: What it costs to cover a name or mark, to reach beyond the panel [each per px], and to stand on a
#: line, where to be moved costs 1 per px.
COVERED, OUTSIDE, CROSSED = 16, 20, 40

Box = tuple[float, float, float, float]
Boxes = npt.NDArray[np.float64]
#: How far up a name stands, how far beside [px], and whether on the left.
Choice = tuple[float, float, bool]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: its size [px], the ends of its axes, and which of these are logarithmic.

    Its width is that on a phone. Names that lie apart there lie apart in a wider panel, too,
    because letters keep their size and marks move away from each other.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: float = 280
    height: float = 230
    is_log: bool = False
    is_log_y: bool = False

    def across(self, value: float) -> float:
        """Return how far right a value of the axis x stands [px]."""
        return self.width * _share(value, self.x, is_log=self.is_log)

    def up(self, value: float) -> float:
        """Return how far up a value of the axis y stands [px]."""
        return self.height * _share(value, self.y, is_log=self.is_log_y)

    def x_at(self, across: float) -> float:
        """Return the value of the axis x at a place [px]."""
        return _value(across / self.width, self.x, is_log=self.is_log)

    def y_at(self, up: float) -> float:
        """Return the value of the axis y at a place [px]."""
        return _value(up / self.height, self.y, is_log=self.is_log_y)


def placed(
    points: pd.DataFrame,
    panel: Panel,
    x: str,
    y: str,
    *,
    lines: Sequence[float] = (),
    curve: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return points with a place for their names, so that none covers a mark or another name.

    Parameters
    ----------
    points
        One row per mark: its place in the columns ``x`` and ``y``, and `name`.
    panel
        Where they are drawn.
    lines
        Heights of level lines, on which no name stands.
    curve
        Points of a curve that names leave free, with the columns ``x`` and ``y``.

    Adds `name_x` and `name_y` (where the name begins, on both axes), `is_left` and `is_far`
    (whether a leader joins it to its mark).
    """
    spots = _spots(points, panel, (x, y))
    along = _spots(points.iloc[:0] if curve is None else curve, panel, (x, y))
    widths = [SIZE * LETTER * len(str(name)) for name in points["name"]]
    choices = [
        (STEP * step, beside, is_left)
        for step in sorted(range(-STEPS, STEPS + 1), key=abs)
        for beside in (LEADERS if STEP * abs(step) > FAR else (0,))
        for is_left in (False, True)
    ]
    moved = np.array([abs(up) + 0.5 * beside + is_left for up, beside, is_left in choices])
    tried = [
        np.array([_box(spot, width, choice) for choice in choices])
        for spot, width in zip(spots, widths, strict=True)
    ]
    fixed = [moved + _misplacement(boxes, panel, lines) for boxes in tried]
    marks = np.array([(u - MARK, v - MARK, u + MARK, v + MARK) for u, v in [*spots, *along]])
    chosen = [0] * len(spots)
    for n_rounds, place in itertools.product(range(ROUNDS), range(len(spots))):
        known = range(len(spots)) if n_rounds else range(place)
        others = [tried[other][chosen[other]] for other in known if other != place]
        covered = _cover(tried[place], np.vstack([marks, *others]))
        chosen[place] = int(np.argmin(fixed[place] + COVERED * covered))
    taken = [choices[number] for number in chosen]
    ends = [_begins(spot, choice) for spot, choice in zip(spots, taken, strict=True)]
    return points.assign(
        name_x=[panel.x_at(u) for u, _ in ends],
        name_y=[panel.y_at(v) for _, v in ends],
        is_left=[is_left for _, _, is_left in taken],
        is_far=[beside > 0 for _, beside, _ in taken],
    )


def freest(points: pd.DataFrame, panel: Panel, x: str, y: str, *, of: str) -> list[object]:
    """Return the label of the row, for each value of ``of``, farthest from points of any other.

    Parameters
    ----------
    points
        One row per point, in the columns ``x`` and ``y``.
    panel
        Where they are drawn.
    """
    spots = np.array(_spots(points, panel, (x, y)))
    distance = np.linalg.norm(spots[:, None] - spots[None], axis=2)
    kind = points[of].to_numpy()
    distance[kind[:, None] == kind[None]] = np.inf
    nearest = pd.Series(distance.min(axis=1), index=points.index)
    return list(nearest.groupby(points[of]).idxmax())


def along(points: pd.DataFrame, panel: Panel, x: str, y: str, *, of: str) -> pd.DataFrame:
    """Return places along the lines that join points, for `placed` to leave free.

    Parameters
    ----------
    points
        One row per point, in the columns ``x`` and ``y``; those alike in ``of`` are joined in
        the order of ``x``, as a mark of lines joins them.
    panel
        Where they are drawn.
    """
    places = []
    for _, line in points.sort_values(x, kind="stable").groupby(of):
        for one, other in itertools.pairwise(_spots(line, panel, (x, y))):
            n_steps = math.ceil(math.dist(one, other) / STEP)
            for share in np.linspace(0, 1, n_steps + 1)[1:-1]:
                u, v = (a + share * (b - a) for a, b in zip(one, other, strict=True))
                places.append((panel.x_at(u), panel.y_at(v)))
    return pd.DataFrame(places, columns=[x, y])


def texts(named: pd.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return the names of points and their leaders as layers.

    Parameters
    ----------
    named
        From `placed`.
    x, y
        The channels of the marks.
    """
    far = named[named["is_far"]]
    at = {"x": _replace_field("name_x", x), "y": _replace_field("name_y", y)}
    layers = [
        alt.Chart(far)
        .mark_rule(color=INK, strokeWidth=0.8, opacity=0.7)
        .encode(x=x, y=y, x2="name_x:Q", y2="name_y:Q", description=alt.value(""))
    ]
    for (is_left, is_far), rows in named.groupby(["is_left", "is_far"]):
        away = 2 if is_far else BESIDE
        mark = alt.Chart(rows).mark_text(
            align="right" if is_left else "left",
            dx=-away if is_left else away,
            fontSize=SIZE,
            color=INK,
        )
        layers.append(mark.encode(text="name:N", **at))
    return layers if len(far) else layers[1:]


def apart(places: Sequence[float], least: float) -> list[float]:
    """Return places moved as little as need be, so that they lie at least so far apart.

    >>> apart([1.0, 1.0, 5.0], 1.0)
    [0.5, 1.5, 5.0]
    """
    order = np.argsort(np.asarray(places, dtype=float), kind="stable")
    # Less their rank times the distance, places must not fall: blocks that would are averaged.
    blocks: list[list[float]] = []
    for rank, index in enumerate(order):
        blocks.append([float(places[index]) - rank * least])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    level = [float(np.mean(block)) for block in blocks for _ in block]
    moved = dict(zip(order, level, strict=True))
    ranks = {index: rank for rank, index in enumerate(order)}
    return [moved[index] + ranks[index] * least for index in range(len(places))]


def end_names(
    lines: pd.DataFrame,
    x: alt.X,
    y: str,
    *,
    least: float,
    is_log: bool = False,
    beside: int = 10,
) -> alt.Chart:
    """Return the names of lines at their right ends, moved apart where they would meet.

    Parameters
    ----------
    lines
        One row per point: `name` of its line, and its place in the columns of ``x`` and ``y``.
    x
        The channel of the lines.
    y
        The column of their heights.
    least
        Least distance of two names, in the unit of ``y``, or in its logarithm.
    is_log
        Whether the upright axis is logarithmic.
    beside
        Distance of a name from its line [px].
    """
    ends = lines.sort_values(str(x.shorthand).partition(":")[0], kind="stable").drop_duplicates(
        "name", keep="last"
    )
    heights = ends[y].to_numpy(dtype=float)
    places = np.array(apart(list(np.log(heights) if is_log else heights), least))
    rows = alt.Chart(ends.assign(label_at=np.exp(places) if is_log else places))
    words = rows.mark_text(align="left", dx=beside, fontSize=13, color=INK)
    return cast(alt.Chart, words.encode(x=x, y="label_at:Q", text="name:N"))


def _share(value: float, ends: tuple[float, float], *, is_log: bool) -> float:
    """Return how far along an axis a value stands [share of its length]."""
    low, high, at = (math.log(it) if is_log else it for it in (*ends, value))
    return (at - low) / (high - low)


def _value(share: float, ends: tuple[float, float], *, is_log: bool) -> float:
    """Return the value that stands so far along an axis."""
    low, high = (math.log(it) if is_log else it for it in ends)
    at = low + share * (high - low)
    return math.exp(at) if is_log else at


def _begins(spot: tuple[float, float], choice: Choice) -> tuple[float, float]:
    """Return where a name or its leader ends [px]; a near name has the place of its mark."""
    up, beside, is_left = choice
    return spot[0] + (-beside if is_left else beside), spot[1] + up


def _box(spot: tuple[float, float], width: float, choice: Choice) -> Box:
    """Return the corners of a name [px]."""
    begin, middle = _begins(spot, choice)
    near = 2 if choice[1] else BESIDE
    left = begin - near - width if choice[2] else begin + near
    return left, middle - LINE / 2, left + width, middle + LINE / 2


def _spots(points: pd.DataFrame, panel: Panel, at: tuple[str, str]) -> list[tuple[float, float]]:
    """Return where points stand [px]."""
    return [
        (panel.across(float(across)), panel.up(float(up)))
        for across, up in zip(points[at[0]], points[at[1]], strict=True)
    ]


def _misplacement(boxes: Boxes, panel: Panel, lines: Sequence[float]) -> Boxes:
    """Return what it costs that names reach beyond the panel or stand on a level line."""
    left, below, right, above = boxes.T
    beyond = np.maximum(-left, 0) + np.maximum(right - panel.width - OVER, 0)
    beyond += np.maximum(-below, 0) + np.maximum(above - panel.height, 0)
    crossed = sum(((below < panel.up(line)) & (panel.up(line) < above)) for line in lines)
    return np.asarray(OUTSIDE * beyond + CROSSED * crossed, dtype=float)


def _cover(boxes: Boxes, others: Boxes) -> Boxes:
    """Return how much of others each box covers [px]: of width or height, whichever is less."""
    one, other = boxes[:, None, :], others[None, :, :]
    size = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    least = size.min(axis=2)
    return np.asarray(np.where(least > 0, least + 2, 0).sum(axis=1), dtype=float)


def _replace_field(field: str, channel: alt.X | alt.Y) -> alt.X | alt.Y:
    """Return a channel with another field, on the same axis."""
    copy = channel.copy()
    copy.shorthand = f"{field}:Q"
    return copy
