"""Training does not push along the mean of the stream: the loss does not change that way."""

import torch

from collect.gauge.precision import Float64
from tests.collect.gauge.networks import widened
from tests.collect.shown import loaded_family

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
