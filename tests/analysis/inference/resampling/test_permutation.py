from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.resampling import bootstrap, permutation
from analysis.tidy.errors import AnalysisError, ColumnError, DesignError
from tests.analysis.places import R

models = pd.read_csv(R / "models.csv")
labs = models.groupby("lab", as_index=False)[["gain", "heritage", "density"]].mean()
answers = pd.read_csv(R / "permutation.csv")


def mean_difference(column):
    def difference(rows):
        marked = rows["heritage"] == 1
        return float(rows.loc[marked, column].mean() - rows.loc[~marked, column].mean())

    return difference


def exchanged(rows, statistic=None, *, label="heritage", unit="lab", **options):
    """Return the one row of a permutation test, by default of a difference of mean gains."""
    statistic = statistic or mean_difference("gain")
    result = permutation.permutation_test(rows, statistic, label=label, unit=unit, **options)
    return result.iloc[0]


def marked_sum(rows):
    return float(rows["gain"].to_numpy() @ rows["heritage"].to_numpy())


@pytest.mark.parametrize("position", range(len(answers)))
def test_p_values_are_those_of_coin_to_the_count(position):
    answer = answers.loc[position]
    row = exchanged(labs, mean_difference(answer["response"]), alternative=answer["alternative"])
    assert row["p_value"] == pytest.approx(answer["p_value"], abs=1e-14)
    assert round(row["p_value"] * 35, 9) == round(row["p_value"] * 35)


def test_centres_and_sums_are_those_of_coin_whatever_their_rounding():
    # A sum over the marked labs and a difference of means rank assignments alike.
    answer = answers.query("response == 'gain' and alternative == 'two-sided'").iloc[0]
    row = exchanged(labs, marked_sum)
    assert row["null_value"] == pytest.approx(3 * labs["gain"].mean())
    assert row["p_value"] == pytest.approx(answer["p_value"], abs=1e-14)

    # Of 20 sums of three of 0.1 to 0.6, four are at most 0.8 and four at least 1.3; those equal
    # to 0.1 + 0.2 + 0.5 come out in two ways.
    def total(rows):
        return float(sum(rows.loc[rows["heritage"] == 1, "gain"].tolist()))

    rows = pd.DataFrame({"heritage": [1, 1, 0, 0, 1, 0], "gain": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]})
    row = exchanged(rows, total, unit=None)
    assert row["p_value"] == pytest.approx(8 / 20)


def test_few_units_are_counted_by_hand():
    rows = pd.DataFrame(
        {"lab": list("abcdefg"), "heritage": [1, 1, 1, 0, 0, 0, 0], "gain": [7.0, 8, 9, 1, 2, 3, 4]}
    )
    row = exchanged(rows)
    assert row["estimate"] == 5.5
    assert row["n_permutations"] == 35
    assert row["p_value"] == row["smallest_p"] == 1 / 35
    assert row["n_groups"] == 7
    # Values 1, 2, 3, 4 with the last two marked: differences 2, 1, 0, 0, -1, -2; two reach 2.
    rows = pd.DataFrame({"heritage": [0, 0, 1, 1], "gain": [1.0, 2.0, 3.0, 4.0]})
    row = exchanged(rows, unit=None)
    assert (row["n_permutations"], row["null_value"]) == (6, 0)
    assert row["p_value"] == pytest.approx(2 / 6)
    assert permutation.n_assignments(np.array([0, 0, 0, 1, 1, 1, 1])) == 35
    assert permutation.n_assignments(np.array([0, 1, 2])) == 6
    row = exchanged(labs, lambda rows: float(rows["gain"].mean()))
    assert row["p_value"] == row["smallest_p"] == 1


def test_units_and_prompts_move_as_wholes():
    seen = set()

    def remember(rows):
        assert len(rows.drop_duplicates(["lab", "heritage"])) == 7
        seen.add("".join(map(str, rows.drop_duplicates("lab")["heritage"])))
        return float(rows["gain"] @ rows["heritage"])

    row = exchanged(models, remember)
    assert len(seen) == 35
    assert row["n_obs"] == 24
    row = exchanged(prompts, kind_difference, label="kind", unit="prompt_id")
    # The three last of six prompts stand against the three first: the most extreme of 20, twice.
    assert row["estimate"] == 3
    assert row["n_permutations"] == 20
    assert row["p_value"] == row["smallest_p"] == 2 / 20


def test_many_units_are_sampled_and_p_is_never_zero():
    rows = pd.DataFrame({"heritage": [0] * 15 + [1] * 15, "gain": np.arange(30.0)})
    row = exchanged(rows, unit=None, rng=np.random.default_rng(1), n_permutations=199)
    assert row["p_value"] == row["smallest_p"] == 1 / 200
    assert row["n_permutations"] == 199
    assert row["method"] == "Permutation test, sampled"
    default = exchanged(rows, unit=None, n_permutations=199)
    assert default.equals(exchanged(rows, unit=None, n_permutations=199))
    with pytest.raises(AnalysisError, match="`rng` must be"):
        exchanged(rows, unit=None, rng=3)


@settings(max_examples=25, deadline=None)
@given(
    gains=st.lists(st.integers(-20, 20), min_size=6, max_size=6),
    seed=st.integers(0, 99),
    alternative=st.sampled_from(permutation.ALTERNATIVES),
)
def test_order_and_unit_of_measurement_do_not_matter(gains, seed, alternative):
    rows = pd.DataFrame({"lab": list("abcdef"), "heritage": [1, 1, 0, 0, 0, 0], "gain": gains})
    other = rows.assign(gain=3 + 2 * rows["gain"]).sample(frac=1, random_state=seed)
    plain, changed = (exchanged(frame, alternative=alternative) for frame in (rows, other))
    assert plain["p_value"] == changed["p_value"]
    assert 0 < plain["smallest_p"] <= plain["p_value"] <= 1


