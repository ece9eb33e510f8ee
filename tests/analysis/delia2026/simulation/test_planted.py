"""The rule judges papers with planted truths; on the real gains it finds what the claims find."""

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import evidence, weight
from analysis.delia2026.pages.register import CLAIMS
from analysis.delia2026.pages.verdict_rule import RULING
from analysis.delia2026.sign import claims_finetuning as finetuning
from analysis.delia2026.weights import claims_spectral as spectral
from tests.analysis.places import PUBLISHED
from tests.proofs import verdict_rates
from tests.proofs.simulated import papers as planted
from tests.proofs.simulated import rates
from tests.proofs.simulated.bound import bound_checks
from tests.proofs.simulated.density import density_checks
from tests.proofs.simulated.design import design_of
from tests.proofs.simulated.heritage import heritage_checks
from tests.proofs.simulated.papers import of_level, of_tuned, papers
from tests.proofs.simulated.separation import separated, separation_checks
from tests.proofs.simulated.three_laws import three_laws_checks
from tests.proofs.simulated.tuning import tuning_checks


@pytest.fixture(scope="module")
def design(shipped_store):
    return design_of(shipped_store)


@pytest.fixture(scope="module")
def few():
    rows = verdict_rates.rates(40, seed=3)
    return rows.set_index(["claim_id", "truth", "wrong_labels", "verdict"])


@pytest.mark.parametrize(("claim_id", "judge"), [(7, heritage_checks), (16, density_checks)])
def test_on_the_real_gains_every_check_is_that_of_the_claim(shipped_store, design, claim_id, judge):
    gains = np.log(design.models["gain_mean"].to_numpy(dtype=np.float64))[None, :]
    result = [of_papers[0] for of_papers in judge(design, gains)]
    real = [one for one in claims.claim(claim_id, CLAIMS).examine(shipped_store) if one.decides]
    assert [one.holds for one in result] == [one.holds for one in real]
    known, again = ([one.p_value for one in checks] for checks in (real, result))
    np.testing.assert_allclose(again, known, rtol=1e-6)


def test_what_rules_has_its_share_and_a_tuned_model_keeps_it(design):
    drawn = planted.papers(design, "depth", 4000, np.random.default_rng(5))
    depth = -np.log(design.numbers("n_layers"))
    r = [np.corrcoef(depth, one)[0, 1] for one in drawn["penultimate"]]
    assert np.mean(np.square(r)) == pytest.approx(RULING, abs=0.02)
    both = np.corrcoef(drawn["penultimate"].ravel(), drawn["largest"].ravel())[0, 1]
    expected = RULING + (1 - RULING) * planted.SHARED
    assert both == pytest.approx(expected, abs=0.02)
    rng = np.random.default_rng(3)
    for truth, low, high in (("recipe", 0.7, 0.9), ("nothing", -0.05, 0.05)):
        drawn = papers(design, truth, 400, rng)
        r = np.corrcoef(drawn["last"].ravel(), drawn[of_tuned("last")].ravel())[0, 1]
        assert low < r < high
    sizes = np.array([[1.0, 2, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 4]])
    dampens = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
    splits, both = separated(sizes, dampens)
    assert splits.tolist() == [True, False, True, False]
    assert both.tolist() == [True, True, True, False]


def test_the_shipped_rates_are_probabilities_that_a_share_of_the_proof_repeats(few):
    shipped = pd.read_csv(PUBLISHED / "verdict_rate.csv")
    remaining = shipped.set_index(["claim_id", "truth", "wrong_labels", "verdict"])["probability"]
    assert set(remaining.index) == set(few.index)
    # Forty papers: four standard errors of a share are at most 0.32.
    assert (few["probability"] - remaining).abs().max() < 0.32
    totals = shipped.groupby(["claim_id", "truth", "wrong_labels"])["probability"].sum()
    assert totals.to_numpy() == pytest.approx(1)
    assert verdict_rates.too_often(shipped).empty
    assert (shipped["n_papers"] == 1000).all()


def test_every_claim_has_a_weight_and_repeats_count_once(judged):
    assert set(judged["importance"]) == set(weight.WEIGHTS)
    repeats = judged.dropna(subset=["repeats"]).set_index("claim_id")["repeats"]
    assert repeats.to_dict() == {22: 7, 29: 4, 31: 11}
    assert set(rates.JUDGED) <= set(judged.loc[judged["importance"] == "central", "claim_id"])


METRICS = {"penultimate": "gain_penultimate_block", "largest": "gain_maximum"}
METRICS["last"] = "gain_last_block"


@pytest.fixture(scope="module")
def published(shipped_store, design):
    """Log gains and norms as published, in the form of one simulated paper."""
    models = design.models["model_id"]
    result = {}
    for name, metric in METRICS.items():
        rows = evidence.base_gains(shipped_store, metric)
        result[name] = models.map(np.log(rows.set_index("model_id")["gain_mean"].astype(float)))
        result[of_level(name)] = result[name]
    result["penultimate"] = np.log(design.models["gain_mean"].astype(float))
    norms = spectral.weights(shipped_store).set_index("model_id")[["ratio", "value_norm"]]
    logs = np.log(norms.astype(float))
    result |= {"ratio": models.map(logs["ratio"])}
    result |= {"value": models.map(logs["value_norm"]) / design.spread}
    pairs = (finetuning.twins(shipped_store), finetuning.totals_of_twins(shipped_store))
    for name, rows in zip(("last", "over_blocks"), pairs, strict=True):
        for key, column in ((name, "gain_mean_base"), (of_tuned(name), "gain_mean")):
            ours = np.log(rows.set_index("compared")[column].astype(float))
            result[key] = models.map(ours).fillna(result.get(key, np.nan))
    return {name: values.to_numpy(dtype=float)[None, :] for name, values in result.items()}


def real(store, claim_id):
    return [one for one in claims.claim(claim_id, CLAIMS).examine(store) if one.decides]


def answers(columns):
    return [of_papers[0].holds for of_papers in columns]


def test_bounds_thresholds_and_pairs_are_those_of_the_claims(shipped_store, design, published):
    result = bound_checks(design, published)
    known = real(shipped_store, 5)
    assert answers(result) == [one.holds for one in known]
    for column in ("estimate", "conf_low", "conf_high"):
        again, ours = (
            [getattr(one, column) for one in each[-5:]]
            for each in ([one[0] for one in result], known)
        )
        np.testing.assert_allclose(again, ours, rtol=1e-9)
    assert answers(separation_checks(design, published)) == [
        one.holds for one in real(shipped_store, 10)
    ]
    known = [
        one.holds
        for one in real(shipped_store, 19)
        if one.id not in ("character_raw", "character_criterion")
    ]
    assert answers(tuning_checks(design, published)) == known


def test_the_p_of_the_three_laws_are_those_of_the_claim(shipped_store, design, published):
    result = [one[0] for one in three_laws_checks(design, published, wrong_labels=False)]
    known = real(shipped_store, 21)
    assert len(result) == len(known)
    # What is printed stands in no file, and the hunt's file has another gain of one model near 1.
    same = [
        place
        for place, one in enumerate(known)
        if "printed" not in one.id and one.id != "heritage_fisher_hunt_clear"
    ]
    assert len(same) == len(known) - 4
    assert [result[place].holds for place in same] == [known[place].holds for place in same]
    np.testing.assert_allclose(
        [result[place].p_value for place in same],
        [known[place].p_value for place in same],
        rtol=1e-6,
    )
