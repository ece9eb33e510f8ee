"""scale, poly, bs and ns make R's columns, and predict other rows with the same constants.

`tests/r/mixed_basis.R` wrote the answers with lme4 1.1-31.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.tidy.errors import ColumnError

R = Path(__file__).parents[3] / "r"
answers = pd.read_csv(R / "mixed_basis.csv")
rows = pd.read_csv(R / "mixed_data_crossed.csv")

FORMULAS = {
    "scale": "gain ~ scale(depth) + kind + (1 | model)",
    "poly": "gain ~ poly(depth, 3) * kind + (1 | model)",
    "bs": "gain ~ bs(depth, df=5) + (1 | model)",
    "ns": "gain ~ ns(depth, df=4) + (1 | model)",
    "ns_log": "gain ~ ns(log(rho), 2) + (1 | model)",
    "slope": "gain ~ scale(depth) + (1 + scale(depth) | model)",
}

NEW = pd.DataFrame({"depth": [-0.2, 0.31, 0.5, 1.3], "rho": [0.1, 0.2, 0.3, 0.6], "kind": "chat"})


@pytest.mark.parametrize("name", FORMULAS)
def test_fits_and_predictions_are_rs(name: str) -> None:
    model = mixed.fit(FORMULAS[name], rows)
    theirs = answers[answers["name"] == name]
    assert model.solution.criterion == pytest.approx(theirs["criterion"].iloc[0], abs=1e-6)
    new = theirs[theirs["term"].str.startswith("new")]["estimate"]
    ours = model.predict(NEW, df="wald")["estimate"]
    np.testing.assert_allclose(ours, new, rtol=1e-5, atol=1e-6)
    coefficients = theirs[~theirs["term"].str.startswith("new")]["estimate"]
    if name != "poly":  # patsy orders interactions by factors first
        np.testing.assert_allclose(sorted(model.coefficients), sorted(coefficients), rtol=1e-4)


def test_columns_are_named_as_written() -> None:
    model = mixed.fit("gain ~ poly(depth, 2) + scale(rho) + (1 + scale(depth) | model)", rows)
    assert model.terms == ("Intercept", "poly(depth, 2)1", "poly(depth, 2)2", "scale(rho)")
    assert "sd__scale(depth)" in set(model.tidy()["term"])
    whole = ["poly(depth, 2)", "scale(rho)"]
    assert list(model.anova()["term"]) == whole
    assert "poly(depth, 2) + scale(rho)" in model.summary()
    assert set(model.drop1()["term"]) == {"", *whole}
    augmented = model.augment()
    predicted = model.predict(rows, groups="known", df="wald")["estimate"]
    np.testing.assert_allclose(predicted, augmented["fitted"], atol=1e-10)


REFUSED = {
    "gain ~ poly(depth) + (1 | model)": r"must read poly\(x, degree\)",
    "gain ~ poly(depth, 2.5) + (1 | model)": "with a whole number of at least 1",
    "gain ~ bs(depth, 2) + (1 | model)": r"must read bs\(x, df\) with a whole number of at least 3",
    "gain ~ scale(kind) + (1 | model)": "'kind' must hold numbers",
    "gain ~ ns(depth, 4, 2) + (1 | model)": r"must read ns\(x, df\)",
    "gain ~ poly(step, 4) + (1 | model)": "needs 5 distinct values",
    "gain ~ scale(one) + (1 | model)": "must be of numbers that vary",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_calls_without_a_meaning_are_refused(formula: str) -> None:
    data = rows.assign(step=np.arange(len(rows)) % 3, one=1.0)
    with pytest.raises(ColumnError, match=REFUSED[formula]):
        mixed.fit(formula, data)


def test_fixed_factors_nest_as_in_r() -> None:
    nested = mixed.fit("gain ~ kind/depth + (1 | model)", rows)
    crossed = mixed.fit("gain ~ kind*depth + (1 | model)", rows)
    assert nested.terms[3:] == ("kind[base]:depth", "kind[chat]:depth", "kind[code]:depth")
    slopes = crossed.trends("depth", "kind", df="wald")["estimate"]
    np.testing.assert_allclose(nested.coefficients[3:], slopes, atol=1e-6)
