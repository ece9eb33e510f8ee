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


@pytest.fixture(scope="module")
def shipped(shipped_store):
    return shipped_store


def test_as_drawn_figure_1_holds_the_gains_of_the_sweep(shipped):
    drawn = replica.gains_by_depth(shipped).query("panel == @replica.AS_DRAWN")
    gains = dict(zip(drawn["model"], drawn["gain_mean"].round(4), strict=True))
    assert gains["pythia-2.8b"] == 0.9274
    assert gains["pythia-1b"] == 1.2163


def test_the_primary_gain_leaves_out_the_first_block(shipped):
    rows = PROFILES[
        (PROFILES["file"] == evidence.PYTHIA)
        & (PROFILES["metric"] == "gain_block")
        & (PROFILES["model_id"] == "EleutherAI/pythia-70m")
    ].sort_values("layer")
    by_hand = np.exp(np.log(rows["value"].iloc[1:]).mean())
    primary = replica.gains_by_depth(shipped).query("panel == @replica.PRIMARY")
    result = primary.set_index("model").loc["pythia-70m", "gain_mean"]
    assert result == pytest.approx(by_hand, rel=1e-12)
    assert result < np.exp(np.log(rows["value"]).mean())


def test_figure_2_has_the_standard_error_of_the_models(shipped):
    labs = replica.gains_by_lab(shipped).query("panel == @replica.AS_DRAWN").set_index("lab")
    gains = shipped.query(
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


def test_every_chart_describes_itself(shipped):
    charts = [
        replica_charts.chart_gain_by_depth(
            replica.gains_by_depth(shipped), frames.bound_curve(shipped)
        ),
        replica_charts.chart_gain_by_lab(
            replica.gains_by_lab(shipped), replica.printed_gains_by_lab(shipped)
        ),
        replica_charts.chart_spectral(replica.spectral_norms(shipped)),
    ]
    for chart in charts:
        spec = chart.to_dict()
        assert not lines_with_points(spec)
        assert len(spec["description"].split()) > 8
        assert not borrowed(spec)


@pytest.mark.parametrize(
    ("draw", "axis"),
    [
        (
            lambda store: replica_charts.chart_gain_by_depth(
                replica.gains_by_depth(store), frames.bound_curve(store)
            ),
            "y",
        ),
        (
            lambda store: replica_charts.chart_gain_by_lab(
                replica.gains_by_lab(store), replica.printed_gains_by_lab(store)
            ),
            "x",
        ),
    ],
)
def test_panels_that_are_compared_share_the_axis_of_the_gain(shipped, draw, axis):
    spec = draw(shipped).to_dict()
    assert spec["resolve"]["scale"][axis] == "shared"
    titles = [panel["title"]["text"] for panel in spec["vconcat"]]
    assert titles == list(replica.PANELS)
