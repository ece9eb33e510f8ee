"""What the page of real models says, on frames whose signs are counted by hand."""

import pandas as pd
import pytest

from analysis.drawing import labs
from analysis.heritage.public import charts, tokens, words
from analysis.tidy import prose
from tests.analysis.drawn import borrowed


def lengths(**last):
    """Return a model per name whose last block has these gains, by the tokens counted."""
    rows = [
        {"model_id": model, "counted": counted, "layer": layer, "length": gain**layer, "gain": gain}
        for model, gains in last.items()
        for counted, gain in zip(tokens.COUNTED, gains, strict=True)
        for layer in (0, 1)
    ]
    return pd.DataFrame(rows)


def gains(values, metric="gain_whole_matrix"):
    """Return one row per (model, prompt set, policy) with its gain."""
    keys = ["model_id", "prompt_set", "special_tokens"]
    return pd.DataFrame([*values], columns=keys).assign(gain=[*values.values()], metric=metric)


def plain(text):
    """Return text with ordinary spaces."""
    return text.replace(prose.NO_BREAK, " ")


def test_models_whose_sign_turns_are_counted_and_one_is_drawn_twice():
    # last token, without the first, all tokens
    table = lengths(a=(1.1, 1.2, 0.5), b=(1.1, 0.9, 0.8), c=(1.1, 1.3, 1.2))
    words_shown = plain(words.turning(table))
    assert "2 of 3 models" in words_shown
    assert words_shown.endswith("of 1.")
    assert words.most_turned(table) == "a"
    assert "×0.50" in words.front(table[table["model_id"] == "a"])
    chart = charts.chart_front(
        lengths(a=(1.1, 1.2, 0.5), b=(1.1, 0.9, 0.8)), width=310, height=150
    ).to_dict()
    (rows,) = (it for it in chart["datasets"].values() if "length" in it[0] and len(it) == 4)
    assert {row["model_id"] for row in rows} == {"a"}
    assert {row["counted"] for row in rows} == {*charts.SMALL}
    assert not borrowed(chart), labs.ORDER


def test_outcomes_known_before_are_counted_apart():
    rows = pd.DataFrame(
        {"prediction": "p", "statement": "It grows.", "source": "paper", "relation": "<"}
        | {"model_id": ["m", "m", None], "prompt_set": ["A_x", "B_x", "C_x"], "bound": 2.5}
        | {"special_tokens": "default", "estimate": [1.0, 2.0, 3.0]}
        | {"is_met": [True, True, False], "seen": [True, False, False]}
    )
    row = words.met_and_missed(rows).map(plain).iloc[0]
    assert (row["seen"], row["unseen"]) == ("1 of 1", "1 of 2")
    assert words.misses(rows)[["model", "set", "asked"]].iloc[0].tolist() == [
        "between models", "C", "< 2.500",
    ]  # fmt: skip


def test_claims_lengths_and_sinks_are_those_of_their_quantities(published_store, tiny_store):
    claims = tokens.counting_claims(published_store)
    # By hand from claim_quantity.csv: traces 12, 13, 36, L* 37 to 42, equation (4) 35,
    # the whole matrix 18, anisotropy 51, sub-layers 61.
    assert claims["claim_id"].tolist() == [12, 13, 18, *range(35, 43), 51, 61]
    table = tokens.lengths(tiny_store, "S").set_index(["counted", "layer"])
    # Gains of the last block of the two prompts: 3/6 and 4.
    assert table.loc[("last_token", 2), "gain"] == pytest.approx(2**0.5)
    assert table.loc[("last_token", 0), "length"] == 1
    sinks = tokens.sinks(tiny_store)
    assert sinks["is_primary"].all()
    assert sinks["layer"].tolist() == [0, 1, 2]
    attention = tiny_store.query("SELECT layer, sink_share FROM attention_profile ORDER BY layer")
    assert sinks["sink_share"].tolist() == pytest.approx(attention["sink_share"].tolist())
