"""A model that does not compute by the header of its file is noticed, whoever built it."""

import pytest
import torch

from collect.errors import ConformanceError
from collect.library.verification import verify
from collect.model.checkpoint.gguf import config as building
from collect.model.checkpoint.load import load_skeleton
from collect.model.checkpoint.location import locate
from collect.model.conformance.header_agreement import contradictions
from tests.collect.gguf_files import write
from tests.collect.model.checkpoint.gguf.test_header_keys import CASES, tiny


def written(case, path):
    model = tiny(case.name, **{**case.usual, **case.entries})
    return write(case.name, model, path, number_format="F32", keys=case.keys, more=case.more)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}, {case.id}")
def test_what_is_built_agrees_with_the_header(case, tmp_path):
    checkpoint = locate(str(written(case, tmp_path / "tiny.gguf")))
    assert contradictions(load_skeleton(checkpoint).model, checkpoint.gguf) == []


MISREAD = [
    ("llama", "table", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4}, "rope"),
    ("llama", "linear", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4}, "rope"),
    ("qwen2", "yarn", "rope_parameters", {"rope_type": "default", "rope_theta": 1e4}, "rope"),
    ("llama", "epsilon", "rms_norm_eps", 1e-6, "epsilon"),
    ("gemma2", "deepest", "query_pre_attn_scalar", 32, "scale of attention"),
    ("gemma2", "caps", "attn_logit_softcapping", 50.0, "attn_logit_softcapping"),
    ("gemma2", "caps", "final_logit_softcapping", 30.0, "final_logit_softcapping"),
    ("gemma3", "window", "sliding_window", 4096, "sliding_window"),
    ("phi3", "window", "sliding_window", None, "sliding_window"),
    ("qwen3moe", "experts", "num_experts_per_tok", 2, "expert_used_count"),
    ("gpt2", "epsilon", "layer_norm_epsilon", 1e-5, "epsilon"),
]


@pytest.mark.parametrize("misread", MISREAD, ids=lambda it: f"{it[0]}, {it[2]}")
def test_an_entry_that_is_built_wrongly_is_noticed(misread, tmp_path, monkeypatch):
    name, id_, entry, value, said = misread
    (case,) = (case for case in CASES if (case.name, case.id) == (name, id_))
    path = written(case, tmp_path / "tiny.gguf")
    stated = building._stated
    monkeypatch.setattr(building, "_stated", lambda *given: {**stated(*given), entry: value})
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
    (case,) = (case for case in CASES if (case.name, case.id) == ("llama", "table"))
    checkpoint = locate(str(written(case, tmp_path / "tiny.gguf")))
    model = load_skeleton(checkpoint).model
    model.model.rotary_emb.inv_freq = 1.0 / 1e4 ** (torch.arange(0, 16, 2) / 16)
    assert "rope says" in contradictions(model, checkpoint.gguf)[0]
