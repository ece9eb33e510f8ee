from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.effects import multiplicity
from analysis.tidy.errors import AnalysisError, ColumnError

#: A multiplication and a division by whole numbers.
AGREEMENT = 1e-14

answers = pd.read_csv(Path(__file__).parents[3] / "r" / "multiplicity.csv")
tests = answers[["family", "p_value"]]


@pytest.mark.parametrize(("method", "column"), [("holm", "holm"), ("benjamini-hochberg", "BH")])
def test_adjusted_p_values_agree_with_r_within_every_family(method, column):
    adjusted = multiplicity.adjust(tests, family="family", method=method)
    np.testing.assert_allclose(adjusted["p_adjusted"], answers[column], rtol=AGREEMENT)


def test_three_tests_are_adjusted_by_hand():
    rows = pd.DataFrame({"claim": "a", "p_value": [0.03, 0.01, 0.02]})
    holm = multiplicity.adjust(rows, family="claim")["p_adjusted"]
    np.testing.assert_allclose(holm, [0.04, 0.03, 0.04], rtol=AGREEMENT)
    shares = multiplicity.adjust(rows, family="claim", method="benjamini-hochberg")["p_adjusted"]
    np.testing.assert_allclose(shares, [0.03, 0.03, 0.03], rtol=AGREEMENT)


def test_the_adjusted_p_stands_beside_the_raw_one_and_rows_keep_their_order():
    rows = tests.assign(estimate=1.0).set_index(pd.Index(range(100, 100 + len(tests))))
    adjusted = multiplicity.adjust(rows, family="family")
    columns = ["family", "p_value", "p_adjusted", "n_tests", "adjustment", "estimate"]
    assert list(adjusted.columns) == columns
    pd.testing.assert_frame_equal(adjusted[list(rows.columns)], rows)


def test_a_test_without_p_does_not_count():
    adjusted = multiplicity.adjust(tests, family="family").set_index("family")
    assert adjusted.loc["with a gap", "n_tests"].tolist() == [3, 3, 3, 3]
    assert adjusted.loc["with a gap", "p_adjusted"].isna().tolist() == [False, True, False, False]


@settings(max_examples=80, deadline=None)
@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusting_never_lowers_a_p_and_holm_is_the_stricter(p_values):
    rows = pd.DataFrame({"claim": "a", "p_value": p_values})
    holm = multiplicity.adjust(rows, family="claim")["p_adjusted"]
    shares = multiplicity.adjust(rows, family="claim", method="benjamini-hochberg")["p_adjusted"]
    assert (rows["p_value"] <= shares * (1 + 1e-12)).all()
    assert (shares <= holm * (1 + 1e-12)).all()
    assert (holm <= 1).all()


def test_what_is_no_p_value_or_family_is_refused():
    with pytest.raises(AnalysisError, match=r"'p_value' holds 1\.2"):
        multiplicity.adjust(tests.assign(p_value=1.2), family="family")
    with pytest.raises(ColumnError, match="must hold numbers"):
        multiplicity.adjust(tests.assign(p_value="< .001"), family="family")
    with pytest.raises(ColumnError, match="must name a level in every row"):
        multiplicity.adjust(tests.assign(family=None), family="family")
    with pytest.raises(ColumnError, match=r"it has \['n_tests'\]"):
        multiplicity.adjust(tests.assign(n_tests=1), family="family")
    with pytest.raises(AnalysisError, match="Did you mean 'holm'"):
        multiplicity.adjust(tests, family="family", method="Holm")
