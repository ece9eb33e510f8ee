"""Gains without the mean over features, against lengths that are chosen to part the two signs."""

import math

import pandas as pd
import pytest

from analysis.store import open_store
from collect.record.writer import write_table


@pytest.fixture
def mirrored(tiny_copy):
    """Return the tiny model as one with LayerNorm whose centred gains are 1 over the raw ones."""
    norms = pd.read_parquet(path := tiny_copy / "residual_norm" / "test--tiny@S.parquet")
    write_table("residual_norm", norms.assign(norm_centred=0.25 / norms["norm"]), path)
    model = pd.read_parquet(path := tiny_copy / "model" / "test--tiny.parquet")
    write_table("model", model.assign(norm_kind="LayerNorm", norm_position="pre"), path)
    return open_store(tiny_copy)


def test_under_layer_norm_the_sign_is_that_of_the_centred_gain(mirrored):
    row = mirrored.query("FROM primary_sign WHERE metric = 'gain_last_block'").iloc[0]
    # The raw gains of the last block are 1/2 and 4, so the centred ones are 2 and 1/4.
    signs = row[["sign_published", "sign_centred", "sign_primary"]].tolist()
    assert signs == ["expand", "dampen", "dampen"]
    gains = row[["gain_published", "gain_centred", "gain_primary"]].tolist()
    assert gains == pytest.approx([math.sqrt(2), math.sqrt(1 / 2), math.sqrt(1 / 2)])
    assert row["gain_mean_primary"] == pytest.approx((2 + 1 / 4) / 2)
    assert row["gain_sd_primary"] == pytest.approx((2 - 1 / 4) / math.sqrt(2))
