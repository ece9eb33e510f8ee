"""Families of claims are declared, and the p within each adjusted as by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.audit import family
from analysis.audit.claim import adjusted, reading, verdict
from analysis.heritage.pages.register import CLAIMS
from analysis.tidy.errors import StoreError

ROOT = Path(__file__).parents[3]


def rows(*tests):
    """Return claims with the columns that `adjusted` reads, from pairs of family and p."""
    return pd.DataFrame(
        {
            "claim_id": range(1, len(tests) + 1),
            "statement": "said",
            "family": [name for name, _ in tests],
            "verdict": "undecided",
            "estimate": [float(n) for n in range(len(tests))],
            "p_value": [p for _, p in tests],
            "n_obs": 8,
            "n_models": 8,
            "method": "a test",
        }
    )


def test_p_values_are_adjusted_within_their_family_as_by_hand():
    result = family.adjusted(rows(("a", 0.04), ("a", 0.01), ("b", 0.02), ("a", 0.03)))
    by_claim = result.set_index("claim_id")
    # Holm: 3 * 0.01, 2 * 0.03, then 0.04 raised to 0.06. BH: 3 / 1 * 0.01, 3 / 2 * 0.03 and
    # 0.04 lowered to min(0.045, 0.04).
    assert by_claim["p_holm"].to_dict() == pytest.approx({1: 0.06, 2: 0.03, 3: 0.02, 4: 0.06})
    assert by_claim["p_bh"].to_dict() == pytest.approx({1: 0.04, 2: 0.03, 3: 0.02, 4: 0.04})
    assert by_claim["n_tests"].to_dict() == {1: 3, 2: 3, 3: 1, 4: 3}
    assert result["claim_id"].tolist() == [2, 4, 1, 3]
    twice = rows(("a", 0.01), ("a", 0.01), ("a", 0.04))
    same = twice.assign(estimate=[0.5, 0.5, 0.7])
    assert family.adjusted(same)["p_holm"].tolist() == pytest.approx([0.02, 0.02, 0.04])
    assert family.adjusted(twice)["p_holm"].tolist() == pytest.approx([0.03, 0.03, 0.04])
    result = family.adjusted(rows(("a", float("nan")), ("a", 0.02)))
    assert result["claim_id"].tolist() == [2]
    assert result["p_holm"].tolist() == [0.02]
    assert family.adjusted(rows(("a", float("nan")))).empty


def test_each_claim_has_one_family_of_tests_counted_once(judged, made):
    declared = pd.read_csv(ROOT / "data/published/claim_family.csv")
    assert declared["claim_id"].tolist() == list(CLAIMS)
    assert judged["family"].tolist() == declared["family"].tolist()
    result = claims.adjusted(judged).set_index("claim_id")
    # 286 / 8008 (claims 7 and 22), the t test of claim 23 and the posterior of claim 20.
    assert result.loc[[7, 22], "n_tests"].tolist() == [3, 3]
    assert result.loc[7, "p_holm"] == pytest.approx(3 * 286 / 8008)
    result = claims.adjusted(judged).set_index("claim_id")
    for number in (58, 60):
        stated = next(check for check in made[number] if check.decides and check.has_data)
        assert result.loc[number, "p_value"] == stated.p_value


def test_a_repeated_reading_changes_no_verdict(made):
    for number, checks in made.items():
        kind = CLAIMS[number].kind
        twice = [check for check in checks for _ in range(2)]
        assert verdict(twice, kind) == verdict(checks, kind)
        assert reading(twice, kind) == reading(checks, kind)
        np.testing.assert_array_equal(adjusted(twice)[::2], adjusted(checks))


def test_a_paper_without_families_has_one_and_some_are_refused(made_store):
    store = made_store()
    named = family.families(store, pd.DataFrame({"claim_id": [1, 2]}))
    assert named.tolist() == ["all claims", "all claims"]
    store = made_store(claim_family=[{"claim_id": 1, "family": "a"}])
    with pytest.raises(StoreError, match=r"must give each claim a family; it leaves out 2\."):
        family.families(store, pd.DataFrame({"claim_id": [1, 2]}))
