"""What the forum post and the summary say: each verdict on stores where the answer is plain."""

import numpy as np
import pytest

from analysis import audit as claims
from analysis.audit import evidence
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.sign import claims_whisper as whisper

SWEEP, HUNT = evidence.PYTHIA, evidence.HUNT
PYTHIA = [f"EleutherAI/pythia-{size}" for size in ("70m", "160m", "410m", "1b")]
NEO = ["EleutherAI/gpt-neo-125m", "EleutherAI/gpt-neo-1.3B", "EleutherAI/gpt-neo-2.7B"]
OPT = ["facebook/opt-125m", "facebook/opt-1.3b", "facebook/opt-2.7b"]


def figure(model_id, mean, *, metric="gain_penultimate_block", file=SWEEP, sd=0.001, n=25):
    return {"model_id": model_id, "metric": metric, "file": file, "mean": mean, "sd": sd, "n": n}


def profile(model_id, gains, *, file=SWEEP, first=1):
    return [
        {"model_id": model_id, "metric": "gain_block", "file": file, "layer": layer, "value": gain}
        for layer, gain in enumerate(gains, start=first)
    ]


def verdict(store, claim_id):
    return claims.judge(store, claim_id, CLAIMS)["verdict"]


@pytest.mark.parametrize(
    ("pythia", "neo", "expected"),
    [
        ([0.9, 0.9, 0.9, 0.9], 0.9, "reproduced"),
        ([0.9, 0.9, 0.9, 1.1], 0.9, "reproduced"),
        ([0.9, 0.9, 1.1, 1.1], 0.9, "contradicted"),
        ([0.9, 0.9, 0.9, 0.9], 1.1, "depends on the reading"),
    ],
)
def test_mostly_means_more_than_half(made_store, pythia, neo, expected):
    figures = [figure(name, gain) for name, gain in zip(PYTHIA, pythia, strict=True)]
    figures += [figure(name, neo, file=HUNT) for name in NEO]
    assert verdict(made_store(published_figure=figures), 54) == expected


def test_nobody_has_published_a_gain_of_gpt_neox(shipped_store):
    rows = claims.checks(shipped_store, 54, CLAIMS).set_index(["term", "condition"])
    named = rows.loc[("GPT-NeoX mostly dampens", "the model of that name")]
    assert named["holds"] is None
    assert "gains of 0 such models" in named["note"]
    pythia = rows.loc[("Pythia mostly dampens", "all base models, penultimate block")]
    assert (pythia["estimate"], pythia["n_models"], pythia["holds"]) == (0.5, 8, None)
    # Four of eight, and the interval of a fifth, at 1.0047, contains 1.
    assert "pythia-1.4b 1.0047" in pythia["note"]


def test_opposite_at_each_size_is_reproduced_when_no_shape_speaks_against_it(made_store):
    figures = [figure(name, 0.9, file=HUNT) for name in NEO]
    figures += [figure(name, 1.1, file=HUNT) for name in OPT]
    figures += [figure(name, 0.9) for name in PYTHIA]
    assert verdict(made_store(published_figure=figures), 55) == "reproduced"


def test_a_group_of_one_shape_that_behaves_alike_contradicts(made_store):
    figures = [figure(name, 0.9, file=HUNT) for name in NEO]
    figures += [figure(name, 1.1, file=HUNT) for name in OPT]
    figures += [figure("EleutherAI/pythia-160m", 1.2)]
    store = made_store(published_figure=figures)
    assert verdict(store, 55) == "contradicted"
    first = claims.checks(store, 55, CLAIMS).iloc[0]
    assert first["note"] == (
        "Of the pairs 1 of 2 are opposite; not so pythia-160m 1.20 and opt-125m 1.10."
    )


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ([0.99, 0.98, 0.99], "reproduced"),
        ([0.99, 0.90, 1.01], "depends on the reading"),
        ([1.10, 0.95, 1.10], "contradicted"),
    ],
)
def test_each_layer_is_quieter_only_when_each_block_is(made_store, gains, expected):
    models = [*PYTHIA[:3], *NEO]
    figures = [figure(name, 0.9, file=HUNT if name in NEO else SWEEP) for name in models]
    profiles = [
        row for name in models for row in profile(name, gains, file=HUNT if name in NEO else SWEEP)
    ]
    store = made_store(published_figure=figures, published_profile=profiles)
    assert verdict(store, 57) == expected


def test_the_interval_of_the_share_resamples_models_not_blocks():
    same = whisper.share_quieter(np.array([1, 1, 1]), np.array([2, 2, 2]))
    assert same == (0.5, 0.5, 0.5)
    estimate, low, high = whisper.share_quieter(np.array([0, 10]), np.array([10, 10]))
    assert (estimate, low, high) == (0.5, 0.0, 1.0)
