"""Where along depth suites differ: against lme4, pbkrtest, plain least squares, and by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.suites import blocks
from analysis.heritage.suites import suites_by_block as suites
from analysis.mixed.algebra.deviance import profile
from analysis.mixed.inference.fixed_effects import Inference

R = Path(__file__).parents[3] / "r"

#: R's short names of the quarters.
SHORT = {name.split(" ")[0]: name for name in blocks.QUARTERS}


@pytest.fixture(scope="module")
def rows(published_store):
    return blocks.published_blocks(published_store)


@pytest.fixture(scope="module")
def model(rows):
    return suites.fit(rows)


def test_the_published_gains_are_counted(published_store):
    result = blocks.counted(published_store)
    # 22 models have 24 blocks on average, 27 where each of their rows counts.
    counts = {"published": 536, "published_models": 23, "blocks": 484, "models": 22}
    assert result == {**counts, "depth": 27}


def test_quarters_hold_the_same_number_of_blocks(rows):
    sizes = rows.groupby(["model_id", "part"]).size().groupby(level=0)
    assert (sizes.max() - sizes.min()).max() <= 1
    shallow = rows[rows["model_id"] == "EleutherAI/pythia-70m"]
    assert list(shallow["layer"]) == [1, 2, 3, 4]
    assert tuple(shallow["part"]) == blocks.QUARTERS


def test_the_fit_is_lme4s_at_lme4s_theta(model):
    theirs = pd.read_csv(R / "position_fixed.csv")
    theta = pd.read_csv(R / "position_theta.csv")["theta"].to_numpy()
    at = profile(model.cross, theta)
    assert at.criterion == pytest.approx(theirs["criterion"].iloc[0], rel=1e-10)
    assert np.sqrt(at.variance) == pytest.approx(theirs["sigma"].iloc[0], rel=1e-9)
    named = theirs.assign(term=theirs["term"].map(_ours)).set_index("term")
    ours = Inference.at(model.cross, theta, reml=True)
    for term, estimate, variance in zip(
        model.terms, ours.coefficients, np.diag(ours.plain_covariance), strict=True
    ):
        assert estimate == pytest.approx(named.loc[term, "estimate"], rel=1e-7, abs=1e-10)
        assert np.sqrt(variance) == pytest.approx(named.loc[term, "std_error"], rel=1e-7)


def _ours(term):
    part, other = term.removeprefix("part").split(":")
    level = f"suite[{other.removeprefix('suite')}]" if other.startswith("suite") else other
    return f"part[{SHORT[part]}]:{level}"


def test_the_tests_of_suites_are_pbkrtests(model):
    theirs = pd.read_csv(R / "position_tests.csv")
    theirs.index = theirs["part"].map(SHORT)
    ours = suites.part_tests(model).set_index("part")
    assert list(ours.index) == list(blocks.QUARTERS)
    for column in ("statistic", "df_numerator", "df", "p_value"):
        np.testing.assert_allclose(ours[column], theirs.loc[ours.index, column], rtol=1e-5)


def test_suites_part_in_the_last_quarter_and_not_in_the_second(model):
    result = suites.part_tests(model).set_index("part")
    assert result.loc["last quarter", "p_adjusted"] < 0.05
    assert (result.drop("last quarter")["p_adjusted"] > 0.05).all()
    assert result.loc["last quarter", "first"] == "GPT-Neo"
