"""Public models: what was predicted of them, one more rounding error, and words on them."""

import pandas as pd
import pytest

from analysis.delia2026.public import predictions, rounding, tokens, words
from analysis.store import open_store
from analysis.tidy import prose
from analysis.tidy.columns import texts
from tests.analysis.delia2026 import outcomes
from tests.analysis.places import ROOT

KEYS = ["prediction", "metric", "model_id", "prompt_set", "special_tokens"]


def test_the_tiny_model_meets_what_its_norms_say(tiny_store):
    rows = predictions.outcomes(tiny_store).set_index("prediction")
    # Last token: gains 3/6 and 4 of the last block, geometric mean sqrt 2; three blocks.
    last = rows.loc["bound_last_block"]
    assert last["estimate"] == pytest.approx(2**0.5)
    assert last["bound"] == pytest.approx(10 ** (1 / 3))
    assert last["is_met"]
    assert rows.loc["last_block_expands", "is_met"]
    # Two query heads over heads of width d_head: L (0.11 + 0.012 L + 4.9 / H) is beyond block 2.
    inside = rows.loc["l_star_inside"]
    assert inside["estimate"] == pytest.approx(3 * (0.11 + 0.012 * 3 + 4.9 / 2))
    assert (inside["bound"], inside["is_met"]) == (2, False)
    seen = rows["seen"]
    assert seen["last_block_expands"]  # its prompt set is S, not A
    assert seen["l_star_inside"]
    assert not seen["bound_mean_block"]


def test_rows_are_unique_and_what_was_known_is_marked(shipped_store, monkeypatch):
    rows = predictions.outcomes(shipped_store)
    assert not rows.duplicated(KEYS).any()
    known = rows.groupby("prediction")["seen"].all()
    assert known["last_block_expands"]
    assert not rows.loc[rows["prompt_set"] != "A_grand_unified", "seen"].any()
    assert not rows.loc[rows["prediction"] == "trace_over_depth", "seen"].any()
    assert outcomes.are_judged(rows)
    labs = dict(zip(predictions.ORDER, (1.2, 0.9, 1.0), strict=True))
    table = pd.DataFrame({"lab": labs.keys(), "estimate": labs.values()})
    table = table.assign(metric="gain_body", prompt_set="B")
    monkeypatch.setattr(predictions, "gains", lambda *_: table)
    row = predictions._order(None).iloc[0]
    assert (row["estimate"], row["bound"]) == (2, 3)


PUBLIC = ROOT / "data" / "public"


def test_the_body_is_safe_and_the_first_token_is_not():
    table = rounding.read(PUBLIC)
    rows = table.set_index(["model_id", "quantity"])
    assert (table["n_seeds"] == 3).all()
    for model_id in table["model_id"].unique():
        body = rows.loc[(model_id, "gain_body")]
        assert abs(body["mean"] - body["estimate"]) < 0.002
        assert rows.loc[(model_id, "share_pairs_turned"), "maximum"] < 0.05
    small = "local/SmolLM2-135M-Instruct.Q4_1"
    # As an independent script found it: `gain_body` 1.1066, all tokens .652.
    assert rows.loc[(small, "gain_body"), "estimate"] == pytest.approx(1.1066, abs=1e-4)
    assert rows.loc[(small, "gain_whole_matrix"), "estimate"] == pytest.approx(0.652, abs=5e-4)
    assert rows.loc[(small, "gain_whole_matrix"), "std_dev"] > 0.03
    said = rounding.said(table)
    # The mean over seeds less the gain of the file, over the last block and all tokens of SmolLM2.
    assert said.startswith("One more rounding error moves the mean gain over blocks by")
    assert prose.number(0.813896 - 0.651747, 4) in said
    assert "over all tokens in SmolLM2-135M" in said
    printed = rounding.rows(table)
    assert list(printed["quantity"]) == list(rounding.QUANTITIES.values())
    assert printed.shape[1] == 1 + table["model_id"].nunique()
    assert printed.notna().all(axis=None)


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


def test_models_whose_sign_turns_are_counted():
    # last token, without the first, all tokens
    table = lengths(a=(1.1, 1.2, 0.5), b=(1.1, 0.9, 0.8), c=(1.1, 1.3, 1.2))
    words_shown = plain(words.turning(table))
    assert "2 of 3 models" in words_shown
    assert "1 of 3." in words_shown


def test_outcomes_known_before_are_counted_apart():
    rows = pd.DataFrame(
        {"prediction": "p", "statement": "It grows.", "source": "paper", "relation": "<"}
        | {"model_id": ["m", "m", None], "prompt_set": ["A_x", "B_x", "C_x"], "bound": 2.5}
        | {"special_tokens": "default", "estimate": [1.0, 2.0, 3.0]}
        | {"is_met": [True, True, False], "seen": [True, False, False]}
    )
    row = words.met_and_missed(rows).map(plain).iloc[0]
    assert (row["seen"], row["unseen"]) == ("1 of 1", "1 of 2")
    missed = texts(rows[~rows["is_met"]], words.MISSES).iloc[0]
    assert missed[["model", "set"]].tolist() == ["between models", "C"]
    assert plain(missed["asked"]) == "< 2.500"
    at_most = texts(rows.assign(relation="<="), words.MISSES).iloc[0]
    assert plain(at_most["asked"]) == "≤ 2.500"


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


def test_what_a_page_says_of_spikes_and_templates_is_counted():
    long = {"a": [1, 8, 2, 1], "b": [1, 4, 8, 2]}  # most of the fall of a precedes the last block
    rest = {"a": [1, 2, 3, 4], "b": [1, 2, 4, 3]}
    lengths = pd.DataFrame(
        [
            {"model_id": model, "counted": counted, "layer": layer, "length": float(length)}
            for counted, models in (("whole_matrix", long), ("without_first", rest))
            for model in ("b", "a")
            for layer, length in enumerate(models[model])
        ]
    )
    assert words.earlier(lengths) == "1 of 2 models (a)"
    assert words.longest_at_end(lengths) == "1 of 2"
    sinks = pd.DataFrame({"model_id": ["a", "a", "b"], "spike": [1.0, 11.0, 10.0]})
    assert words.spiked(sinks) == "1 of 2"
    gains = pd.DataFrame(
        {"plain": [0.9, 1.1, 0.9], "chat": [1.1, 1.2, 1.1]},
        index=["gain_last_block", "gain_body", "gain_of_another_kind"],
    )
    assert words.flips(gains) == "1 of 2"


def test_the_largest_deviation_of_the_hooks_is_that_in_the_files():
    rows = pd.read_parquet(PUBLIC / "conformance").set_index("property")["deviation"]
    counted = ["finite", "tensors_used", "library_code"]  # yes or no, and no deviation
    assert tokens.largest_deviation(open_store(PUBLIC)) == rows.drop(counted).max() > 0
