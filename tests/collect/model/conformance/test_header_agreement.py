"""A model that does not compute by the header of its file is noticed, whoever built it."""

import pytest
import torch

from collect.errors import ConformanceError
from collect.library.verification import verify
from collect.model.checkpoint import location
from collect.model.checkpoint.load import load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.conformance.header_agreement import contradictions
from tests.collect.gguf_files import tiny, write
from tests.collect.model.checkpoint.gguf.test_keys import CARRIED


def written(name, what, path):
    (changes,) = (it for of, case, it in CARRIED if (of, case) == (name, what))
    return write(name, tiny(name, **changes), path, number_format="F32")


@pytest.mark.parametrize(("name", "what", "changes"), CARRIED, ids=lambda it: str(it)[:40])
def test_what_is_built_agrees_with_the_header(name, what, changes, tmp_path):
    path = write(name, tiny(name, **changes), tmp_path / "tiny.gguf", number_format="F32")
    checkpoint = locate(str(path))
    assert contradictions(load_skeleton(checkpoint).model, checkpoint.gguf) == []


PLAIN = {"rope_type": "default", "rope_theta": 100.0}
MISREAD = [
    ("llama", "rope.scaling linear", "rope_parameters", PLAIN, "rope"),
    ("qwen2", "rope.scaling yarn", "rope_parameters", PLAIN, "rope"),
    ("falcon", "rope.freq_base", "rope_parameters", {"rope_theta": 1e4}, "rope"),
    ("llama", "attention.layer_norm_rms_epsilon", "rms_norm_eps", 1e-6, "epsilon"),
    ("bloom", "attention.layer_norm_epsilon", "layer_norm_epsilon", 1e-6, "epsilon"),
    ("gemma2", "46 blocks", "query_pre_attn_scalar", 32, "scale of attention"),
    ("gemma2", "softcapping", "attn_logit_softcapping", 50.0, "attn_logit_softcapping"),
    ("gemma2", "softcapping", "final_logit_softcapping", 30.0, "final_logit_softcapping"),
    ("gemma2", "attention.sliding_window", "sliding_window", 4096, "sliding_window"),
    ("phi3", "attention.sliding_window", "sliding_window", None, "sliding_window"),
    ("starcoder2", "attention.sliding_window", "sliding_window", None, "sliding_window"),
    ("qwen3moe", "expert_used_count", "num_experts_per_tok", 2, "expert_used_count"),
    ("granite", "multipliers", "attention_multiplier", 0.25, "scale of attention"),
    ("granite", "multipliers", "residual_multiplier", 1.0, "residual_scale"),
    ("granite", "multipliers", "embedding_multiplier", 1.0, "embedding_scale"),
    ("granite", "multipliers", "logits_scaling", 1.0, "logit_scale"),
]


@pytest.mark.parametrize("misread", MISREAD, ids=lambda it: f"{it[0]}, {it[2]}")
def test_an_entry_that_is_built_wrongly_is_noticed(misread, tmp_path, monkeypatch):
    name, what, entry, value, said = misread
    path = written(name, what, tmp_path / "tiny.gguf")
    built = location.gguf_config.configuration
    monkeypatch.setattr(
        location.gguf_config, "configuration", lambda header: {**built(header), entry: value}
    )
    checkpoint = locate(str(path))
    wrong = contradictions(load_skeleton(checkpoint).model, checkpoint.gguf)
    assert wrong
    assert any(said in sentence for sentence in wrong)
    verification = verify(str(path))
    (finding,) = (it for it in verification.findings if it.property == "header_read")
    assert finding.is_met is False
    with pytest.raises(ConformanceError):
        verification.raise_if_failed()


def test_a_table_of_frequencies_that_is_passed_over_is_noticed(tmp_path):
    checkpoint = locate(str(written("llama", "rope_freqs.weight", tmp_path / "tiny.gguf")))
    model = load_skeleton(checkpoint).model
    model.model.rotary_emb.inv_freq = 1.0 / 100.0 ** (torch.arange(0, 16, 2) / 16)
    assert "rope says" in contradictions(model, checkpoint.gguf)[0]
