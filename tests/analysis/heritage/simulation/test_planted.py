"""The rule judges papers with planted truths; on the real gains it finds what the claims find."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import weight
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.pages.verdict_rule import RULING
from tests.proofs import verdict_rates
from tests.proofs.simulated import papers, ranking, rates
from tests.proofs.simulated.density import density_checks
from tests.proofs.simulated.design import design_of
from tests.proofs.simulated.heritage import heritage_checks

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def design(shipped_store):
    return design_of(shipped_store)


@pytest.fixture(scope="module")
def few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "DRAWS", 49)
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


def test_what_rules_has_the_planted_share_of_the_variance(design):
    drawn = papers.papers(design, "depth", 4000, np.random.default_rng(5))
    depth = -np.log(design.numbers("n_layers"))
    r = [np.corrcoef(depth, one)[0, 1] for one in drawn["penultimate"]]
    assert np.mean(np.square(r)) == pytest.approx(RULING, abs=0.02)
    both = np.corrcoef(drawn["penultimate"].ravel(), drawn["largest"].ravel())[0, 1]
    expected = RULING + (1 - RULING) * papers.SHARED
    assert both == pytest.approx(expected, abs=0.02)


def test_a_small_share_of_the_proof_agrees_with_the_shipped_table(few):
    shipped = pd.read_csv(ROOT / "data/published/verdict_rate.csv")
    remaining = shipped.set_index(["claim_id", "truth", "wrong_labels", "verdict"])["probability"]
    assert set(remaining.index) == set(few.index)
    # Forty papers, 49 draws at ties for 399: four standard errors of a share are at most 0.32.
    assert (few["probability"] - remaining).abs().max() < 0.32


def test_the_shipped_rates_are_probabilities_and_nothing_is_rarely_reproduced():
    shipped = pd.read_csv(ROOT / "data/published/verdict_rate.csv")
    totals = shipped.groupby(["claim_id", "truth", "wrong_labels"])["probability"].sum()
    assert totals.to_numpy() == pytest.approx(1)
    assert verdict_rates.too_often(shipped).empty
    assert (shipped["n_papers"] == 1000).all()


def test_every_claim_has_a_weight_and_repeats_count_once(judged):
    assert set(judged["importance"]) == set(weight.WEIGHTS)
    repeats = judged.dropna(subset=["repeats"]).set_index("claim_id")["repeats"]
    assert repeats.to_dict() == {22: 7, 29: 4, 31: 11}
    assert set(rates.JUDGED) <= set(judged.loc[judged["importance"] == "central", "claim_id"])
