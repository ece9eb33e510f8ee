"""The specification curve of any choices and any fit: by hand, exact tests and simulation."""

import numpy as np
import pandas as pd
import pytest

from analysis.inference.resampling.permutation import permutation_test
from analysis.inference.resampling.specification import exchange, impose_null, specification_curve
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

models = pd.read_csv(R / "models.csv")
labs = models.groupby("lab", as_index=False)[["gain", "heritage", "density", "layers"]].mean()


def difference(frame, response="gain"):
    marked = frame["heritage"] == 1
    if marked.all() or not marked.any():
        raise DesignError("One group has no row.", "")
    gap = frame.loc[marked, response].mean() - frame.loc[~marked, response].mean()
    return {"estimate": gap}


CHOICES = {
    "rows": {"all": lambda d: d, "deep": lambda d: d[d["layers"] > d["layers"].median()]},
    "response": ["gain", "density"],
}


def test_every_combination_is_estimated_and_a_failure_has_its_reason():
    choices = CHOICES | {
        "rows": {**CHOICES["rows"], "one": lambda d: d[d["heritage"] == 1]},
    }
    curve = specification_curve(
        labs, choices, difference, null=exchange("heritage"), n_permutations=9
    )
    table = curve.specifications
    assert table[["rows", "response"]].apply(tuple, axis=1).tolist() == [
        (r, y) for r in ("all", "deep", "one") for y in ("gain", "density")
    ]
    for _, row in table.iloc[:4].iterrows():
        rows = choices["rows"][row["rows"]](labs)
        assert row["estimate"] == difference(rows, row["response"])["estimate"]
        assert row["as_claimed"] == (row["estimate"] > 0)
    assert table["estimate"].iloc[4:].isna().all()
    assert set(table["reason"].iloc[4:]) == {"One group has no row."}
    median = curve.joint.set_index("term").loc["median estimate"]
    assert median["estimate"] == pytest.approx(table["estimate"].median())
    assert curve.null["estimate"].iloc[[0, -1]].tolist() == pytest.approx(
        [table["estimate"].min(), table["estimate"].max()]
    )


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_of_one_specification_the_joint_test_is_the_permutation_test(alternative):
    exact = permutation_test(
        labs,
        lambda d: difference(d)["estimate"],
        label="heritage",
        unit="lab",
        alternative=alternative,
    ).iloc[0]
    one = {"response": ["gain"]}
    curve = specification_curve(
        labs,
        one,
        difference,
        null=exchange("heritage"),
        alternative=alternative,
        n_permutations=1999,
    )
    median = curve.joint.iloc[0]
    error = np.sqrt(exact["p_value"] * (1 - exact["p_value"]) / 2000)
    assert median["estimate"] == pytest.approx(exact["estimate"])
    assert median["p_value"] == pytest.approx(exact["p_value"], abs=4 * error + 1e-3)
    assert curve.null["null_low"].iloc[0] <= curve.null["null_high"].iloc[0]


def test_a_p_value_adds_the_share_that_is_significant_as_claimed():
    def fit(frame, sign):
        rng_free = difference(frame)["estimate"] * sign
        return pd.DataFrame({"estimate": [rng_free], "p_value": [0.01 if sign > 0 else 0.5]})

    gap = difference(labs)["estimate"]
    curve = specification_curve(
        labs, {"sign": [1, -1]}, fit, null=exchange("heritage"), n_permutations=19
    )
    share = curve.joint.set_index("term")["estimate"]
    assert share["share significant as claimed"] == (0.5 if gap > 0 else 0.0)
    assert share["share with the claimed sign"] == 0.5


def test_whole_units_are_exchanged():
    rows = pd.DataFrame({"suite": list("aabbbcd"), "x": [1, 1, 0, 0, 0, 0, 1]})
    seen = set()
    for seed in range(60):
        moved = exchange("x", "suite")(rows, np.random.default_rng(seed))
        assert len(moved[["suite", "x"]].drop_duplicates()) == 4
        seen.add(tuple(moved.groupby("suite")["x"].first()))
    assert len(seen) == 6
    with pytest.raises(DesignError, match="'x'"):
        exchange("x", "suite")(rows.assign(x=range(7)), np.random.default_rng(1))


