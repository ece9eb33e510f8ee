"""The figure of a trajectory: a line a format over steps, revisions of equal weights left out."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.heritage.measured import trajectory_charts as trajectory
from analysis.store import open_store
from analysis.tidy.errors import DesignError
from collect.record.writer import write_table
from tests.analysis.drawn import borrowed


@pytest.fixture
def at_step(tiny_copy):
    """The tiny model, opened as the one that some revisions hold."""

    def opened(**steps: int):
        for name, step in steps.items():
            row = {"model_id": "test/tiny", "revision_name": name, "revision": name}
            hashes = {"weights_sha256": "0", "config_sha256": "0", "training_step": step}
            path = tiny_copy / "revision" / f"{name}.parquet"
            write_table("revision", pd.DataFrame([row | hashes]), path)
        return open_store(tiny_copy)

    return opened


def test_the_gain_of_a_revision_has_its_step(at_step):
    found = trajectory.gains(at_step(step7=7), "gain_last_block")
    assert found["training_step"].tolist() == [7]
    # The last token of S:00 has norms 6 and 3 around the last block, that of S:01 has 1 and 4.
    assert found["gain_mean"].tolist() == [(3 / 6 + 4 / 1) / 2]


def test_revisions_of_equal_weights_are_told_and_not_drawn(at_step):
    store = at_step(step0=0, step7=7)
    shared = store.query("SELECT DISTINCT n_steps FROM gain_trajectory")
    assert shared["n_steps"].tolist() == [2]
    assert trajectory.gains(store).empty


def test_a_step_that_two_revisions_are_named_for_is_one_point(at_step):
    assert trajectory.gains(at_step(main=7, step7=7))["training_step"].tolist() == [7]


def test_a_step_measured_on_two_devices_is_the_point_of_the_processor(at_step, add_run):
    add_run("another", device="cuda", last_norm=2.0)
    found = trajectory.gains(at_step(step7=7), "gain_last_block")
    assert found["gain_mean"].tolist() == [(3 / 6 + 4 / 1) / 2]


def test_a_branch_without_a_step_may_hold_the_weights_of_the_last_one(at_step):
    store = at_step(main=None, step7=7)
    assert trajectory.gains(store)["training_step"].tolist() == [7]


def test_the_chart_names_its_axes_and_its_model(at_step):
    drawn = trajectory.chart(trajectory.gains(at_step(step7=7))).to_dict()
    assert "test/tiny" in drawn["description"]
    titles = [drawn["layer"][1]["encoding"][axis]["title"] for axis in ("x", "y")]
    assert titles == ["training [steps]", "mean gain [ratio]"]
    assert not borrowed(drawn)
    assert {"color", "shape", "size"} <= drawn["layer"][-1]["encoding"].keys()


def test_a_chart_of_several_models_is_refused(at_step):
    found = trajectory.gains(at_step(step7=7))
    with pytest.raises(DesignError, match="must be of one model on one prompt set; found 2"):
        trajectory.chart(pd.concat([found, found.assign(model_id="another")]))
