"""Numbers stated about traces and L* come again from the published facts and raw files."""

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.audit import evidence
from analysis.audit.evidence import digitised
from analysis.heritage.transition import l_star

ROOT = Path(__file__).parents[4]
RAW = ROOT.parent / "shared/published/Results"
GPT2, OPT = "openai-community/gpt2", "facebook/opt-125m"


@pytest.fixture(scope="module")
def raw():
    """Return the reader of a raw file by the start of its name."""
    if not RAW.is_dir():
        pytest.skip(f"the paper's raw files are not at {RAW}")

    def read(start):
        (path,) = RAW.glob(f"{start}*.json")
        return json.loads(path.read_text(encoding="utf-8"))

    return read


def means(store, metric):
    rows = evidence.figures(store, metric, [evidence.TRACES])
    return rows.set_index("model_id")["mean"]


def test_the_aggregates_disagree_by_factors_that_vary_as_the_script_found(published_store):
    """Its finding: `Multi-head consistency (σ=23.62): False`; alike heads would give H."""
    ratios = means(published_store, "trace_multi_head") / means(published_store, "trace_first_head")
    assert f"{ratios.std(ddof=0):.2f}" == "23.62"


def test_the_a_priori_layer_errs_as_the_script_found(published_store):
    """Its finding: `A priori L* prediction (mean error=3.2): False`."""
    away = means(published_store, "l_star_predicted") - means(published_store, "l_star_empirical")
    assert f"{away.abs().mean():.1f}" == "3.2"


def test_the_ratio_of_26_is_one_of_weights_not_of_attention(published_store):
    norms = evidence.figures(published_store, "weight_frobenius_v").set_index("model_id")["mean"]
    traces = means(published_store, "trace_multi_head")
    by_weights = (norms[GPT2] / norms[OPT]) ** 2
    assert f"{by_weights:.1f}" == "30.5"
    assert f"{traces[GPT2] / traces[OPT] / by_weights:.2f}" == "0.87"


def test_one_network_turns_at_eight_published_layers(published_store):
    rows = evidence.figures(published_store, "l_star_empirical").set_index(["model_id", "file"])
    found = rows.loc[GPT2]["mean"]
    script, gap, change = (
        found[found.index.str.startswith(start)].item()
        for start in ("H4_v2", "H4_validation", "l_star_sign_change")
    )
    multi_head = published_store.query(
        "SELECT list(value ORDER BY layer) AS profile FROM published_profile "
        "WHERE metric = 'trace_multi_head' AND model_id = $gpt2",
        gpt2=GPT2,
    )["profile"].item()
    a_priori = means(published_store, "l_star_predicted")[GPT2]
    points = digitised.points(published_store, "Fig. 5").set_index("model_id")["value"]
    stated = [
        l_star.half_depth(12),
        script,
        l_star.argmax_abs_gradient(multi_head),
        change,
        gap,
        round(a_priori, 1),
        round(l_star.formula(12, 12), 1),
        points[GPT2],
    ]
    assert stated == [6, 9, 0, 1.4, 11, 7.5, 7.9, 9.8]


def test_the_layer_of_notebook_15_is_the_first_that_overflowed(raw):
    maps = raw("restriction_maps_results")["restriction_maps"]
    ratios = np.array(maps["contraction_ratios"], dtype=float)
    assert np.isnan(ratios).nonzero()[0].tolist() == [21, 22, 23]
    assert np.nanargmin(ratios) == 10
    assert maps["L_star_min_contraction"] == 21


def test_the_layers_of_the_four_bit_models_lie_where_attention_overflows(raw):
    by_model = {row["model"]: row for row in raw("H4_v2_extended")["extended_results"]}
    for name, layer, first in (("pythia-2.8b", 26, 27), ("pythia-6.9b", 21, 22)):
        row = by_model[f"EleutherAI/{name}"]
        traces = np.array(row["traces_full"], dtype=float)
        assert np.isnan(traces).nonzero()[0][0] == first
        assert row["L_star"] == layer


def test_the_traces_of_four_bit_models_are_those_of_bytes(raw):
    by_model = {row["model"]: row for row in raw("H4_v2_extended")["extended_results"]}
    row = by_model["EleutherAI/pythia-1b"]
    # Per head and row of W_V, 8 x 256: thousands of times what weights give, in every layer.
    assert f"{row['mean_trace_mh'] / (8 * 256):.2e}" == "1.36e+05"
    assert max(row["traces_mh"]) < 1.3 * min(row["traces_mh"])


def test_the_spectra_of_script_19_are_its_regulariser(raw):
    for row in raw("H4_validation")["results"]:
        assert np.array(row["lambda_2"]) == pytest.approx(1e-10, rel=0.02)
        gaps = np.abs(row["spectral_gaps"])
        assert gaps.max() < 2e-12


def test_the_spectrum_of_script_20_is_not_that_of_a_laplacian(raw):
    by_model = {row["model"]: row for row in raw("H4_v2_validation")["results"]}
    assert round(by_model["EleutherAI/pythia-160m"]["graph_lambda_2"][1], 3) == -0.043
