"""The row of a claim shows what its estimand names, and counts what entered."""

import pytest

from analysis import audit as claims
from analysis.audit import evidence
from analysis.heritage.pages.register import CLAIMS
from analysis.heritage.sign import claims_heritage as heritage
from analysis.heritage.sign import readings, threshold


def row(judged, claim_id):
    return judged.set_index("claim_id").loc[claim_id]


def test_pairs_count_the_models_of_both_sides(judged):
    # Three instruct models and their three bases; the pair of Gemma; two pairs of one suite.
    assert [row(judged, n)["n_models"] for n in (19, 47, 48, 49, 59)] == [6, 6, 2, 6, 4]


def test_the_bar_is_given_in_standard_errors(judged):
    # Drawn 0.0592 over the standard error of BigScience's four models, 0.059175.
    assert row(judged, 24)["estimate"] == pytest.approx(0.0592 / 0.0591753, rel=1e-4)


def test_the_error_in_the_file_of_layers_is_what_the_notebook_calls_mape(judged):
    assert row(judged, 41)["estimate"] == pytest.approx(55.69, abs=0.005)


def test_the_law_is_judged_first_on_the_family_it_is_stated_for(judged):
    result = row(judged, 5)
    # All but Pythia-70M, by the largest gain, of which the law speaks.
    assert (result["estimate"], result["n_models"]) == (7 / 8, 8)
    assert "One violation breaks a bound" in result["note"]


def test_the_plotted_gain_of_one_pythia_model_is_surely_above_the_bound(check, shipped_store):
    result = check(
        shipped_store,
        5,
        "gain of the penultimate block, Pythia family",
        "no model exceeds 10^(1/L)",
    )
    # Only Pythia-1B: 1.2163 against 10^(1/16) = 1.1548.
    assert result["estimate"] == 1 / 8
    assert result["note"].startswith(
        "Above the bound: EleutherAI/pythia-1b. For 1 of them the 95 % interval"
    )


def test_whether_a_printed_value_comes_again_has_no_interval(judged):
    for claim_id in (25, 26, 42):
        result = row(judged, claim_id)
        assert result["estimate"] == 1
        assert result["conf_low"] != result["conf_low"], claim_id
        assert "Clopper-Pearson" not in result["method"]


def test_fishers_p_and_interval_are_told_apart(check, shipped_store):
    result = check(
        shipped_store, 7, "Fisher's exact test; the models of the hunt, penultimate block"
    )
    # 6 of 16 dampen, 4 of the 5 of the lab: (150 + 6) of 4368 tables, and as much on one side.
    assert result["p_value"] == pytest.approx(0.0357, abs=5e-5)
    assert result["conf_low"] < 1 < result["conf_high"]
    assert result["note"].endswith("twice the one-sided p, is 0.071.")


def test_one_model_moves_fishers_p_over_the_usual_level(check, shipped_store):
    with_it, without = (
        check(shipped_store, 7, f"Fisher's exact test; {name}")
        for name in (readings.EVERY, readings.PRE_NORM)
    )
    assert (with_it["n_models"], without["n_models"]) == (23, 22)
    assert without["p_value"] < 0.05 < with_it["p_value"]


def test_the_smallest_p_of_a_reading_is_that_of_its_margins_and_suites(shipped_store):
    by_models, by_suites = heritage.least_p(shipped_store, "hunt")
    # Six of 16 dampen and five are of the lab: 6 of 4368 tables are as extreme as can be.
    assert by_models == pytest.approx(6 / 4368)
    # Three of seven suites are EleutherAI's: one of 35 assignments.
    assert by_suites == pytest.approx(1 / 35)


def test_eleutherai_comes_before_its_suites(judged):
    # The stated reading cannot tell; the first that can is of the models of the hunt.
    assert row(judged, 54)["estimate"] == pytest.approx(4 / 5)


def test_two_models_of_25_prompts_are_50_observations(judged):
    assert (row(judged, 56)["n_obs"], row(judged, 56)["n_models"]) == (50, 2)


def test_a_method_that_takes_models_as_independent_says_so(judged):
    for claim_id in (4, 10, 13, 16, 21, 29, 58, 60, 61):
        printed = row(judged, claim_id)["method"]
        assert "models as independent" in printed or "models as if independent" in printed, claim_id


@pytest.mark.parametrize(("claim_id", "estimate", "n_models"), [(58, 0.1533, 22), (60, -0.2944, 8)])
def test_an_undecided_claim_shows_the_reading_that_leaves_it_open(
    judged, claim_id, estimate, n_models
):
    shown = row(judged, claim_id)
    assert (shown["verdict"], shown["n_models"]) == ("undecided", n_models)
    assert shown["estimate"] == pytest.approx(estimate, abs=1e-4)
    assert shown["conf_low"] < 0 < shown["conf_high"]


def test_the_box_of_fig_6_is_judged_by_its_r_alone(shipped_store):
    assert set(claims.checks(shipped_store, 29, CLAIMS)["term"]) == {
        "gain falls with depth",
        "r = -0.81 between depth and gain",
    }


def test_with_block_0_the_total_of_no_pythia_model_stays_within_ten(shipped_store, check):
    result = check(shipped_store, 6, "the same product with block 0, Pythia family")
    assert (result["estimate"], result["holds"]) == (0, False)
    assert result["note"] == "The largest is EleutherAI/pythia-12b with a factor of 513.5."


def test_the_paper_names_eight_labs_where_it_counts_seven(shipped_store, check):
    result = check(shipped_store, 2, "the labs that section 3.3 names")
    assert (result["estimate"], result["holds"]) == (8, False)


def test_the_ratio_separates_the_papers_labels_only_without_the_model_that_contradicts(
    shipped_store,
):
    checks = claims.checks(shipped_store, 10, CLAIMS)
    labelled = checks[checks["condition"].str.startswith("the paper's labels")]
    # 9.27 and 6.88 (Pythia) lie above, 0.37 (GPT-Neo) below all of 1.48, 0.80, 0.80 and 0.40.
    assert labelled["estimate"].tolist() == pytest.approx([6 / 7, 1])
    assert labelled["holds"].tolist() == [False, None]
    # Two of six lie at one end: 2 of the 15 choices of two models do.
    assert labelled["p_value"].iloc[1] == pytest.approx(2 / 15)


def test_seeds_in_the_code_and_outside_it_are_two_parts(shipped_store):
    checks = claims.checks(shipped_store, 52, CLAIMS)
    assert checks["holds"].tolist() == [False, None]
    assert checks["term"].nunique() == 2


def test_a_separation_that_does_not_count_decides_nothing(shipped_store):
    rows = evidence.figures(shipped_store, "weight_spectral_v")
    models = rows.assign(size=rows["mean"], dampens=rows["lab"] == "EleutherAI")
    assert threshold.separation("part", "c", models).holds is not None
    shown = threshold.separation("part", "c", models, counts=False, tests=False)
    assert shown.holds is None
    assert shown.p_value != shown.p_value
