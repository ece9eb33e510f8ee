"""The interval of a published mean over prompts."""

import pandas as pd
import pytest

from analysis.audit.evidence import published


def test_the_interval_of_a_published_mean_is_that_of_t():
    gains = pd.DataFrame(
        {"gain_mean": [1.2, 0.9], "gain_sd": [0.1, None], "n_prompts": [25, 25]}
    ).astype({"gain_sd": float})
    result = published.with_interval(gains)
    # The 97.5 % point of t with 24 degrees of freedom is 2.0639.
    half = 2.0638985616 * 0.1 / 5
    assert result["conf_low"].iloc[0] == pytest.approx(1.2 - half, rel=1e-9)
    assert result["conf_high"].iloc[0] == pytest.approx(1.2 + half, rel=1e-9)
    assert result[["conf_low", "conf_high"]].iloc[1].isna().all()
