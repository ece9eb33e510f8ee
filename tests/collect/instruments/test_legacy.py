"""Published variants against the notebooks' arithmetic, written again in numpy."""

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import torch

from collect.instruments import legacy
from collect.instruments.hooks import Recorder
from collect.model.forward.passes import whole
from collect.prompts.tokens import Encoded
from tests.collect.shown import loaded_family

PUBLISHED = Path(__file__).parents[3] / "data/published"
VARIANTS = (PUBLISHED / "VARIANTS.md").read_text(encoding="utf-8")


@pytest.fixture
def few_tokens():
    """Two prompts, the first longer than the corners keep tokens."""
    generator = torch.Generator().manual_seed(0)
    return tuple(
        Encoded(name, tuple(torch.randint(3, 97, (n,), generator=generator).tolist()), (False,) * n)
        for name, n in (("long", 13), ("short", 4))
    )


def causal_map(n, seed):
    """Draw a causal attention map (n, n) in float32."""
    scores = 3 * torch.randn(n, n, generator=torch.Generator().manual_seed(seed))
    return scores.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf).softmax(-1)


@pytest.mark.parametrize("is_on_processor", [True, False])
def test_the_contraction_ratio_is_the_mean_root_of_weights_above_the_threshold(
    is_on_processor, monkeypatch
):
    monkeypatch.setattr(legacy, "on_processor", lambda _: is_on_processor)
    weights = causal_map(9, 1)
    weights[8, 0] = 1e-9
    roots = [math.sqrt(w + 1e-10) for w in weights.double().flatten().tolist() if w > 1e-8]
    assert len(roots) == 44
    assert legacy.contraction_ratio(weights.double()) == pytest.approx(np.mean(roots), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_graph_eigenvalue_is_that_of_the_mirrored_lower_triangle(seed):
    weights = causal_map(7, seed).double().numpy()
    laplacian = np.diag(weights.sum(1)) - weights
    lower = np.tril(laplacian)
    mirrored = lower + np.tril(laplacian, -1).T
    expected = np.sort(np.linalg.eigvals(mirrored).real)[1]
    assert legacy.graph_lambda_2(torch.from_numpy(weights)) == pytest.approx(expected, abs=1e-12)
    assert np.linalg.eigvalsh(laplacian)[1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("n", "kept"), [(17, [0, 2, 4, 6, 9, 11, 13, 16]), (5, [0, 1, 2, 3, 4])])
def test_the_corner_trace_keeps_evenly_spaced_tokens_and_a_corner_of_w_v(n, kept):
    weights = causal_map(n, 3).double()
    value = torch.randn(40, 40, generator=torch.Generator().manual_seed(1))
    mass = sum(float(weights[i, j]) for i in kept for j in kept if i != j)
    squares = float(np.sum(value.double().numpy()[:32, :32] ** 2))
    result = legacy.corner_trace(weights, value, 8, 32)
    assert result == pytest.approx(mass * squares, rel=1e-12)


def test_output_entropies_follow_the_notebooks_arithmetic():
    logits = 4 * torch.randn(3, 3000, generator=torch.Generator().manual_seed(4))
    wide = logits.double().numpy()
    exact = np.exp(wide - wide.max(-1, keepdims=True))
    exact /= exact.sum(-1, keepdims=True)
    result = legacy.entropy_variant(logits)
    clipped = np.clip(exact, 1e-10, None)
    half = torch.softmax(logits.to(torch.float16), dim=-1).numpy().astype(np.float64)
    short = torch.softmax(logits.to(torch.bfloat16), dim=-1).double().numpy()
    expected = {
        "legacy_output_entropy_float16": scipy.stats.entropy(half, axis=-1),
        "legacy_output_entropy_bfloat16": scipy.stats.entropy(short, axis=-1),
        "legacy_output_entropy_clipped": scipy.stats.entropy(clipped, axis=-1),
        "legacy_output_entropy_offset": -(exact * np.log(exact + 1e-10)).sum(-1),
    }
    assert result.keys() == expected.keys()
    for name, numbers in expected.items():
        assert result[name].numpy() == pytest.approx(numbers, rel=1e-9)
    true = scipy.stats.entropy(exact, axis=-1)
    assert (result["legacy_output_entropy_bfloat16"].numpy() != true).all()


def measured(name, prompts):
    """Measure the variants on a tiny model of some family."""
    placed = loaded_family(name)
    recorder = Recorder([prompts], ["legacy"])
    assert list(whole(placed, [prompts], recorder)) == [0]
    return placed, recorder.observation(0)["legacy_value"]


@torch.inference_mode()
def test_the_corner_is_cut_from_the_contiguous_last_third_and_maps_are_those_of_head_0(few_tokens):
    placed, result = measured("gpt_neox", few_tokens)
    fused = placed.attentions[1].query_key_value.weight
    width = fused.shape[1]
    corner = fused[2 * width :][:16, :16].double().square().sum()
    right = placed.head_weights(1).value.flatten(0, 1)[:16, :16].double().square().sum()
    ids = torch.tensor([few_tokens[0].token_ids])
    maps = placed.model(ids, output_attentions=True).attentions[1][0].double()
    own = maps[0]
    kept = np.linspace(0, ids.shape[1] - 1, 6, dtype=int).tolist()
    few = own[kept][:, kept]
    mass = float(few.sum() - few.trace())
    assert result[1, "legacy_trace_corner_16"][0] == pytest.approx(mass * float(corner), rel=1e-5)
    assert float(corner) != pytest.approx(float(right), rel=1e-3)
    of_head_0, of_mean = legacy.contraction_ratio(own), legacy.graph_lambda_2(maps.mean(0))
    assert result[1, "legacy_contraction_ratio"][0] == pytest.approx(float(of_head_0), rel=1e-5)
    assert result[1, "legacy_graph_lambda_2"][0] == pytest.approx(float(of_mean), rel=1e-5)
    assert float(of_head_0) != pytest.approx(float(legacy.contraction_ratio(maps[-1])), rel=1e-4)


def test_every_variant_is_measured_defined_and_told_of(few_tokens):
    placed, result = measured("gpt2", few_tokens)
    with (PUBLISHED / "metric.csv").open(encoding="utf-8") as handle:
        defined = {row["metric"]: row for row in csv.DictReader(handle)}
    names = {metric for _, metric in result}
    assert names == {metric for metric in defined if metric.startswith("legacy_")}
    assert {layer for layer, metric in result if "output" not in metric} == {0, 1, 2}
    assert {layer for layer, metric in result if "output" in metric} == {len(placed.blocks) - 1}
    for name in names:
        assert f"`{name}`" in VARIANTS
        assert re.search(r"[Nn]otebook|[Ss]cript", defined[name]["definition"])
