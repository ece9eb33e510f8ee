"""Estimated marginal means and their differences are those of R's emmeans.

`tests/r/mixed_emmeans.R` wrote them with emmeans 1.8.4 and pbkrtest 0.5.2, at lme4's theta.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

answers = pd.read_csv(Path(__file__).parents[3] / "r/mixed_emmeans.csv")

#: The fixed effects agree to 1e-8 at the same theta; the means are sums of them.
MEANS = 1e-8


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", answers["name"].unique())
def test_marginal_means_agree_with_emmeans(against_r: Any, name: str, pairs: bool) -> None:
    model = against_r.at_r(name, "REML")
    factor = "kind" if name.startswith("crossed") else "recipe"
    ours = model.means(factor, pairs=pairs).set_index("contrast")
    theirs = answers[(answers["name"] == name) & (answers["pair"] == pairs)]
    ours = ours.loc[theirs["contrast"]]
    for column in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=MEANS, atol=1e-12)
