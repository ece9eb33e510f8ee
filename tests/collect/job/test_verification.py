"""`collect verify`: the table of checks, and where hooks and hidden states stand."""

import pytest
import torch

from collect.errors import ConformanceError
from collect.job import verification
from collect.model.checkpoint.decoder import Decoder
from tests.collect.conftest import FAMILIES


def of(found, name):
    """Return the finding of a property."""
    return next(it for it in found.findings if it.property == name)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_that_is_as_it_should_be_passes_every_check(family, save_tiny):
    found = verification.verify(str(save_tiny(family)))
    assert [it.property for it in found.findings] == [*verification.SAYS]
    assert all(it.is_met for it in found.findings)
    assert of(found, verification.STREAMED).deviation == 0.0
    assert of(found, "block_adds_up").deviation <= 1e-6
    found.raise_if_failed()
    assert "hidden_states[-1] comes after the final norm" in found.facts[0]
    assert "sees what attention adds" in found.facts[1]


def test_streamed_numbers_that_are_others_fail(save_tiny, monkeypatch):
    by_block = verification.streamed

    def shifted(decoder: Decoder, batches, watcher, **how):
        for index in by_block(decoder, batches, watcher, **how):
            watcher.blocks[1] = watcher.blocks[1] + 1.0
            yield index

    monkeypatch.setattr(verification, "streamed", shifted)
    found = verification.verify(str(save_tiny("llama")))
    finding = of(found, verification.STREAMED)
    assert (finding.layer, finding.is_met) == (1, False)
    assert "NO   streamed" in found.as_text()
    with pytest.raises(ConformanceError):
        found.raise_if_failed()


def test_a_norm_and_a_multiplier_after_attention_are_seen(load_tiny, monkeypatch):
    model = load_tiny("llama")
    batches, _ = verification.refusal.trials(model)
    plain = verification._of_attention(model, batches[0])
    monkeypatch.setattr(
        Decoder, "sites", lambda _self, layer, own=Decoder.sites: _scaled(own(_self, layer), model)
    )
    assert plain == "A hook on the attention module sees what attention adds."
    said = verification._of_attention(model, batches[0])
    assert said.endswith("and before it is multiplied by 0.5.")
    assert "before the norm that follows it" in said


def _scaled(sites, model):
    """Return sites of which what attention adds leaves the norm before feed-forward, halved."""
    from dataclasses import replace

    from collect.model.checkpoint.decoder import Contribution

    assert isinstance(model.blocks[0].post_attention_layernorm, torch.nn.Module)
    update = Contribution(sites.block.post_attention_layernorm, 0.5)
    return replace(sites, attention_update=update)
