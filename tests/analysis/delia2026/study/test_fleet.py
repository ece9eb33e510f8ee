"""The study: its fleet, shares and lengths, labs and signs, and the registered statements."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.delia2026.study import fleet, horizons, labs, ladder, registered, shares, signs
from analysis.delia2026.study import status as standing
from analysis.delia2026.study.horizons import HORIZONS
from analysis.delia2026.study.verdict import HELD, MISSED, UNTOLD, verdict_on_heritage
from analysis.tidy.errors import DesignError
from tests.analysis.delia2026.study.simulated import RECIPES, VALUES, filled, packages


def test_chance_is_the_spread_within_cells_and_shapes_count_once_half_are_complete():
    runs = pd.DataFrame(
        [
            {"cell": f"{recipe}/{shape}", "recipe": recipe, "geometry": shape, "excess": value}
            for recipe, shape, *values in (
                ("a", "l3d64", 1.0, 1.2), ("a", "l12d64", 1.0, 1.0), ("b", "l3d64", 3.0, 3.2),
                ("b", "l3d128", 3.0),
            )
            for value in values
        ]
    )  # fmt: skip
    band = fleet.band_of_chance(runs)
    assert (band.df, band.sd) == (3, pytest.approx(np.sqrt(0.04 / 3)))
    assert band.middle == pytest.approx((1.05 + 9.2 / 3) / 2)
    assert band.high - band.middle == pytest.approx(stats.t.ppf(0.975, 3) * band.sd)


def test_shares_and_sizes_of_the_fleet_are_those_of_its_runs(simulated_fleet):
    result = fleet.response_shares(simulated_fleet, rng=np.random.default_rng(1))
    assert set(result["response"]) == {"excess", "last_log_gain"}
    expected = registered.fleet_shares(
        simulated_fleet, "equal steps", "excess", np.random.default_rng(1)
    )
    first = result[result["response"] == "excess"]
    assert first["estimate"].tolist() == expected["estimate"].tolist()
    order = fleet.recipe_runs(simulated_fleet)["recipe"].drop_duplicates()
    assert list(order) == sorted(VALUES, key=lambda name: VALUES[name])
    expected = {"smallest": 1, "largest": 1, "n_steps": 10, "n_bytes": 10 * 8 * 192}
    assert fleet.sizes(simulated_fleet).to_dict() == expected


def test_each_share_is_the_registered_one_of_the_recipes_that_are_left(tmp_path):
    runs = packages(np.random.default_rng(5))
    result = fleet.without_each_recipe(filled(tmp_path / "all", runs), "excess", "equal steps")
    remaining = [run for run in runs if run["levels"]["recipe"] != "opt"]
    expected = registered.fleet_shares(
        filled(tmp_path / "kept", remaining), "equal steps", "excess", np.random.default_rng(1)
    )
    whole = expected[(expected["method"] == "F inversion, joint") & (expected["term"] == "recipe")]
    without = result[result["level"] == "opt"]
    for name in ("estimate", "conf_low", "conf_high"):
        assert without[name].item() == pytest.approx(whole[name].item())


@pytest.fixture(scope="module")
def run():
    """Return three checkpoints, whose held-out loss falls by two from one to the next."""
    response = [0.0, 1.0, 3.0]
    return pd.DataFrame({"loss": [5.0, 3.0, 1.0], **dict.fromkeys(horizons.RESPONSES, response)})


@pytest.mark.parametrize(
    ("goal", "value"), [(5.0, 0.0), (4.5, 0.25), (3.0, 1.0), (1.5, 2.5), (1.0, 3.0)]
)
def test_at_equal_loss_a_response_lies_between_the_checkpoints_around_it(run, goal, value):
    expected = dict.fromkeys(horizons.RESPONSES, value)
    assert horizons.at_loss(run, goal) == {**expected, "loss": goal, "reached": True}


@pytest.mark.parametrize(("goal", "is_reached"), [(1.0, True), (0.9, False)])
def test_at_equal_steps_the_last_checkpoint_counts(run, goal, is_reached):
    result = horizons.at_last(run, goal)
    assert {result[name] for name in horizons.RESPONSES} == {3.0}
    assert (result["loss"], result["reached"]) == (1.0, is_reached)


def test_the_ladder_asks_for_learning_and_for_forgetting():
    rows = []
    for length, moved, reached in (("steps_400", 1.0, False), ("steps_1200", 0.05, True)):
        for seed, value in ((0, 0.0), (1, 0.1)):
            plain = {"sigma": "as said", "excess": value, "seed": seed, "reached": reached}
            rows.append({"length": length, "of_recipe": "opt", **plain})
        half = {"sigma": "half", "excess": 0.05 + moved, "seed": 0, "reached": reached}
        rows.append({"length": length, "of_recipe": "opt", **half})
    result = ladder.lengths(pd.DataFrame(rows).iloc[::-1])
    assert result["term"].tolist() == ["steps_400", "steps_1200"]
    assert result["holds"].tolist() == [False, True]
    assert result["sd"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)
    assert result["estimate"].tolist() == pytest.approx([1.0, 0.05])
    unmoved = ladder.lengths(pd.DataFrame(rows).query("sigma == 'as said'"))
    assert unmoved["estimate"].isna().all()
    assert not unmoved["holds"].any()


def drawn_table(rng, *, n_rows=8, n_seeds=2):
    """Return a table of recipes by four shapes by seeds with effects of every source."""
    rows, columns = rng.normal(0, 1.0, (n_rows, 1)), rng.normal(0, 0.5, (1, 4))
    cells = rows + columns + rng.normal(0, 0.3, (n_rows, 4))
    return np.asarray(cells[:, :, None] + rng.normal(0, 0.4, (n_rows, 4, n_seeds)))


def test_joint_intervals_hold_the_true_shares_and_estimates_are_near_them():
    rng = np.random.default_rng(2)
    cells = drawn_table(rng, n_seeds=1)[:, :, 0]
    exact = shares.sources(np.repeat(cells[:, :, None], 2, axis=2), "recipe", shares.GEOMETRY)
    parts = [source.sum_of_squares / (2 * cells.size) for source in exact[:-1]]
    truth = np.array([*parts, 0.3**2]) / (sum(parts) + 0.3**2)
    covered, estimates = [], []
    for _ in range(150):
        values = cells[:, :, None] + rng.normal(0, 0.3, (*cells.shape, 2))
        result = shares.sources(values, "recipe", shares.GEOMETRY)
        ends = np.array(shares.joint_intervals(result, values.size, 0.95))
        covered.append(bool(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all()))
        estimates.append(shares.estimated_shares(result, values.size))
    assert np.mean(covered) > 0.93
    assert np.mean(estimates, axis=0) == pytest.approx(truth, abs=0.015)


def test_shares_sum_to_one_f_is_the_usual_one_and_incomplete_rows_are_left_out():
    values = drawn_table(np.random.default_rng(3))
    result = shares.variance_shares(
        values, "recipe", shares.SCALE_AND_SHAPE, n_resamples=200, rng=np.random.default_rng(0)
    )
    for _, rows in result.groupby("method"):
        assert rows["estimate"].sum() == pytest.approx(1)
        assert (rows["conf_low"] <= rows["conf_high"]).all()
    one_way = shares.sources(values[:, :1], "recipe", {})
    error = one_way[-1].sum_of_squares / one_way[-1].df
    expected = stats.f_oneway(*values[:, 0]).statistic
    assert one_way[0].sum_of_squares / one_way[0].df / error == pytest.approx(expected)
    runs = pd.DataFrame(
        [
            {"recipe": recipe, "geometry": shape, "seed": seed, "excess": float(seed)}
            for recipe in "abc"
            for shape in "xy"
            for seed in (0, 1)
        ]
    )
    runs.loc[0, "excess"] = np.nan
    values, remaining = shares.cell_table(runs, "excess", "recipe", "geometry", ["x", "y"])
    assert remaining == ["b", "c"]
    assert values.shape == (2, 2, 2)
    with pytest.raises(DesignError, match="two complete recipe levels and two seeds"):
        shares.cell_table(runs.iloc[:6], "excess", "recipe", "geometry", ["x", "y"])


def test_a_twin_has_the_label_of_its_sibling():
    """By hand: six ways to choose two of four independent recipes, ten to choose three of five."""
    means = pd.DataFrame(
        {"recipe": list("pPqrs"), "lab": list("AAABC"), "excess": [1.0, 1.1, 2.0, 5, 9]}
    )
    lone = labs.lab_share(means, "excess").set_index("term").loc["lab"]
    paired = labs.lab_share(means, "excess", twins={"P": "p"}).set_index("term").loc["lab"]
    assert (lone["p_value"], lone["n_groups"]) == (pytest.approx(1 / 10), 5)
    assert (paired["p_value"], paired["n_groups"]) == (pytest.approx(1 / 6), 4)
    assert paired["n_permutations"] == 12
    assert paired["estimate"] == lone["estimate"]
    with pytest.raises(DesignError, match="found 2 independent recipes of 2 labs"):
        labs.lab_share(means.iloc[[0, 1, 3]], "excess", twins={"P": "p"})


def test_negative_cells_are_found_and_false_ones_are_rare():
    rng = np.random.default_rng(4)
    runs = pd.DataFrame({"cell": np.repeat(np.arange(16), 2), "excess": rng.normal(0, 0.1, 32)})
    runs.loc[runs["cell"] == 3, "excess"] -= 2
    result = signs.negative_cells(runs, "excess").set_index("level")
    assert result.index[result["p_adjusted"] < 0.01].tolist() == [3]
    pooled = runs.groupby("cell")["excess"].var().mean()
    assert result.loc[3, "std_error"] == pytest.approx((pooled / 2) ** 0.5)
    assert (result["df"] == 16).all()
    null = [
        signs.negative_cells(runs.assign(excess=rng.normal(0, 1, 32)), "excess")["p_adjusted"].min()
        for _ in range(120)
    ]
    assert np.mean(np.array(null) < 0.05) < 0.11
    with pytest.raises(DesignError, match="two runs"):
        signs.negative_cells(runs.drop_duplicates("cell"), "excess")


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
