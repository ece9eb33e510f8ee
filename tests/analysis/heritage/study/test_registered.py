"""The registered statements, on fleets whose truth is known and on rows beside a rule."""

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.study import registered
from analysis.heritage.study import status as standing
from analysis.heritage.study.horizons import HORIZONS
from analysis.heritage.study.verdict import HELD, MISSED, UNTOLD, verdict_on_heritage
from tests.analysis.heritage.study.simulated import RECIPES, filled, packages


def test_recipes_that_differ_within_a_lab_give_the_verdict_recipe_not_lab(stands):
    assert len(stands) == 2 * len(registered.PREDICTIONS)
    verdict = stands[stands["condition"] == "equal loss"].set_index("claim_id")["verdict"]
    expected = {"S1": "held", "S2": "held", "S3": "missed", "S4": "held", "S5": "missed",
                "S6": "held", "S11": "held"}  # fmt: skip
    assert {name: verdict[name] for name in expected} == expected
    assert set(verdict[["S7", "S8", "S9", "S10", "S12", "S13"]]) == {"cannot be told"}
    notes = stands.set_index("claim_id")["note"]
    assert "must hold runs of the study 'ingredients'" in notes["S7"].iloc[0]
    answers = dict(verdict_on_heritage(stands))
    assert answers["recipe, not lab: training choices, not who made them"] == "held"
    assert answers["confirmed: the lab decides"] == "missed"
    assert answers["mechanism identified"] == "cannot be told"


def test_the_responses_of_a_run_follow_from_its_log_gains(simulated_fleet):
    rows = simulated_fleet.query("FROM study_growth WHERE step = 0")
    # Three blocks grow by 0.5 after the first; equal writes would too, and by 0.3 of 0.7 centred.
    assert rows["excess"].unique() == pytest.approx([0.0])
    assert rows["excess_centred"].unique() == pytest.approx([0.7 - 0.3])
    assert rows["excess_simple"].unique() == pytest.approx([0.5 - np.log(3) / 2])
    assert rows["penultimate_log_gain"].unique() == pytest.approx([0.2])
    [row] = simulated_fleet.query("FROM study_progress").to_dict("records")
    n_runs = len(RECIPES) * 4 * 2
    answer = {"n_planned": n_runs + 1, "n_complete": n_runs, "n_beat_trigram": n_runs}
    assert {**row, **answer, "left_s": 60.0, "cpu_s": float(n_runs)} == row


def test_at_equal_loss_the_recipes_are_counted_that_reach_it_whole(tmp_path):
    """One run short of the goal leaves its recipe out of the shares, and all its other runs."""
    runs = packages(np.random.default_rng(17))
    store = filled(tmp_path, [{**runs[0], "ends_at": 1.9}, *runs[1:]])
    result = standing.statements(store, rng=np.random.default_rng(0))
    rows = result.set_index(["claim_id", "condition"])
    assert rows.loc[("S1", "equal steps"), "n_groups"] == len(RECIPES)
    for claim_id in ("S1", "S2", "S3", "S11"):
        assert rows.loc[(claim_id, "equal loss"), "n_groups"] == len(RECIPES) - 1
    assert rows.loc[("S5", "equal loss"), "n_groups"] == len(RECIPES)
    assert (
        rows.loc[("S5", "equal steps"), "p_value"] >= rows.loc[("S5", "equal steps"), "smallest_p"]
    )


def judged(store, *names, horizon="equal steps"):
    """Return whether some statements hold in a store."""
    computed = {prediction.claim_id: prediction.compute for prediction in registered.PREDICTIONS}
    return [computed[name](store, horizon, np.random.default_rng(0))[1] for name in names]


def test_birth_and_upbringing_are_told_apart(tmp_path):
    rng = np.random.default_rng(12)
    births = dict(zip("abcdef", range(6), strict=True))
    runs = [
        {"study": "inheritance", "seed": seed, "parent_id": "parent"}
        | {"levels": {"birth": birth, "upbringing": f"as_{later}"}}
        | {"excess": value + rng.normal(0, 0.05)}
        for birth, value in births.items()
        for later in births
        for seed in (0, 1)
    ]
    store = filled(tmp_path, runs)
    assert [judged(store, "S9", horizon=horizon) for horizon in HORIZONS] == [[True], [True]]
    answer = registered.outcomes(store, rng=rng).set_index(["claim_id", "condition"])["note"]
    assert answer["S9", HORIZONS[0]] == ""
    assert answer["S9", HORIZONS[1]].startswith("The numbers at equal steps again")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [MISSED, HELD, MISSED, MISSED, UNTOLD]),
        ({"S4": [MISSED, MISSED]}, [HELD, MISSED, MISSED, MISSED, UNTOLD]),
        # Horizons that disagree confirm neither a statement nor its opposite.
        ({"S4": [HELD, MISSED]}, [MISSED, MISSED, MISSED, MISSED, UNTOLD]),
        ({"S2": [UNTOLD, HELD]}, [MISSED, UNTOLD, MISSED, MISSED, UNTOLD]),
        ({"S1": [UNTOLD, MISSED]}, [MISSED, MISSED, MISSED, MISSED, UNTOLD]),
        ({"S3": [HELD, HELD], "S7": [HELD, HELD]}, [MISSED, HELD, HELD, MISSED, HELD]),
        ({"S6": [MISSED, HELD]}, [MISSED, HELD, MISSED, MISSED, UNTOLD]),
        ({"S6": [MISSED, UNTOLD]}, [MISSED, HELD, MISSED, UNTOLD, UNTOLD]),
        ({"S6": [MISSED, MISSED]}, [MISSED, HELD, MISSED, HELD, UNTOLD]),
    ],
)
def test_the_statements_together_say_what_was_registered(changed, expected):
    both = {"S1": HELD, "S2": HELD, "S3": MISSED, "S4": HELD, "S6": HELD, "S7": UNTOLD}
    verdicts = {name: [verdict] * 2 for name, verdict in both.items()} | changed
    table = pd.DataFrame(
        [(name, verdict) for name, of_both in verdicts.items() for verdict in of_both],
        columns=["claim_id", "verdict"],
    )
    # The lab decides; the recipe does; geometry as much; recipes move no sign; the mechanism.
    assert [verdict for _, verdict in verdict_on_heritage(table)] == expected