@pytest.mark.parametrize(
    ("choices", "fit", "error", "named"),
    [
        ({}, difference, DesignError, "choice"),
        ({"response": []}, difference, DesignError, "'response'"),
        ({"estimate": ["gain"]}, lambda d, estimate: {"estimate": 1.0}, ColumnError, "'estimate'"),
        ({"response": ["gain"]}, lambda d, response: {"slope": 1.0}, ColumnError, "`estimate`"),
        ({"response": ["gain"]}, lambda d, response: labs[["gain"]], ColumnError, "one row"),
        ({"rows": {"none": lambda d: d.head(0)}}, difference, DesignError, "One group"),
    ],
)
def test_what_is_no_specification_is_refused(choices, fit, error, named):
    with pytest.raises(error, match=named):
        specification_curve(labs, choices, fit, null=exchange("heritage"), n_permutations=9)
    with pytest.raises(AnalysisError, match="alternative"):
        specification_curve(labs, CHOICES, difference, null=exchange("heritage"), alternative="up")


def slope(frame, formula="all"):
    rows = frame if formula == "all" else frame[frame["late"]]
    x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
    x = x - x.mean()
    return {"estimate": float(x @ y / (x @ x))}


def panel(rng, effect=0.0):
    unit = np.repeat(np.arange(12), 4)
    return pd.DataFrame(
        {
            "unit": unit,
            "late": np.tile([False, False, True, True], 12),
            "x": rng.normal(size=48) + rng.normal(size=12)[unit],
            "y": rng.normal(size=48) + rng.normal(size=12)[unit],
        }
    ).assign(y=lambda d: d["y"] + effect * d["x"])


def test_an_imposed_null_takes_each_specification_s_own_effect_out_and_draws_whole_units():
    frame = panel(np.random.default_rng(5), effect=0.4)
    n_draws, choices = 49, {"formula": ["all", "late"]}
    curve = specification_curve(
        frame,
        choices,
        slope,
        null=impose_null("y", "x", "unit"),
        n_permutations=n_draws,
        rng=np.random.default_rng(8),
    )
    # Again without the library: all specifications share the units of a draw.
    rng, medians = np.random.default_rng(8), []
    effects = {name: slope(frame, name)["estimate"] for name in choices["formula"]}
    for _ in range(n_draws):
        units = rng.integers(12, size=12)
        drawn = pd.concat([frame[frame["unit"] == unit] for unit in units])
        each = [
            slope(drawn.assign(y=drawn["y"] - effect * drawn["x"]), name)["estimate"]
            for name, effect in effects.items()
        ]
        medians.append(np.median(each))
    found = np.median(list(effects.values()))
    row = curve.joint.set_index("term").loc["median estimate"]
    assert row["estimate"] == pytest.approx(found)
    assert row["p_value"] == (1 + sum(np.array(medians) >= found)) / (n_draws + 1)
    assert row["null_value"] == pytest.approx((found + sum(medians)) / (n_draws + 1))


def test_an_imposed_null_is_rejected_too_often_where_one_unit_is_all_of_a_group():
    unit = np.repeat(np.arange(7), 3)
    rejected = {}
    for name, null in (
        ("imposed", impose_null("y", "x", "unit")),
        ("exchanged", exchange("x", "unit")),
    ):
        p_values = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            frame = pd.DataFrame({"unit": unit, "x": (unit == 0).astype(float)})
            frame = frame.assign(y=rng.normal(size=7)[unit] + 0.3 * rng.normal(size=21))
            curve = specification_curve(
                frame, {"formula": ["all"]}, group_gap, null=null, n_permutations=39
            )
            p_values.append(curve.joint["p_value"].iloc[0])
        rejected[name] = np.mean(np.array(p_values) <= 0.15)
    error = np.sqrt(0.15 * 0.85 / 60)
    assert rejected["imposed"] > 0.15 + 2 * error
    assert abs(rejected["exchanged"] - 0.15) < 4 * error


def group_gap(frame, formula):
    ours = frame["x"] == 1
    if not ours.any() or ours.all():
        raise DesignError("One group has no row.", "")
    return {"estimate": frame.loc[ours, "y"].mean() - frame.loc[~ours, "y"].mean()}


def test_an_imposed_null_names_the_column_that_is_missing():
    with pytest.raises(ColumnError, match="z"):
        specification_curve(
            panel(np.random.default_rng(1)), {"formula": ["all"]}, slope, null=impose_null("y", "z")
        )
