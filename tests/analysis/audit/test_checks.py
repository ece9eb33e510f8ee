"""Numbers of a check are made from the rows it rests on, each set of rows judged once."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import audit as claims
from analysis.audit import evidence
from analysis.audit.claim import Claim
from analysis.audit.evidence import checks, published
from analysis.audit.evidence.checks import Check, Label
from analysis.audit.examination import examined
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.sign import readings
from analysis.tidy.errors import AnalysisError

ROWS = pd.DataFrame(
    {"model_id": list("aabc"), "suite": list("xxxy"), "file": "f", "caveats": ["B2,B10", *"   "]}
)


@pytest.mark.parametrize("null", [0.0, 2.0])
def test_the_interval_and_the_p_of_a_mean_are_those_of_t(null):
    values = pd.Series([0.3, 1.7, -0.4, 2.2, 0.9])
    expected = stats.ttest_1samp(values, null)
    ends = expected.confidence_interval(0.95)
    result = checks.mean_of(values, null)
    assert result["estimate"] == pytest.approx(0.94)
    assert result["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
    assert (result["conf_low"], result["conf_high"]) == pytest.approx((ends.low, ends.high))


def test_one_value_has_no_interval_and_equal_ones_no_p():
    one = checks.mean_of(pd.Series([0.5]), 0.0)
    assert np.isnan([one["conf_low"], one["conf_high"], one["p_value"]]).all()
    equal = checks.mean_of(pd.Series([0.5, 0.5]), 0.0)
    assert (equal["conf_low"], equal["conf_high"]) == (0.5, 0.5)
    assert np.isnan(equal["p_value"])


def test_a_share_has_an_interval_only_as_a_sample():
    made = [
        checks.share_check("p", "c", 4, ROWS, holds=True, method="m", is_sample=is_sample)
        for is_sample in (True, False)
    ]
    # All of four: the lower end is the fourth root of 0.025.
    assert (made[0].estimate, made[0].conf_low, made[0].conf_high) == pytest.approx(
        (1, 0.025**0.25, 1)
    )
    assert np.isnan([made[1].conf_low, made[1].conf_high]).all()
    assert [one.method for one in made] == [
        "m, Clopper-Pearson interval as if models were independent",
        "m",
    ]
    assert (made[0].n_obs, made[0].n_models, made[0].n_suites) == (4, 3, 2)
    assert made[0].caveats == ("B2", "B10")


@pytest.mark.parametrize(("is_theirs", "holds"), [(True, True), (False, None)])
def test_a_check_on_ours_decides_where_all_models_are_theirs(is_theirs, holds):
    rows = ROWS.assign(is_theirs=[True, True, True, is_theirs])
    result = checks.on_ours(checks.check("p", "c", True, rows, note="why."), rows)
    assert (result.holds, result.decides) == (holds, is_theirs)
    assert (checks.NOT_THEIRS in result.note) is not is_theirs
    assert result.note.startswith("why.")


def test_labels_join_words_and_ids_and_two_of_one_id_are_refused(published_store):
    joined = Label("fisher", "Fisher; ") + Label("hunt", "the hunt") + ", all"
    assert (joined, joined.id) == ("Fisher; the hunt, all", "fisher_hunt")
    again = pickle.loads(pickle.dumps(joined))
    assert (again, again.id) == (joined, joined.id)
    assert Check(Label("bound", "a bound"), joined, True).id == "bound_fisher_hunt"
    assert Check("a bound", "All models", True).id == "a_bound_all_models"
    twice = Claim(1, "q", "r", lambda _: [Check("p", "c", True), Check("p", "c", True)])
    with pytest.raises(AnalysisError, match="'p_c'"):
        examined(twice, published_store)


def test_the_interval_of_a_published_mean_is_that_of_t():
    gains = pd.DataFrame(
        {"gain_mean": [1.2, 0.9], "gain_sd": [0.1, None], "n_prompts": [25, 25]}
    ).astype({"gain_sd": float})
    result = published.with_interval(gains)
    # The 97.5 % point of t with 24 degrees of freedom is 2.0639.
    half = 2.0638985616 * 0.1 / 5
    assert result["conf_low"].iloc[0] == pytest.approx(1.2 - half, rel=1e-9)
    assert result["conf_high"].iloc[0] == pytest.approx(1.2 + half, rel=1e-9)
    assert result[["conf_low", "conf_high"]].iloc[1].isna().all()


def gains(**of_models):
    return pd.DataFrame({"model_id": list(of_models), "gain_mean": list(of_models.values())})


def test_readings_with_the_same_rows_are_one_check_that_names_them():
    sets = {
        "all": gains(a=0.9, b=1.2),
        "all, in another order": gains(b=1.2, a=0.9),
        "fewer": gains(b=1.2),
        "other gains": gains(a=0.9, b=1.3),
    }
    judged = readings.each_once(
        sets, lambda condition, rows: Check("part", condition, True, note=f"{len(rows)} models.")
    )
    assert [(check.condition, check.note) for check in judged] == [
        ("all", "2 models. The same rows: all, in another order."),
        ("fewer", "1 models."),
        ("other gains", "2 models."),
    ]


@pytest.mark.parametrize("claim_id", [9, 22, 23])
def test_no_two_checks_of_a_claim_rest_on_the_same_models(shipped_store, claim_id):
    rows = claims.checks(shipped_store, claim_id, CLAIMS)
    counted = rows[~rows["condition"].str.startswith("beyond these models")]
    assert not counted.duplicated(["term", "method", "estimate", "n_models", "evidence"]).any()


def test_a_check_has_the_caveats_of_all_rows_it_used_and_each_is_explained(shipped_store, judged):
    explained = set(shipped_store.query("FROM caveat")["caveat_id"])
    named = {name for joined in judged["caveats"] for name in joined.split()}
    assert named
    assert named <= explained
    rows = pd.DataFrame(
        {"model_id": ["a", "b", "c"], "suite": ["s", "s", "t"], "file": ["f", "f", "g"]}
        | {"caveats": ["B3,B16", "B1", ""]}
    )
    result = evidence.check("part", "reading", True, rows)
    assert result.caveats == ("B1", "B3", "B16")
    assert evidence.check("part", "reading", True, rows.iloc[2:]).caveats == ()
    # B2 touches Pythia and BLOOM, whose fused matrices were cut in the wrong place.
    weights = evidence.figures(shipped_store, "weight_spectral_v")
    touched = weights["caveats"].str.contains("B2")
    suites = set(weights.loc[touched, "suite"])
    assert suites == {"Pythia", "BLOOM"}
    assert not suites & set(weights.loc[~touched, "suite"])
