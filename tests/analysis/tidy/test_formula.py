"""Design matrices of formulas, by the quick way and by patsy's."""

import numpy as np
import pandas as pd

from analysis.tidy.formula import model_matrices


def test_columns_that_are_only_added_up_are_what_patsy_makes_of_them():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(6, 3)), columns=["y", "a", "b"])
    quick = model_matrices(frame, "y ~ a + b + a")
    general = model_matrices(frame, "y ~ 1 + a + b + a")
    assert quick.terms == general.terms == ("Intercept", "a", "b")
    np.testing.assert_array_equal(quick.design, general.design)
    np.testing.assert_array_equal(quick.response, general.response)
