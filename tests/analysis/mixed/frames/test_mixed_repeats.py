"""A random effect that the fixed part repeats is told of, exactly where its variance is free."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.mixed.algebra.deviance import profile
from tests.analysis.mixed.at_theta import at_theta

LABS = dict(zip("abcdef", "AABBCC", strict=True))


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(20)
    frame = pd.DataFrame({"s": np.repeat(list("abcdef"), 8), "t": np.tile(list("pq"), 24)})
    return frame.assign(
        lab=frame["s"].map(LABS),
        size=frame["s"].map(ord),
        x=rng.normal(size=48),
        y=rng.normal(size=48) + np.repeat(np.arange(6.0), 8),
    )


#: Formulas, which elements of theta the restricted likelihood does not depend on, and of what.
CASES = {
    "y ~ s + (1 | s)": {0: "Intercept among s"},
    "y ~ 0 + s + (1 | s)": {0: "Intercept among s"},
    "y ~ s * t + (1 | s)": {0: "Intercept among s"},
    "y ~ 0 + s:t + (1 | s)": {0: "Intercept among s"},
    "y ~ s * t + (1 | s:t)": {0: "Intercept among s:t"},
    "y ~ poly(size, 5) + (1 | s)": {0: "Intercept among s"},
    "y ~ s + (1 | lab)": {0: "Intercept among lab"},
    "y ~ s * x + (1 + x || s)": {0: "Intercept among s", 1: "x among s"},
    "y ~ s + x + (1 + x || s)": {0: "Intercept among s"},
    "y ~ s + (0 + x | s)": {},
    "y ~ poly(size, 4) + (1 | s)": {},
    "y ~ lab + (1 | s)": {},
    "y ~ t + x + (1 | s) + (1 | lab)": {},
}


@pytest.mark.parametrize("formula", CASES)
def test_the_note_stands_where_the_likelihood_is_flat(rows: pd.DataFrame, formula: str) -> None:
    model = mixed.fit(formula, rows)
    theta = np.linspace(0.6, 0.9, len(model.optimum.theta))
    before = profile(model.cross, theta, reml=True).criterion
    for place in range(len(theta)):
        moved = np.where(np.arange(len(theta)) == place, 3 * theta, theta)
        change = abs(profile(model.cross, moved, reml=True).criterion - before)
        assert (change < 1e-9) == (place in CASES[formula])
    note = model.glance()["note"].item()
    for name in CASES[formula].values():
        effect, group = name.split(" among ")
        assert f"gives every level of {group} its own {effect}: its variance among {group}" in note
    assert note.count("Leave out one of the two.") == len(CASES[formula])


@pytest.mark.parametrize("formula", [each for each in CASES if len(CASES[each]) == 1])
def test_terms_named_are_those_whose_standard_errors_move(rows: pd.DataFrame, formula: str) -> None:
    model = mixed.fit(formula, rows)
    free = next(iter(CASES[formula]))
    errors = []
    for factor in (1.0, 2.0):
        theta = np.full(len(model.optimum.theta), 0.7)
        theta[free] *= factor
        fixed = at_theta(model, theta).tidy(["fixed"], df="wald")
        errors.append(fixed.set_index("term")["std_error"])
    moved = errors[0].index[~np.isclose(errors[0], errors[1], rtol=1e-9)]
    told = model.warnings().query("guard == 'fixed and random'")["term"]
    assert sorted(told) == sorted(moved)


def test_by_maximum_likelihood_the_variance_is_zero_as_the_note_says(rows: pd.DataFrame) -> None:
    model = mixed.fit("y ~ s + (1 | s)", rows, reml=False)
    assert model.tidy(["ran_pars"])["estimate"].iloc[0] == pytest.approx(0, abs=1e-4)
    guards = model.warnings().set_index("guard")["note"]
    assert "is zero by maximum likelihood" in guards["fixed and random"].iloc[0]
    assert "confounded with a group" not in guards.index


def test_a_binary_response_has_the_note(rows: pd.DataFrame) -> None:
    model = mixed.fit_binomial("(x > 0) ~ s + t + (1 | s)", rows)
    assert (
        "The fixed part gives every level of s its own Intercept" in model.glance()["note"].item()
    )
