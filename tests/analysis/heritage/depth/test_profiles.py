"""Frames and sentences of the measured profiles, counted by hand from the tiny store."""

import math

import pandas as pd
import pytest

from analysis.heritage.depth import profiles
from analysis.store import conformity, open_store
from collect.record.writer import write_table

#: Entropy of a row [1/4, 3/4], in either order.
QUARTER = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)


def test_the_stream_starts_at_the_input_and_ends_at_the_last_block(tiny_store):
    layers = profiles.stream(tiny_store)
    # The last tokens have norms 2, 4, 6, 3 and 1, 2, 1, 4.
    lengths = [(2, 1), (4, 2), (6, 1), (3, 4)]
    assert layers["layer"].tolist() == [-1, 0, 1, 2]
    assert layers["log_norm"].tolist() == pytest.approx([math.log(a * b) / 2 for a, b in lengths])
    assert math.isnan(layers["log_gain"].iloc[0])
    assert layers["log_gain"].sum() == pytest.approx(math.log(3 * 4 / 2) / 2)
    found = profiles.stream_found(tiny_store)
    assert found["least"] == found["most"] == "2.4"
    assert found["massive_models"] == "0 of 1"


def test_updates_are_those_of_the_sub_layers_over_the_body(tiny_store):
    blocks = profiles.updates(tiny_store)
    attention = blocks[blocks["part"] == "attention"]
    assert attention["log_ratio"].tolist() == pytest.approx([math.log(0.5)] * 3)
    assert attention["cosine"].tolist() == [0.5] * 3
    turned = blocks.assign(cosine=blocks["cosine"].where(blocks["layer"] < 2, -0.1))
    assert profiles.updates_found(turned) == {
        "attention_against": "1 of 2",
        "attention_largest": "0.50",
        "ffn_against": "1 of 2",
        "ffn_largest": "1.00",
    }


def test_attention_over_depth(tiny_store):
    layers = profiles.attention(tiny_store)
    assert layers["relative_entropy"].tolist() == pytest.approx([QUARTER / 2 / math.log(2)] * 3)
    assert layers["sink_share"].tolist() == [0.875] * 3
    falling = layers.assign(relative_entropy=[0.9, 0.2, 0.8])
    found = profiles.attention_found(falling)
    assert found == {"falls": "1 of 1", "least": "88\u00a0%", "most": "88\u00a0%"}


def test_geometry_over_depth(tiny_store):
    layers = profiles.geometry(tiny_store)
    assert layers["anisotropy"].tolist() == [0.0, 0.125, 0.25]
    assert layers["relative_rank"].tolist() == [0.875] * 3
    found = profiles.geometry_found(layers)
    assert found == {"rises": "1 of 1", "least": "0.25", "most": "0.25", "rank_falls": "0 of 1"}


def test_the_circuit_beside_the_value_matrix(tiny_store):
    layers = profiles.circuit(tiny_store)
    assert layers["sigma_max"].tolist() == [7, 14, 21]
    assert layers["value_sigma_max"].tolist() == [8, 16, 24]
    assert profiles.circuit_found(layers) == {
        "least": "3.0",
        "most": "3.0",
        "same_layer": "1 of 1",
    }
    elsewhere = layers.assign(value_sigma_max=[9.0, 1.0, 1.0])
    assert profiles.circuit_found(elsewhere)["same_layer"] == "0 of 1"


def test_profiles_take_one_run_of_a_model_measured_twice(add_run, tiny_store):
    store = open_store(add_run("chat", rendering="chat", last_norm=1000.0))
    for profile in (profiles.stream, profiles.updates, profiles.attention, profiles.geometry):
        pd.testing.assert_frame_equal(profile(store), profile(tiny_store))


def test_conformance_is_printed_in_words_with_the_worst_place(tiny_store):
    rows = conformity.summary(tiny_store)
    assert rows.to_dict("records") == [
        {
            "property": conformity.PROPERTIES["attention_rows"],
            "deviation": "1\u00a0×\u00a010⁻⁷",
            "tolerance": "1\u00a0×\u00a010⁻⁵",
            "met": "1 of 1",
            "worst": "tiny, block 1",
        },
        {
            "property": conformity.PROPERTIES["finite"],
            "deviation": "0",
            "tolerance": "0",
            "met": "1 of 1",
            "worst": "–",
        },
    ]
    assert conformity.outcome(tiny_store) == {
        "runs": "1 run",
        "models": "1 model",
        "unchecked": "0 checks",
        "failed": "none",
    }


def test_a_failed_and_an_unchecked_property_are_said(tiny_copy):
    path = tiny_copy / "conformance" / "test--tiny@S.parquet"
    findings = pd.read_parquet(path).set_index("property").astype({"is_met": object})
    findings.loc["attention_rows", ["deviation", "is_met", "reason"]] = [0.5, False, "no mask"]
    findings.loc["finite", ["deviation", "is_met", "reason"]] = [None, None, "not run"]
    write_table("conformance", findings.reset_index(), path)
    store = open_store(tiny_copy)
    rows = conformity.summary(store)
    assert rows["met"].tolist() == ["0 of 1", "0 of 1"]
    assert rows["deviation"].tolist() == ["0.5", "–"]
    assert conformity.outcome(store)["failed"] == "test/tiny"
    assert conformity.outcome(store)["unchecked"] == "1 check"


def test_every_property_of_the_contract_has_words():
    from collect import schema

    check = next(c for c in schema.tables()["conformance"].checks if "property" in c)
    assert all(f"'{name}'" in check for name in conformity.PROPERTIES)
    assert check.count("'") == 2 * len(conformity.PROPERTIES)


def test_what_could_not_be_measured_is_listed_with_its_reason(tiny_store):
    assert conformity.not_measured(tiny_store).to_dict("records") == [
        {
            "quantity": "residual_norm: site block_mid",
            "reason": "attention and feed-forward read the same stream",
            "models": "1 model (gpt2)",
        }
    ]


def test_the_raw_rows_are_counted_by_table(tiny_store):
    counts = conformity.raw_rows(tiny_store).set_index("table")["n_rows"]
    assert counts["residual_norm"] == "18"
    assert "model" not in counts.index
    assert "legacy_value" not in counts.index
