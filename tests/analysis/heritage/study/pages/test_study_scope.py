"""What the study does not show, in words that follow from its numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.heritage.study import fleet
from analysis.heritage.study.pages import scope, words

SIZES = fleet.Sizes(145_000, 2_520_000, 1_843_200, 1200)


def test_size_and_length_bound_what_is_shown() -> None:
    assert scope.limits(SIZES, pd.DataFrame({"reached": [True, False, False, True]})) == (
        "Its networks have 0.1 to 2.5 million parameters and read 1.8 million bytes: it does not "
        "show what decides among large ones. 2 of 4 never reach the loss of a byte trigram: it "
        "does not show what a long training would leave of these differences."
    )
    assert scope.limits_short(SIZES) == "Below 2.6 million parameters."


def test_the_recipe_that_a_share_rests_on_is_named() -> None:
    growth = pd.DataFrame(
        {"level": ["bloom", "opt"], "estimate": [0.72, 0.86], "conf_low": [0.4, 0.61],
         "conf_high": [0.9, 0.96], "holds": [False, True]}
    )  # fmt: skip
    last = growth.iloc[1:].assign(level="opt_post")
    said = scope.rests_sentence({"growth": growth, "last block": last})
    assert "is in growth 72\u00a0% [40\u00a0%,\u00a090\u00a0%] without BLOOM, too little" in said
    end = "; in last block 86\u00a0% [61\u00a0%,\u00a096\u00a0%] without “OPT, norms after”."
    assert said.endswith(end)
    assert scope.rests_sentence({"growth": pd.DataFrame()}) == ""
    assert scope.least_short(growth) == "Without BLOOM: 72\u00a0%."
    assert scope.least_short(last) == "Without “OPT, norms after”: 86\u00a0%."
    assert scope.least_short(pd.DataFrame()) == ""


def test_the_ladder_is_told_by_its_longest_length_and_by_that_of_the_fleet() -> None:
    found = pd.DataFrame(
        {"term": ["steps_1200", "steps_3600"], "share": [0.25, 1.0], "sd": [0.05, 0.002],
         "df": [6, 2], "statistic": [7.0, 53.75], "holds": [False] * 2}
    )  # fmt: skip
    told = scope.ladder_sentence(found, SIZES)
    assert told.startswith(
        "By the registered rule, at equal steps, 0 of 2 lengths of the ladder were enough."
    )
    assert "At the longest 100\u00a0% of the networks" in told
    assert "by 53.8 standard deviations between seeds, known from 2 degrees of freedom" in told
    assert "0.050 nat at the shortest length and 0.002 nat at the longest" in told
    assert "takes 1,200 steps, the longest that could be paid for, where 25\u00a0% of" in told
    assert told.endswith("moves the response by 7.0 standard deviations.")
    one = scope.ladder_sentence(found.assign(holds=[False, True]), SIZES)
    assert "1 of 2 lengths of the ladder was enough" in one
    shape = words.shape(pd.DataFrame({"n_layers": [12, 3, 3], "d_model": [64, 64, 64]}))
    assert shape == "3 and 12 blocks, width 64"


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ((True, False), ("±3.0\u00a0%, within the plan", "±15.0\u00a0%, wider than planned")),
        ((False, True), ("±3.0\u00a0%, wider than planned", "±15.0\u00a0%, within the plan")),
    ],
)
def test_exactness_is_told_by_both_intervals(
    holds: tuple[bool, bool], said: tuple[str, str]
) -> None:
    found = pd.DataFrame(
        {"term": "excess", "method": ["parametric bootstrap", fleet.JOINT],
         "estimate": [0.03, 0.15], "null_value": 0.05, "holds": holds, "n_obs": 64}
    )  # fmt: skip
    told = scope.widths_sentence(found, 0.04)
    assert "In the 64 runs that can be told so far the bootstrap" in told
    assert all(part in told for part in said)
    assert told.endswith("Seeds differ by 0.040 nat.")