def test_labels_and_statistics_that_leave_no_test_are_refused():
    with pytest.raises(DesignError, match="'suite' must be constant within each 'lab'"):
        exchanged(models, label="suite")
    with pytest.raises(DesignError, match="at least two levels; found 1"):
        exchanged(labs.assign(heritage=1))

    def undefined(rows):
        return float("nan") if rows["heritage"].iloc[0] == 1 else 1.0

    with pytest.raises(DesignError, match="every assignment; it is not under 15 of 35"):
        exchanged(labs, undefined)


def test_a_column_that_the_statistic_reads_is_present_and_complete():
    rows = pd.DataFrame({"g": list("aaabbb"), "y": [1.0, 2.0, np.nan, 4.0, 5.0, 6.0]})

    def difference(frame):
        means = frame.groupby("g")["y"].mean()
        return float(means["b"] - means["a"])

    with pytest.raises(ColumnError, match="'y'"):
        exchanged(rows, difference, label="g", unit=None)
    with pytest.raises(ColumnError, match="'z'"):
        exchanged(rows, lambda frame: frame["z"].mean(), label="g", unit=None)
    with pytest.raises(ColumnError, match="TypeError"):
        exchanged(rows, lambda frame: frame["g"].mean(), label="g", unit=None)
    unread = rows.rename(columns={"y": "gap"}).assign(y=range(6))
    assert exchanged(unread, difference, label="g", unit=None)["p_value"] == 0.1


#: Two models by six prompts, three of which are long; the response is the number of the cell.
prompts = pd.DataFrame(
    {
        "model_id": np.repeat(["m01", "m02"], 6),
        "prompt_id": np.tile([f"S:{number:02d}" for number in range(6)], 2),
        "kind": np.tile(["long", "long", "long", "short", "short", "short"], 2),
        "gain": np.arange(12.0),
    }
)


def kind_difference(rows):
    means = rows.groupby("kind")["gain"].mean()
    return float(means["short"] - means["long"])


@pytest.mark.parametrize("unit", ["lab", "suite", "model_id"])
def test_labels_can_be_exchanged_between_labs_suites_or_models(unit):
    row = exchanged(models, unit=unit, rng=np.random.default_rng(1), n_permutations=99)
    units = models.drop_duplicates(unit)
    ways = comb(len(units), int(units["heritage"].sum()))
    assert row["n_groups"] == len(units)
    assert row["n_permutations"] == (ways if ways <= permutation.MOST_ENUMERATED else 99)
    least = 1 / ways if ways <= permutation.MOST_ENUMERATED else 1 / 100
    assert row["p_value"] >= row["smallest_p"] >= least


values = pd.read_csv(R / "bootstrap_replicates.csv")
boot = pd.read_csv(R / "bootstrap.csv").set_index("method")
replicates = values.loc[values["what"] == "replicate", "value"].to_numpy()


def test_the_percentile_interval_is_that_of_boot_and_of_counted_order_statistics():
    ends = bootstrap.interval(replicates, 0.95)
    np.testing.assert_allclose(ends, boot.loc["percentile"], rtol=1e-14)
    # (39 + 1) * 0.025 = 1 and (39 + 1) * 0.975 = 39: the first and the last.
    low, high = bootstrap.interval(np.arange(1.0, 40.0), 0.95)
    assert (low, high) == pytest.approx((1, 39), rel=1e-14)
    assert bootstrap.interval(np.arange(1.0, 20.0), 0.9) == pytest.approx((1, 19))
    gaps = np.where(np.arange(60) % 3 == 0, np.nan, np.arange(60.0))
    assert bootstrap.interval(gaps, 0.95) == bootstrap.interval(gaps[~np.isnan(gaps)], 0.95)
    assert "Only 7 clusters" in bootstrap.interval_note(7, 0.5, 0.0, 1.0)
    assert bootstrap.interval_note(bootstrap.FEW_GROUPS, 0.5, 0.0, 1.0) == ""
    assert "outside" in bootstrap.interval_note(bootstrap.FEW_GROUPS, 1.5, 0.0, 1.0)
    assert "no width" in bootstrap.interval_note(bootstrap.FEW_GROUPS, 1.0, 1.0, 1.0)
    with pytest.raises(DesignError, match=r"at least 39 resamples; 20 of 21"):
        bootstrap.interval(np.append(np.arange(20.0), np.nan), 0.95)


def test_draws_are_of_all_clusters_and_the_same_for_a_seed():
    first, second = (bootstrap.draws(4, 500, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (500, 4)
    # A cluster is drawn as often as any other: two standard errors of a share of 2,000 draws.
    np.testing.assert_allclose(np.bincount(first.ravel()) / 2000, 0.25, atol=0.03)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.integers(-5, 5), scale=st.integers(1, 5))
def test_the_interval_of_a_mean_moves_with_its_unit(seed, shift, scale):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=12)[bootstrap.draws(12, 99, rng)].mean(axis=1)
    plain, moved = (bootstrap.interval(each, 0.95) for each in (means, shift + scale * means))
    np.testing.assert_allclose(moved, shift + scale * np.array(plain), atol=1e-9)
