"""`collect look`: one screen on a model, by the views that a store has."""

from types import SimpleNamespace

import numpy as np
import pytest

from collect.library import look
from collect.library.measuring import measure
from tests.collect.conftest import tiny_model, tiny_tokenizer


def test_a_tiny_model_is_looked_at(save_tiny):
    seen = look.look(str(save_tiny("llama")))
    assert seen.loss == pytest.approx(np.log(257), rel=0.2)  # a random network guesses
    assert not seen.has_start
    assert seen.deviation <= seen.tolerance
    assert set(seen.gains["definition"]) == set(look.DEFINITIONS)
    assert set(seen.gains["n_prompts"]) == {len(look.SENTENCES)}
    text = seen.as_text()
    assert "hardly speaks" in text
    assert len(text.splitlines()) <= 24


def test_the_sign_turns_with_a_massive_first_token():
    frames = measure(
        tiny_model("llama"),
        tiny_tokenizer(),
        [
            {"prompt_id": name.removeprefix("look:"), "text": "The river rises in the hills"}
            for name in ("look:0", look._PARAGRAPH, look._SORTED)
        ],
        prompt_set="look",
        quantities=("stream", "predictions"),
    )
    norms = frames["residual_norm"]
    is_output = norms["site"] == "block_output"
    last = int(norms.loc[is_output, "layer"].max())
    for layer, first, others in ((last - 1, 100.0, 1.0), (last, 10.0, 2.0)):
        rows = is_output & (norms["layer"] == layer)
        norms.loc[rows, "norm"] = np.where(norms.loc[rows, "position"] == 0, first, others)
    seen = look._looked("tiny", "", frames)
    gains = seen.gains.set_index("definition")
    n_others = int((is_output & (norms["layer"] == last)).sum() / 3) - 1
    whole = np.sqrt((10**2 + 4 * n_others) / (100**2 + n_others))
    assert gains.loc["last block, all tokens", "gain"] == pytest.approx(whole, rel=1e-6)
    assert gains.loc["last block, all tokens", "n_below"] == 1
    assert gains.loc["last block, all but the first", "gain"] == pytest.approx(2)
    assert gains.loc["last block, last token", "gain"] == pytest.approx(2)
    assert seen.outliers[["position", "last_block"]].to_numpy().tolist() == [[0, last - 1]]
    assert seen.outliers["times_median"].item() == pytest.approx(100)


def test_a_sign_says_how_many_sentences_are_on_either_side():
    """The geometric mean of eight sentences grows here, though five of them shrink."""
    row = SimpleNamespace(gain=1.2, n_below=5, n_prompts=8)
    assert look._sign(row) == "grows (3 grow, 5 shrink)"
    assert look._sign(SimpleNamespace(gain=0.9, n_below=2, n_prompts=8)).startswith("shrinks (6 ")
