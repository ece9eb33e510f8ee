"""Size and the two further laws: verdicts on stores where the answer is plain."""

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import evidence
from analysis.heritage.depth import claims_three_laws as laws
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.sign import claims_size as size
from tests.analysis.places import PUBLISHED

SMALL, LARGE = size.SMALL, size.LARGE
SIZES = ("70m", "160m", "410m", "1b", "1.4b", "2.8b")
PYTHIA = [f"EleutherAI/pythia-{size}" for size in SIZES]


def figure(model_id, mean, *, metric="gain_penultimate_block", sd=0.001, n=25, **rest):
    file = {"file": evidence.PYTHIA, "prompt_set": "B"} | rest
    return {"model_id": model_id, "metric": metric, "mean": mean, "sd": sd, "n": n} | file


def verdict(store, claim_id):
    return claims.judge(store, claim_id, CLAIMS)["verdict"]


@pytest.mark.parametrize(
    ("small", "large", "sd", "expected"),
    [
        (1.10, 1.11, 0.001, "reproduced"),
        (1.10, 1.17, 0.001, "depends on the reading"),
        (1.10, 0.90, 0.001, "contradicted"),
        (1.00, 1.00, 0.500, "undecided"),
    ],
)
def test_almost_identical_is_shown_by_an_interval_inside_a_margin(
    made_store, small, large, sd, expected
):
    store = made_store(published_figure=[figure(SMALL, small, sd=sd), figure(LARGE, large, sd=sd)])
    assert verdict(store, 56) == expected


def values(model_id, metric, numbers, file):
    return [
        {"model_id": model_id, "metric": metric, "file": file, "prompt_id": f"p{place:02}"}
        | {"path": f"$.{model_id}.{metric}[{place}]", "value": number}
        for place, number in enumerate(numbers)
    ]


def sized_models(n):
    """Return models of one suite each of two sizes, and gains that do not follow size."""
    rng = np.random.default_rng(0)
    models = [
        {"model_id": f"made/{i}", "lab": "a lab", "suite": f"suite {i // 3}", "family": "gpt2"}
        | {"n_layers": 4, "n_parameters": int(10 ** (7 + i % 3)), "norm_position": "pre"}
        for i in range(n)
    ]
    return models, rng.permuted(np.tile([0.8, 0.9, 1.1, 1.2], n // 4))


def test_many_models_can_show_that_size_does_next_to_nothing(made_store):
    models, _ = sized_models(240)
    # Within each suite the middle size differs, so no gain rises or falls with size.
    gains = [0.9 if i % 3 == 1 else 1.1 for i in range(240)]
    figures = [figure(model["model_id"], gain) for model, gain in zip(models, gains, strict=True)]
    store = made_store(model=models, published_figure=figures)
    assert verdict(store, 58) == "reproduced"


def test_gain_that_falls_with_size_contradicts_and_few_models_leave_it_open(made_store):
    models, noise = sized_models(36)
    gains = [1.3 - 0.2 * (i % 3) + 0.01 * extra for i, extra in enumerate(noise)]
    figures = [figure(model["model_id"], gain) for model, gain in zip(models, gains, strict=True)]
    store = made_store(model=models, published_figure=figures)
    assert verdict(store, 58) == "contradicted"
    rows = claims.checks(store, 58, CLAIMS)
    assert "12 of 12 suites" in " ".join(rows["note"])
    models, noise = sized_models(12)
    figures = [figure(model["model_id"], gain) for model, gain in zip(models, noise, strict=True)]
    store = made_store(model=models, published_figure=figures)
    assert verdict(store, 58) == "undecided"
    # Fisher's z: 3 + (1.96 / atanh(0.3162))^2 = 38.8.
    assert "fewer than 39 models" in claims.checks(store, 58, CLAIMS)["note"].iloc[0]


def test_suite_means_are_taken_out_of_gain_and_size(shipped_store):
    rows = size.within_suites(evidence.penultimate_or_last(shipped_store))
    means = rows.groupby("suite")[["log_gain", "log_parameters"]].mean()
    assert np.abs(means.to_numpy()).max() < 1e-12
    assert rows.groupby("suite").size().min() > 1


BASES = {
    "EleutherAI/pythia-6.9b": laws.BY_PROMPT[0],
    "google/gemma-7b": laws.BY_PROMPT[0],
    "meta-llama/Llama-3.1-8B": laws.BY_PROMPT[0],
    "mistralai/Mistral-7B-v0.1": laws.BY_PROMPT[0],
    "openai-community/gpt2-xl": laws.BY_PROMPT[1],
    "EleutherAI/gpt-j-6b": laws.BY_PROMPT[2],
}


def law(deviation_of):
    """Return raw gains and entropies of six models of six suites, 25 prompts each."""
    entropies = np.linspace(1, 6, 25)
    rows = []
    for place, (model_id, file) in enumerate(BASES.items()):
        wobble = 0.002 * np.cos((3 + place) * np.arange(25))
        gains = 1 - deviation_of(entropies) - wobble
        rows += values(model_id, "gain_last_block", gains, file)
        rows += values(model_id, "output_entropy", entropies, file)
    return rows


@pytest.mark.parametrize(
    ("deviation_of", "expected"),
    [
        (lambda h: 0.1 * h, "reproduced"),
        (lambda h: 0.5 + 0.05 * h, "depends on the reading"),
        (lambda h: 0.7 - 0.1 * h, "contradicted"),
    ],
)
def test_a_law_of_proportion_rises_through_the_origin(made_store, deviation_of, expected):
    assert verdict(made_store(published_value=law(deviation_of)), 60) == expected


def test_without_single_prompts_the_law_within_models_is_not_judged(shipped_store, changed, facts):
    store = changed(facts, "published_excerpt", lambda rows: rows.iloc[:0])
    conditions = claims.checks(store, 60, CLAIMS)["condition"]
    assert not conditions.str.contains("raw files").any()
    assert verdict(store, 60) == "undecided"
    assert verdict(shipped_store, 60) == "undecided"


def expansion_profile(exponent, noise):
    parameters = pd.read_csv(PUBLISHED / "model.csv").set_index("model_id")
    rows = []
    for place, name in enumerate(PYTHIA):
        n_layers = int(parameters.loc[name, "n_layers"])
        last = 1e-3 * parameters.loc[name, "n_parameters"] ** exponent
        rows += [
            {"model_id": name, "metric": "gain_sublayer_ffn", "file": evidence.SCALING}
            | {"layer": layer}
            | {"value": last * 10 ** (noise * (-1) ** place) if layer == n_layers - 1 else 1e-6}
            for layer in range(n_layers)
        ]
    return rows


@pytest.mark.parametrize(
    ("exponent", "noise", "expected"),
    [
        (0.35, 0.001, "reproduced"),
        (0.30, 0.050, "undecided"),
        (0.00, 0.001, "contradicted"),
        (0.20, 0.400, "undecided"),
    ],
)
def test_an_exponent_is_judged_as_a_number_and_as_an_estimate(
    made_store, exponent, noise, expected
):
    store = made_store(published_profile=expansion_profile(exponent, noise))
    assert verdict(store, 61) == expected
