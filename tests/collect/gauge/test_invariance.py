"""The table of quantities by transformation holds: what it calls invariant does not move."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from collect.gauge import group
from collect.gauge.measured import measured
from collect.gauge.precision import Float64
from collect.gauge.quantity import QUERIES, change, values
from collect.record.publication.database import views_sql
from collect.schema import assemble, connect
from tests.collect.gauge.networks import widened
from tests.collect.shown import LONG, SHORT, loaded_family

PUBLISHED = Path(__file__).parents[3] / "data" / "published"

#: A relative change below this is rounding of float64.
ROUNDING = 1e-9

#: A family of every kind of layout: learned positions tied, ReLU, rotary parallel, post-norm,
#: norm on the embedding with ALiBi, norm added to, no gain with clip, norms between queries and
#: keys; then RMSNorm: shared heads with biases, sandwich tied, norm on output, norms between
#: queries and keys behind a norm.
LAYOUTS = ("gpt2", "opt", "gpt_neox", "opt_post_norm", "bloom_adds_to_norm", "olmo")
LAYOUTS += ("stablelm_parallel", "llama_shared", "gemma2", "olmo2", "qwen3")


@cache
def changes(name):
    """Return how far each transformation moves each quantity of a family's tiny model."""
    of = widened(loaded_family(name))
    networks = {"before": of}
    for seed, member in enumerate(group.chosen(of, ())):
        networks[member] = replace(of, model=deepcopy(of.model))
        group.transform(networks[member], (member,), np.random.default_rng(seed))
    result = values(measured(networks, (LONG, SHORT)))
    rows = [
        (name, of.adapter.norm_kind, member, quantity, change(before, result[member][quantity]))
        for member in networks
        if member != "before"
        for quantity, before in result["before"].items()
    ]
    columns = ["family", "norm_kind", "transformation", "quantity", "change"]
    return pd.DataFrame(rows, columns=columns)


@cache
def registered():
    """Return view ``gauge_invariance``."""
    connection = connect()
    assemble(connection, (PUBLISHED,), copy=True)
    connection.execute(views_sql())
    return connection.sql("FROM gauge_invariance").df()


def faults(result, table):
    """Return a sentence for every quantity that a table calls invariant and that moves."""
    both = result.merge(table, on=["quantity", "transformation", "norm_kind"], validate="m:1")
    wrong = both[both["is_invariant"] & (both["change"] > ROUNDING)]
    return [
        f"{row.quantity} moves by {row.change:.1e} under {row.transformation} ({row.family})"
        for row in wrong.itertuples()
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [([-4.0, 1.0], [-2.0, 1.0], 0.5), ([1.0, 1.0], [1.0, -3.0], 4 / 3), ([0.0], [0.0], 0.0)],
)
def test_a_change_is_over_the_largest_value_in_size(before, after, expected):
    assert change(np.array(before), np.array(after)) == pytest.approx(expected)


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_called_invariant_does_not_move(name):
    assert faults(changes(name), registered()) == []


def test_what_is_called_moved_moves_in_some_layout():
    result = pd.concat([changes(name) for name in LAYOUTS])
    largest = result.groupby(["quantity", "transformation", "norm_kind"])["change"].max()
    table = registered().set_index(["quantity", "transformation", "norm_kind"])["is_invariant"]
    both = pd.concat([largest, table], axis=1, join="inner")
    still = both[~both["is_invariant"] & (both["change"] < 1e-6)]
    assert list(still.index) == []


def test_every_quantity_and_every_transformation_is_in_the_table():
    table = registered()
    assert set(table["quantity"]) == set(QUERIES), "a row for each in gauge_quantity.csv"
    # A quantity without a value would be moved by nothing.
    assert set(changes("gpt2")["quantity"]) == set(QUERIES)
    assert set(table["transformation"]) == set(group.TRANSFORMATIONS)
    partners = set(table["partner"]) - {""}
    assert partners <= set(QUERIES)
    assert table["proof"].str.len().min() > 20


def test_a_partner_is_moved_by_a_common_factor_at_most():
    table = registered()
    moved = table[~table["is_invariant"]].groupby(["quantity", "norm_kind"])["transformation"]
    by = moved.agg(set).to_dict()
    for row in table[table["partner"] != ""].itertuples():
        assert by.get((row.partner, row.norm_kind), set()) <= {"stream_scale"}, row


#: Deliberately wrong: the raw gain, the norm of W_V, W_O W_V with its gain folded, anisotropy.
WRONG = {
    "token_mean_cosine": ("mean_shift", "LayerNorm", "gpt_neox"),
    "gain_last_block": ("mean_shift", "LayerNorm", "gpt_neox"),
    "v_spectral": ("value_basis", "RMSNorm", "llama_shared"),
    "ov_spectral_folded": ("reader_shift", "LayerNorm", "gpt2"),
}


@pytest.mark.parametrize(("quantity", "place"), WRONG.items())
def test_a_wrong_invariant_is_caught(quantity, place):
    member, norm_kind, family = place
    table = registered().copy()
    row = (
        (table["quantity"] == quantity)
        & (table["transformation"] == member)
        & (table["norm_kind"] == norm_kind)
    )
    assert row.sum() == 1
    assert not table.loc[row, "is_invariant"].any()
    table.loc[row, "is_invariant"] = True
    (result,) = faults(changes(family), table)
    assert result.startswith(f"{quantity} moves")
    assert member in result


WRITERS = ("attention.dense", "mlp.dense_4h_to_h")


def test_the_gradient_of_what_writes_to_a_layer_norm_stream_has_no_mean_over_features():
    of = widened(loaded_family("gpt_neox"))
    of.model.requires_grad_(True)
    tokens = torch.arange(12)[None]
    with Float64():
        of.model(tokens, labels=tokens).loss.backward()
    written = {
        name: parameter.grad
        for name, parameter in of.model.named_parameters()
        if any(writer in name for writer in WRITERS)
    }
    assert len(written) == 2 * len(WRITERS) * len(of.blocks)
    for name, gradient in written.items():
        assert gradient.abs().max() > 0, name
        assert gradient.mean(0).abs().max() < 1e-12 * gradient.abs().max(), name
