"""One network in four gauges: other gains, the same centred gains, the same logits."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.measured import gauge as questions

PUBLISHED = Path(__file__).parents[4] / "data" / "published"


@pytest.fixture(scope="module")
def store(shipped_store):
    return shipped_store


def test_the_gauges_have_the_shapes_of_their_names_and_one_centred_profile(store):
    layers = questions.profiles(store)
    gains = layers.dropna().pivot_table("log_gain", "layer", "gauge")
    assert (gains["shrinking"] < -0.1).all()
    assert gains["flat"].abs().max() < 1e-9
    assert (gains["growing"] > 0.1).all()
    centred = layers.dropna().pivot_table("log_gain_centred", "layer", "gauge")
    assert np.ptp(centred.to_numpy(), axis=1).max() < 1e-9
    assert layers["largest_logit_change"].max() < 1e-10


def test_free_signs_count_the_norms_of_the_published_models(store):
    figures = pd.read_csv(PUBLISHED / "published_figure.csv")
    metrics = ("gain_last_block", "gain_penultimate_block")
    shown = figures.loc[figures["metric"].isin(metrics), "model_id"]
    models = pd.read_csv(PUBLISHED / "model.csv").set_index("model_id").loc[shown.unique()]
    layer_norm = models[models["norm_kind"] == "LayerNorm"]
    behind = layer_norm[layer_norm["norm_position"] == "post"]
    assert set(layer_norm["norm_position"]) == {"pre", "post"}
    # Its printed gain is of block 22 of 0 to 23, whose output a norm's bias shifts.
    assert list(behind.index) == ["facebook/opt-350m"]
    counted = questions.norm_kinds(store).iloc[0]
    assert counted[["n_free", "n_models", "n_behind"]].tolist() == [len(layer_norm), len(models), 1]
