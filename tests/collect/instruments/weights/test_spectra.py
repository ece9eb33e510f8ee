"""The weights pass: every number against the decomposition of the model's own weights."""

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from collect.instruments.weights import spectra
from collect.model.checkpoint.load import load_model, load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.description import missing
from tests.collect.conftest import edit_weights
from tests.collect.families import OF_EACH_CUT, save_family


def measured(directory):
    result = spectra.rows(locate(str(directory)))
    return {table: pd.DataFrame(rows) for table, rows in result.items()}


def numbers(frame, layer, matrix, *, is_folded=False, slicing="correct", column="sigma_max"):
    """Return one column of one matrix of a layer, by head."""
    rows = frame[
        (frame["layer"] == layer)
        & (frame["matrix"] == matrix)
        & (frame["is_folded"] == is_folded)
        & (frame["slicing"] == slicing)
    ].sort_values("head")
    return rows[column].to_numpy()


def variants(decoder, layer):
    """Yield every matrix of a layer by query head, formed in full, from the loaded model."""
    weights = decoder.head_weights(layer)
    shared = [decoder.heads.kv_head(head) for head in range(decoder.heads.n_heads)]
    output = weights.output.double()
    yield "O", False, output
    for is_folded in (False, True):
        if is_folded and weights.gain is None:
            continue
        gain = weights.gain.double() if is_folded and weights.gain is not None else torch.ones(1)
        value = weights.value.double()[shared] * gain
        yield "Q", is_folded, weights.query.double() * gain
        yield "K", is_folded, weights.key.double()[shared] * gain
        yield "V", is_folded, value
        yield "OV", is_folded, output @ value


@pytest.mark.parametrize("name", OF_EACH_CUT)
@torch.no_grad()
def test_norms_of_heads_are_those_of_the_model_s_own_weights(name, tmp_path):
    frame = measured(save_family(name, tmp_path))["weight_norm"]
    decoder = load_model(locate(str(tmp_path)))
    layer = len(decoder.blocks) - 1
    n_rows = 0
    for matrix, is_folded, whole in variants(decoder, layer):
        result = numbers(frame, layer, matrix, is_folded=is_folded)
        assert result == pytest.approx(torch.linalg.svdvals(whole)[:, 0].numpy(), rel=1e-7)
        result = numbers(frame, layer, matrix, is_folded=is_folded, column="frobenius")
        assert result == pytest.approx(torch.linalg.matrix_norm(whole).numpy(), rel=1e-7)
        n_rows += len(whole)
    n_misread = len(numbers(frame, layer, "V", slicing="contiguous"))
    assert (frame["layer"] == layer).sum() == n_rows + n_misread


@pytest.mark.parametrize("name", ["gpt2", "llama_shared", "falcon_40b", "phi3", "codegen"])
@torch.no_grad()
def test_norms_of_whole_matrices_are_those_of_all_heads_together(name, tmp_path):
    frame = measured(save_family(name, tmp_path))["matrix_norm"].set_index(
        ["layer", "matrix", "slicing"]
    )
    decoder = load_model(locate(str(tmp_path)))
    for layer in range(len(decoder.blocks)):
        weights = decoder.head_weights(layer)
        whole = {
            "Q": torch.cat(list(weights.query)),
            "K": torch.cat(list(weights.key)),
            "V": torch.cat(list(weights.value)),
            "O": torch.cat(list(weights.output), dim=1),
        }
        for matrix, entries in whole.items():
            values = torch.linalg.svdvals(entries.double())
            row = frame.loc[(layer, matrix, "correct")]
            assert row["sigma_max"] == pytest.approx(float(values[0]), rel=1e-7)
            assert row["frobenius"] == pytest.approx(float(values.norm()), rel=1e-7)


def test_the_last_third_of_a_gpt_neox_is_the_rows_counted_by_hand(tmp_path):
    """Eight heads of width 8: rows 128 to 191 of the fused matrix, which are not V.

    The file keeps q, k, v of head 0, then of head 1, ...: V of head h is rows 24 h + 16 to
    24 h + 23. Row 128 is 24 x 5 + 8, the first row of K of head 5.
    """
    frames = measured(save_family("gpt_neox", tmp_path))
    fused = load_file(tmp_path / "model.safetensors")
    rows = fused["gpt_neox.layers.1.attention.query_key_value.weight"].double()
    frame = frames["weight_norm"]
    misread = torch.linalg.svdvals(rows[128:192].view(8, 8, 64))[:, 0]
    correct = torch.linalg.svdvals(torch.stack([rows[24 * h + 16 : 24 * h + 24] for h in range(8)]))
    key_5 = torch.linalg.svdvals(rows[128:136])[0]
    assert numbers(frame, 1, "V", slicing="contiguous") == pytest.approx(misread.numpy(), rel=1e-7)
    assert numbers(frame, 1, "V") == pytest.approx(correct[:, 0].numpy(), rel=1e-7)
    assert numbers(frame, 1, "V", slicing="contiguous")[0] == pytest.approx(float(key_5), rel=1e-7)
    assert numbers(frame, 1, "K")[5] == pytest.approx(float(key_5), rel=1e-7)
    whole = frames["matrix_norm"].set_index(["layer", "matrix", "slicing"])["sigma_max"]
    assert whole[1, "V", "contiguous"] == pytest.approx(
        float(torch.linalg.svdvals(rows[128:192])[0]), rel=1e-7
    )


VALUE, OUTPUT = (f"model.layers.1.self_attn.{each}_proj.weight" for each in "vo")
GAIN = "model.layers.1.input_layernorm.weight"


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        (
            {VALUE: 10, OUTPUT: 0.1},
            {("V", False): 10, ("O", False): 0.1, ("OV", False): 1, ("Q", False): 1},
        ),
        (
            {GAIN: 3, VALUE: 1 / 3},
            {("V", False): 1 / 3, ("OV", False): 1 / 3, ("V", True): 1, ("OV", True): 1},
        ),
    ],
)
def test_a_change_of_scale_changes_what_it_should_and_not_ov(factors, expected, tmp_path):
    before = measured(save_family("llama", tmp_path))["weight_norm"]
    edit_weights(tmp_path, lambda it: it | {name: it[name] * by for name, by in factors.items()})
    after = measured(tmp_path)["weight_norm"]
    for (matrix, is_folded), factor in expected.items():
        result, plain = (numbers(of, 1, matrix, is_folded=is_folded) for of in (after, before))
        assert result == pytest.approx(factor * plain, rel=1e-6)


def test_without_a_norm_before_attention_nothing_is_folded_and_the_reason_is_told(tmp_path):
    frame = measured(save_family("olmo2", tmp_path))["weight_norm"]
    assert not frame["is_folded"].any()
    result = missing(load_skeleton(locate(str(tmp_path))))
    assert [gap.reason for gap in result if gap.table == "weight_norm"] == [
        "Attention reads the stream without a norm before it, so there is no gain."
    ]
