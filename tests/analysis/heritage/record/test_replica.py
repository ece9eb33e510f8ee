"""The paper's figures are redrawn from the numbers they were made of."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.audit import evidence
from analysis.heritage.pages import frames
from analysis.heritage.record import replica_charts
from analysis.heritage.record import replica_figures as replica
from tests.analysis.drawn import borrowed, lines_with_points

ROOT = Path(__file__).parents[4]
PROFILES = pd.read_csv(ROOT / "data/published/published_profile.csv")


def test_as_drawn_figure_1_holds_the_gains_of_the_sweep(shipped_store):
    drawn = replica.gains_by_depth(shipped_store).query("panel == @replica.AS_DRAWN")
    gains = dict(zip(drawn["model"], drawn["gain_mean"].round(4), strict=True))
    assert gains["pythia-2.8b"] == 0.9274
    assert gains["pythia-1b"] == 1.2163


def test_the_primary_gain_leaves_out_the_first_block(shipped_store):
    rows = PROFILES[
        (PROFILES["file"] == evidence.PYTHIA)
        & (PROFILES["metric"] == "gain_block")
        & (PROFILES["model_id"] == "EleutherAI/pythia-70m")
    ].sort_values("layer")
    by_hand = np.exp(np.log(rows["value"].iloc[1:]).mean())
    primary = replica.gains_by_depth(shipped_store).query("panel == @replica.PRIMARY")
    result = primary.set_index("model").loc["pythia-70m", "gain_mean"]
    assert result == pytest.approx(by_hand, rel=1e-12)
    assert result < np.exp(np.log(rows["value"]).mean())


def test_figure_2_has_the_standard_error_of_the_models(shipped_store):
    labs = replica.gains_by_lab(shipped_store).query("panel == @replica.AS_DRAWN").set_index("lab")
    gains = shipped_store.query(
        """
        SELECT gain_mean FROM gain_by_model
         WHERE file = $file AND metric = 'gain_penultimate_block' AND lab = 'BigScience'
        """,
        file=evidence.HUNT,
    )["gain_mean"]
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    assert labs.loc["BigScience", "n_models"] == len(gains)
    assert labs.loc["BigScience", "gain_high"] - labs.loc["BigScience", "gain_mean"] == (
        pytest.approx(error)
    )
    assert np.isnan(labs.loc["TII", "gain_high"])


def test_charts_describe_themselves_and_compared_panels_share_the_axis_of_the_gain(shipped_store):
    drawn = shipped_store
    by_depth = replica.gains_by_depth(drawn), frames.bound_curve(drawn)
    by_lab = replica.gains_by_lab(drawn), replica.printed_gains_by_lab(drawn)
    specs = {
        "y": replica_charts.chart_gain_by_depth(*by_depth).to_dict(),
        "x": replica_charts.chart_gain_by_lab(*by_lab).to_dict(),
        "": replica_charts.chart_spectral(replica.spectral_norms(drawn)).to_dict(),
    }
    for axis, spec in specs.items():
        assert not lines_with_points(spec)
        assert len(spec["description"].split()) > 8
        assert not borrowed(spec)
        if axis:
            assert spec["resolve"]["scale"][axis] == "shared"
            titles = [panel["title"]["text"] for panel in spec["vconcat"]]
            assert titles == list(replica.PANELS)
