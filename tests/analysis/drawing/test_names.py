"""Names beside points: apart from each other, from curves, and on a screen of any width."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.drawing import names


def test_names_need_leaders_only_where_there_is_no_room_and_lie_apart():
    points = pd.DataFrame({"name": ["model-one", "model-two", "model-three"], "at": [4.0, 5, 6]})
    points = points.assign(height=5.0)
    panels = [names.Panel((0, 10), (0, 10), width=width) for width in (80, 800)]
    close, wide = (names.placed(points, panel, "at", "height") for panel in panels)
    assert close["is_far"].any()
    assert not wide["is_far"].any()
    curve = pd.DataFrame({"at": np.linspace(4.1, 6, 50), "height": 5.0})
    free = names.placed(points.head(1), panels[1], "at", "height", curve=curve)
    assert free["is_left"].item()
    log = names.Panel((1, 100), (1, 1000), width=100, height=90, is_log=True, is_log_y=True)
    assert (log.across(10), log.up(10)) == pytest.approx((50, 30))
    assert (log.x_at(50), log.y_at(30)) == pytest.approx((10, 10))
    moved = names.apart([3.0, 1.0, 1.2, 1.1], 0.5)
    assert moved[0] == pytest.approx(3)
    assert moved[1] < moved[3] < moved[2]
    assert np.diff(sorted(moved)).min() == pytest.approx(0.5)
    assert np.mean(moved[1:]) == pytest.approx(1.1)


def test_lines_are_left_free_and_a_group_is_named_where_others_are_far():
    points = pd.DataFrame({"at": [0.0, 4, 10, 1], "height": [0.0, 0, 9, 9], "of": list("aabb")})
    panel = names.Panel((0, 10), (0, 10), width=100, height=100)
    # From (40, 0) and (100, 90) the nearest of the others is 95 and 108 px away, else 91.
    assert names.freest(points, panel, "at", "height", of="of") == [1, 2]
    along = names.along(points, panel, "at", "height", of="of")
    level = along[along["height"] == 0]
    assert level["at"].between(0, 4, inclusive="neither").all()
    assert np.diff(level["at"]).max() * 10 <= names.STEP
    assert set(along["height"].round(9)) == {0, 9}


@pytest.mark.parametrize("width", [names.Panel((0, 1), (0, 1)).width, 530])
def test_names_placed_for_a_phone_cover_no_other_on_a_desk(width):
    rng = np.random.default_rng(7)
    points = pd.DataFrame({"at": rng.uniform(0, 10, 9), "height": rng.uniform(0, 10, 9)})
    points = points.assign(name=[f"model-{place}" for place in range(9)])
    placed = names.placed(points, names.Panel((0, 10), (0, 10)), "at", "height")
    drawn = names.Panel((0, 10), (0, 10), width=width)
    boxes = []
    for row in placed.to_dict("records"):
        long, near = (
            names.SIZE * names.LETTER * len(row["name"]),
            2 if row["is_far"] else names.BESIDE,
        )
        begin, middle = drawn.across(row["name_x"]), drawn.up(row["name_y"])
        left = begin - near - long if row["is_left"] else begin + near
        boxes.append((left, middle - names.LINE / 2, left + long, middle + names.LINE / 2))
    for one, other in itertools.combinations(boxes, 2):
        assert min(one[2], other[2]) <= max(one[0], other[0]) or (
            min(one[3], other[3]) <= max(one[1], other[1])
        )
