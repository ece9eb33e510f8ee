"""Counts and sets of models that the report's sentences name."""

import pandas as pd
import pytest

from analysis.audit.pages import tables as exhibits
from analysis.audit.pages.tables import Words
from analysis.heritage.pages import frames


@pytest.mark.parametrize(("share", "n", "said"), [(2 / 3, 6, "4 of 6"), (0.0, 1, "0 of 1")])
def test_a_share_of_few_is_said_as_a_count(share, n, said):
    assert Words({"estimate": share, "n_obs": n}).hits == said


def test_the_two_sets_of_base_models_differ_by_the_post_norm_model(shipped_store):
    said = frames.base_sets(shipped_store)
    assert (said["all"], said["kept"]) == ("23 base models", "22 base models")
    assert (said["left_out"], said["left_out_gain"]) == ("opt-350m", "0.9995")


def test_only_claims_whose_rule_asks_for_an_interval_are_named():
    judged = pd.DataFrame(
        {"claim_id": [1, 5, 16], "rule": ["p < 0.001.", "The 95 % interval holds 1.", "interval"]}
    )
    assert exhibits.judged_by_interval(judged) == "[5 and 16]{.claims}"
