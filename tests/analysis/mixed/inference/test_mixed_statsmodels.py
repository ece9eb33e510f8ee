"""Standard errors of fixed effects beside statsmodels', which inverts another information.

statsmodels 0.15 inverts the observed information of fixed effects and covariances together; lme4
and this package invert the expected one, in which the two do not meet. On balanced rows both are
the same; on others statsmodels' errors are larger, by about half a per mille here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from analysis import mixed

rows = pd.read_csv(Path(__file__).parents[3] / "r/mixed_data_sleep.csv")


@pytest.mark.parametrize(("first", "is_balanced"), [(0, True), (7, False)])
def test_errors_are_of_the_expected_information(first: int, is_balanced: bool) -> None:
    chosen = rows.iloc[first:]
    ours = mixed.fit("Reaction ~ Days + (1 | Subject)", chosen, reml=False)
    errors = ours.tidy(["fixed"], df="wald")["std_error"].to_numpy()
    model = MixedLM.from_formula("Reaction ~ Days", chosen, groups="Subject")
    theirs = model.fit(reml=False, gtol=1e-10)
    information = -model.hessian(theirs.params_object)[0]
    n_fixed = len(errors)
    joint = np.linalg.inv(information)[:n_fixed, :n_fixed]
    np.testing.assert_allclose(theirs.bse_fe, np.sqrt(np.diag(joint)), rtol=1e-9)
    alone = np.linalg.inv(information[:n_fixed, :n_fixed])
    np.testing.assert_allclose(errors, np.sqrt(np.diag(alone)), rtol=1e-8)
    excess = theirs.bse_fe / errors - 1
    assert (np.abs(excess) < 1e-8).all() if is_balanced else (excess > 3e-4).all()
