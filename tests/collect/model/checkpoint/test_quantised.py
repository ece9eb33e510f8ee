"""Quantised releases: what the refusal says can be done is done, and its numbers are right."""

import shutil

import pandas as pd
import pytest
import torch
import transformers
from safetensors.torch import load_file

import collect
from collect.adapters import ADAPTERS
from collect.adapters.answers import answer
from collect.adapters.quantised import RELEASED
from collect.errors import UnsupportedModelError
from tests.collect.conftest import edit_config, edit_weights
from tests.collect.families import tiny_form
from tests.collect.partial_families import tiny_partial

#: Numbers of four bits, E2M1, by their code (OCP Microscaling Formats, table 5).
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def rewritten(source, target, tensors, quantised):
    shutil.copytree(source, target)
    return edit_config(edit_weights(target, lambda _: tensors), quantization_config=quantised)


def in_fp8(tmp_path):
    plain = tmp_path / "plain"
    tiny_partial("deepseek_v3").bfloat16().save_pretrained(plain)
    packed, right = {}, {}
    for name, weight in load_file(plain / "model.safetensors").items():
        packed[name] = weight
        if "proj" in name and name.endswith("weight"):
            scale = weight.float().abs().max() / 448
            packed[name] = (weight.float() / scale).to(torch.float8_e4m3fn)
            packed[f"{name}_scale_inv"] = scale.reshape(1, 1)
            right[name] = packed[name].float() * scale
    method = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
    method["activation_scheme"] = "dynamic"
    return rewritten(plain, tmp_path / "packed", packed, method), right


def in_mxfp4(tmp_path):
    torch.manual_seed(0)
    plain = tmp_path / "plain"
    tiny_form("gpt_oss", intermediate_size=32).bfloat16().save_pretrained(plain)
    packed, right = {}, {}
    for name, weight in load_file(plain / "model.safetensors").items():
        if not name.endswith(("gate_up_proj", "down_proj")):
            packed[name] = weight
            continue
        n_experts, n_in, n_out = weight.shape
        pairs = torch.randint(0, 256, (n_experts, n_out, n_in // 32, 16), dtype=torch.uint8)
        powers = torch.randint(120, 126, (n_experts, n_out, n_in // 32), dtype=torch.uint8)
        packed |= {f"{name}_blocks": pairs, f"{name}_scales": powers}
        low, high = E2M1[(pairs & 15).long()], E2M1[(pairs >> 4).long()]
        numbers = (
            torch.stack([low, high], -1).flatten(-2) * 2.0 ** (powers.float() - 127)[..., None]
        )
        right[name] = numbers.flatten(-2).transpose(1, 2)
    return rewritten(plain, tmp_path / "packed", packed, {"quant_method": "mxfp4"}), right


@pytest.mark.parametrize("packed_in", [in_fp8, in_mxfp4])
def test_a_quantised_release_is_measured_after_what_its_refusal_says(tmp_path, packed_in):
    packed, right = packed_in(tmp_path)
    with pytest.raises(UnsupportedModelError) as refused:
        collect.run(packed, [], tmp_path / "out", quantities="weights")
    (by,) = [n for n in ("FineGrainedFP8Config", "Mxfp4Config") if n in refused.value.hint]
    model = transformers.AutoModelForCausalLM.from_pretrained(
        packed, dtype="bfloat16", quantization_config=getattr(transformers, by)(dequantize=True)
    )
    plain = tmp_path / "dequantised"
    assert "save_original_format=False" in refused.value.hint
    model.save_pretrained(plain, save_original_format=False)
    in_memory = collect.measure(model.float(), None, [[5, 6, 7]], quantities=["stream"])
    stored = load_file(plain / "model.safetensors")
    shared = [name for name in right if name in stored]
    assert len(shared) >= 4
    for name in shared:
        torch.testing.assert_close(stored[name].float(), right[name], rtol=2**-8, atol=0)
    (tmp_path / "p.jsonl").write_text('{"token_ids": [5, 6, 7]}')
    done = collect.run(plain, tmp_path / "p.jsonl", tmp_path / "out", quantities="stream")
    assert [unit.state for unit in done.units] == ["measured"]
    (file,) = (tmp_path / "out" / "residual_norm").iterdir()
    order = ["layer", "site", "position"]
    rows = (pd.read_parquet(file), in_memory["residual_norm"])
    of_file, of_model = (each.sort_values(order)["norm"].to_numpy() for each in rows)
    assert of_file == pytest.approx(of_model, rel=1e-5)


@pytest.mark.parametrize("model_type", RELEASED)
def test_types_that_are_released_quantised_say_so(model_type):
    assert model_type in ADAPTERS
    assert RELEASED[model_type] in answer(model_type).reason
