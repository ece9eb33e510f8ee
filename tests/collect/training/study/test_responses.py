"""What a run is measured by: lengths as transformers has them, and n-grams counted by hand."""

import math

import pytest
import torch

from collect.training.architecture import initialised_network
from collect.training.study.responses import (
    cross_entropy,
    equal_writes,
    measured,
    profile_rows,
    response_row,
)
from tests.collect.training.trained import micro


def test_the_lengths_are_those_of_the_hidden_states():
    """The stream as transformers itself hands it out, block by block."""
    torch.manual_seed(3)
    network = initialised_network(micro("gpt_neox", initial={"inner": 1.0, "embedding": 1.0}))
    network.eval()
    windows = torch.randint(256, (3, 20), generator=torch.Generator().manual_seed(1))
    stream = measured(network, windows)
    with torch.no_grad():
        states = network(windows, output_hidden_states=True).hidden_states
    blocks = network.gpt_neox.layers
    kept = []
    handle = blocks[-1].register_forward_hook(
        lambda _m, _a, out: kept.append(out[0] if isinstance(out, tuple) else out)
    )
    with torch.no_grad():
        network(windows)
    handle.remove()
    x = torch.stack([states[0], states[1], kept[0]]).double().flatten(1, 2)
    norms = x.norm(dim=-1)
    assert torch.allclose(stream.lengths, norms, rtol=1e-6)
    written = (x[1] - x[0]).norm(dim=-1)
    assert torch.allclose(stream.written, written, rtol=1e-6)
    row = response_row(stream, "without_first")
    rest = torch.arange(60) % 20 != 0
    log_gain = (norms[1:] / norms[:-1]).log()[:, rest]
    assert row["first_log_gain"] == pytest.approx(log_gain[0].mean().item(), rel=1e-5)
    assert row["later_log_gain"] == pytest.approx(log_gain[1].mean().item(), rel=1e-5)
    assert row["last_log_gain"] == row["later_log_gain"]
    expected = (1 + (written / norms[1])[rest] ** 2).log().mean().item() / 2
    assert row["equal_writes"] == pytest.approx(expected, rel=1e-5)
    centred = x - x.mean(-1, keepdim=True)
    gains = (centred[1:].norm(dim=-1) / centred[:-1].norm(dim=-1)).log()
    assert response_row(stream, "all")["first_log_gain_centred"] == pytest.approx(
        gains[0].mean().item(), rel=1e-5
    )
    profile = profile_rows(stream, "all")
    assert profile["ratio"][0] == pytest.approx((written / norms[0]).mean().item(), rel=1e-5)
    identity = (1 + 2 * stream.ratio * stream.cosine + stream.ratio**2).log() / 2
    assert profile["log_gain"].to_numpy() == pytest.approx(identity.mean(1).numpy(), rel=1e-5)


def test_equal_orthogonal_writes_have_no_excess():
    """Four blocks that each add 2 along an axis of their own to a stream of length 3."""
    lengths = torch.tensor([3.0, *(math.sqrt(9 + 4 * n) for n in range(1, 5))])
    later = float(lengths[-1].log() - lengths[1].log())
    assert equal_writes(torch.tensor([2.0]) / lengths[1], 3) == pytest.approx(later)


def test_an_ngram_counted_by_hand():
    """Training text abab: after a always b. Witten-Bell by hand for the bigram of "ab"."""
    unigram = dict.fromkeys("ab", (2 + 2 / 256) / (4 + 2))
    bigram = (2 + 1 * unigram["b"]) / (2 + 1)
    assert cross_entropy(b"abab", [b"ab"], 2) == pytest.approx(-math.log(bigram))
    assert cross_entropy(b"abab", [b"b"], 1) == pytest.approx(-math.log(unigram["b"]))
    assert cross_entropy(b"abab", [b"z"], 1) == pytest.approx(-math.log(2 / 256 / 6))
