"""Numbers of a check that are made from the rows it rests on, against scipy and by hand."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.audit.claim import Claim
from analysis.audit.evidence import checks
from analysis.audit.evidence.checks import Check, Label
from analysis.audit.examination import examined
from analysis.tidy.errors import AnalysisError

ROWS = pd.DataFrame(
    {
        "model_id": list("aabc"),
        "suite": list("xxxy"),
        "file": "f",
        "caveats": ["B2,B10", "", "", ""],
    }
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


def test_labels_join_words_and_ids_and_survive_a_copy():
    joined = Label("fisher", "Fisher; ") + Label("hunt", "the hunt") + ", all"
    assert (joined, joined.id) == ("Fisher; the hunt, all", "fisher_hunt")
    again = pickle.loads(pickle.dumps(joined))
    assert (again, again.id) == (joined, joined.id)
    assert Check(Label("bound", "a bound"), joined, True).id == "bound_fisher_hunt"
    assert Check("a bound", "All models", True).id == "a_bound_all_models"


def test_two_checks_of_one_id_are_refused(published_store):
    twice = Claim(1, "q", "r", lambda _: [Check("p", "c", True), Check("p", "c", True)])
    with pytest.raises(AnalysisError, match="'p_c'"):
        examined(twice, published_store)
