"""`collect look`: gains by definition and outlier tokens, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from collect.library import look


def stream(*prompts):
    """Return a stream: per prompt a row of norms over depth for each token."""
    return pd.DataFrame(
        {
            "prompt_id": f"look:{number}",
            "position": position,
            "layer": depth - 1,
            "norm": norm,
            "norm_centred": norm / 2,
            "top_feature": position,
        }
        for number, tokens in enumerate(prompts)
        for position, norms in enumerate(tokens)
        for depth, norm in enumerate(norms)
    )


def test_the_sign_turns_with_the_tokens_that_are_counted():
    # The first token falls from 100 to 10 in the last block, the two others double.
    rows = look.gains(stream([[1, 100, 10], [1, 2, 4], [1, 1, 2]])).set_index("definition")
    assert rows.loc["last block, last token", "gain"] == pytest.approx(2)
    assert rows.loc["last block, all but the first", "gain"] == pytest.approx(2)
    whole = np.sqrt(120 / (100**2 + 5))
    assert rows.loc["last block, all tokens", "gain"] == pytest.approx(whole)
    assert rows.loc["last block, all tokens", "n_below"] == 1
    assert rows.loc["penultimate block, last token", "gain"] == pytest.approx(1)
    assert rows.loc["mean over blocks after 0, last token", "gain"] == pytest.approx(2)
    assert rows.loc["last block, last token, mean taken out", "gain"] == pytest.approx(2)


def test_gains_are_geometric_means_over_prompts():
    rows = look.gains(stream([[1, 1, 1], [1, 1, 4]], [[1, 1, 1], [1, 1, 0.25]])).set_index(
        "definition"
    )
    assert rows.loc["last block, last token", "gain"] == pytest.approx(1)
    assert rows.loc["last block, last token", "n_below"] == 1


def test_a_network_of_one_block_has_no_block_before_the_last():
    rows = look.gains(stream([[1, 3], [1, 2]]))
    assert "last block, last token" in set(rows["definition"])
    assert "penultimate block, last token" not in set(rows["definition"])
    assert "mean over blocks after 0, last token" not in set(rows["definition"])


def test_outliers_have_their_blocks_and_feature():
    found = look.outliers(
        stream([[1, 30, 1], [1, 1, 1], [1, 1, 1]], [[1, 50, 20], [1, 1, 1], [1, 1, 1]])
    )
    row = found.iloc[0]
    assert len(found) == 1
    assert (row["position"], row["n_prompts"], row["times_median"]) == (0, 2, 50)
    assert (row["first_block"], row["last_block"], row["top_feature"]) == (0, 1, 0)


def test_a_tiny_model_is_looked_at(save_tiny):
    seen = look.look(str(save_tiny("llama")))
    assert seen.loss == pytest.approx(np.log(257), rel=0.2)  # a random network guesses
    assert not seen.has_start
    assert seen.deviation <= seen.tolerance
    assert set(seen.gains["n_prompts"]) == {len(look.SENTENCES)}
    text = seen.as_text()
    assert "hardly speaks" in text
    assert len(text.splitlines()) <= 24
