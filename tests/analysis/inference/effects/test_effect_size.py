from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.inference.effects import effect_size, noncentral
from analysis.tidy.errors import DesignError

R = Path(__file__).parents[3] / "r"

#: Closed forms; R's noncentral distributions are good to about 1e-10 in the root.
ESTIMATES = 1e-11
ENDS = 1e-8

#: effectsize finds ends by optim.
R_OPTIM = 5e-5

answers = pd.read_csv(R / "effect_size.csv")
models = pd.read_csv(R / "models.csv")


@pytest.mark.parametrize("position", range(len(answers)))
def test_estimates_agree_with_effectsize_and_ends_with_roots_found_in_r(position: int) -> None:
    answer = answers.loc[position]
    rows = effect_size.standardised_difference(
        models, value=answer["case"], group="heritage", conf_level=answer["conf_level"]
    )
    row = rows.set_index("term").loc[answer["term"]]
    assert row["estimate"] == pytest.approx(answer["estimate"], rel=ESTIMATES)
    for end in ("low", "high"):
        assert row[f"conf_{end}"] == pytest.approx(answer[f"conf_{end}"], rel=ENDS, abs=ENDS)
        assert row[f"conf_{end}"] == pytest.approx(answer[f"r_{end}"], rel=R_OPTIM, abs=R_OPTIM)


def test_a_difference_of_two_standard_deviations_is_counted_by_hand() -> None:
    rows = pd.DataFrame({"y": [3.0, 4.0, 5.0, 1.0, 2.0, 3.0], "g": list("aaabbb")})
    found = effect_size.standardised_difference(rows, value="y", group="g").set_index("term")
    assert found.loc["Cohen's d", "estimate"] == 2
    # m = 4: J = G(2) / (sqrt(2) G(3/2)) = 1 / (sqrt(2) sqrt(pi) / 2).
    expected = 2 * np.sqrt(2 / np.pi)
    assert found.loc["Hedges' g", "estimate"] == pytest.approx(expected, rel=1e-14)
    assert found["contrast"].iloc[0] == "a - b"


def test_at_the_ends_the_tails_are_what_the_level_says() -> None:
    low, high = noncentral.noncentrality_t(1.5, 10, 0.9)
    np.testing.assert_allclose(stats.nct.cdf(1.5, 10, [low, high]), [0.95, 0.05], rtol=1e-9)
    low, high = noncentral.noncentrality_f(6.0, 2, 10, 0.9)
    np.testing.assert_allclose(stats.ncf.cdf(6.0, 2, 10, [low, high]), [0.95, 0.05], rtol=1e-9)
    assert noncentral.noncentrality_f(0.5, 2, 10, 0.95)[0] == 0


@settings(max_examples=30, deadline=None)
@given(shift=st.floats(-3, 3), scale=st.floats(0.1, 10))
def test_d_does_not_change_with_units_and_turns_with_the_groups(shift: float, scale: float) -> None:
    rows = pd.DataFrame({"y": models["gain"], "g": np.where(models["heritage"] == 1, "x", "z")})
    plain = effect_size.standardised_difference(rows, value="y", group="g")
    moved = effect_size.standardised_difference(
        rows.assign(y=rows["y"] * scale + shift), value="y", group="g"
    )
    np.testing.assert_allclose(plain["conf_low"], moved["conf_low"], rtol=1e-6)
    turned = effect_size.standardised_difference(
        rows.assign(g=rows["g"].map({"x": "z", "z": "x"})), value="y", group="g"
    )
    np.testing.assert_allclose(plain["conf_low"], -turned["conf_high"], rtol=1e-6)


def test_what_has_no_effect_size_is_refused() -> None:
    with pytest.raises(DesignError, match="'lab' has 7"):
        effect_size.standardised_difference(models, value="gain", group="lab")
    constant = models.assign(gain=models["heritage"])
    with pytest.raises(DesignError, match="1 and 1 distinct values"):
        effect_size.standardised_difference(constant, value="gain", group="heritage")


@pytest.mark.parametrize("level", [0.1, 0.3])
def test_equal_values_do_not_vary_though_their_mean_is_rounded(level: float) -> None:
    # The mean of three 0.1 is 0.10000000000000002: squares about it are not 0.
    rows = pd.DataFrame({"y": [level] * 3 + [1.0] * 3, "g": list("aaabbb")})
    with pytest.raises(DesignError, match="vary within"):
        effect_size.standardised_difference(rows, value="y", group="g")


def test_an_interval_beyond_the_digits_of_its_distribution_is_refused() -> None:
    rows = pd.DataFrame({"y": [0, 1e-6, 2e-6, 1, 1 + 1e-6, 1 + 2e-6], "g": list("aaabbb")})
    with pytest.raises(DesignError, match="noncentral distribution that can be computed"):
        effect_size.standardised_difference(rows, value="y", group="g")
