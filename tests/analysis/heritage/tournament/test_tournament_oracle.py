"""Three cells of the tournament by other means: RLRsim, lme4 and a dense likelihood in R."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.proofs.competing import exact, lattice
from tests.proofs.competing.layouts import Layout

R = Path(__file__).parents[3] / "r"
WAYS = ["cell", "paper"]


@pytest.fixture(scope="module")
def layout():
    return Layout("present", pd.read_csv(R / "tournament_models.csv"), 0)


@pytest.fixture(scope="module")
def papers():
    return pd.read_csv(R / "tournament_papers.csv").drop(columns=WAYS).to_numpy()


def test_p_of_the_exact_ratio_is_that_of_rlrsim(layout, papers):
    source = exact.of_block(layout, "suite", ("geometry", "scale"))
    result = exact.p_above(source, papers, np.random.default_rng(1))
    known = pd.read_csv(R / "tournament_ratio.csv")["p_value"].to_numpy()
    # Our 4,000 draws against 100,000: three standard errors and the grid's step.
    assert np.abs(result - known).max() < 3 * np.sqrt(0.25 / exact.DRAWS) + 0.005
    assert np.abs(result - known)[known < 0.1].max() < 0.012


def test_the_criterion_on_the_lattice_is_lme4s(layout, papers):
    result = lattice.lattice(layout)
    known = pd.read_csv(R / "tournament_criterion.csv")
    n = len(layout)
    ours = result.criteria(papers)
    constant = np.log(n) + (n - 1) * (1 + np.log(2 * np.pi / (n - 1)))
    for (lab, suite), rows in known.groupby(["lab", "suite"], sort=False):
        point = np.flatnonzero((result.parts[:, :4] == (lab, suite, 0, 0)).all(axis=1)).item()
        np.testing.assert_allclose(
            ours[:, point] + constant, rows["criterion"].to_numpy(), rtol=0, atol=1e-6
        )


def test_the_profile_on_the_lattice_decides_as_a_continuous_one(layout, papers):
    known = pd.read_csv(R / "tournament_profile.csv")
    some = pd.read_csv(R / "tournament_papers.csv")["paper"].to_numpy() < 20
    answers = lattice.profile_likelihood(lattice.lattice(layout), papers[some])
    result = answers["recipe over geometry"]
    sign = np.where(known["is_first"] == 1, 1, -1)
    line = 2.705543  # chi-squared, 1 degree of freedom, upper 10 %
    expected = np.where(known["rise"] > line, sign, 0)
    is_near = np.abs(known["rise"] - line) < 0.35
    assert (result == expected)[~is_near].all()
    assert is_near.mean() < 0.2
    share = pd.Series(result > 0).groupby(known["cell"]).mean()
    again = pd.Series(expected > 0).groupby(known["cell"]).mean()
    assert (share - again).abs().max() <= 0.1
