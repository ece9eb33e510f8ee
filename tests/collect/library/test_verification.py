"""`collect verify`: the table of checks, and where hooks and hidden states stand."""

from dataclasses import replace

import pytest

from collect.errors import ConformanceError
from collect.library import verification
from collect.model.checkpoint.decoder import Contribution, Decoder
from tests.collect import partial_families
from tests.collect.conftest import FAMILIES


def of(result, name):
    """Return the finding of a property."""
    return next(it for it in result.findings if it.property == name)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_that_is_as_it_should_be_passes_every_check(family, save_tiny):
    result = verification.verify(str(save_tiny(family)))
    checked = [name for name in verification.SAYS if name != "header_read"]
    assert [it.property for it in result.findings] == checked
    assert all(it.is_met for it in result.findings)
    assert of(result, verification.STREAMED).deviation == 0.0
    assert of(result, "block_adds_up").deviation <= 1e-6
    result.raise_if_failed()
    assert result.facts[verification.STATES] == "after the final norm"
    assert result.facts[verification.HOOKED] == "what is added"


def test_streamed_numbers_that_are_others_fail(save_tiny, monkeypatch):
    by_block = verification.streamed

    def shifted(decoder, batches, watcher, **how):
        for index in by_block(decoder, batches, watcher, **how):
            watcher.blocks[1] = watcher.blocks[1] + 1.0
            yield index

    monkeypatch.setattr(verification, "streamed", shifted)
    result = verification.verify(str(save_tiny("llama")))
    finding = of(result, verification.STREAMED)
    assert (finding.layer, finding.is_met) == (1, False)
    assert "NO   streamed" in result.as_text()
    with pytest.raises(ConformanceError):
        result.raise_if_failed()


def test_a_norm_and_a_multiplier_after_attention_are_seen(load_tiny, monkeypatch):
    model = load_tiny("llama")
    batches, _ = verification.refusal.trials(model)
    plain = verification._attention_facts(model, batches[0])
    monkeypatch.setattr(
        Decoder, "sites", lambda _self, layer, own=Decoder.sites: _scaled(own(_self, layer))
    )
    assert plain == "what is added"
    printed = verification._attention_facts(model, batches[0])
    assert printed.startswith("attention before a norm")
    assert printed.endswith("before the multiplier 0.5")


def _scaled(sites):
    """Return sites of which what attention adds leaves the norm before feed-forward, halved."""
    update = Contribution(sites.block.post_attention_layernorm, 0.5)
    return replace(sites, attention_update=update)


def test_sums_of_a_layout_without_parts_are_called_what_they_are(tmp_path):
    partial_families.tiny_partial("mamba").save_pretrained(tmp_path / "mamba")
    result = verification.verify(str(tmp_path / "mamba"))
    assert not result.has_parts
    assert "what enters a block = what left the one before" in result.as_text()
    assert verification.SAYS["block_adds_up"] not in result.as_text()
