"""Labs against other labellings of the same recipes, and cells that are negative."""

import numpy as np
import pandas as pd
import pytest

from analysis.heritage.study import labs, signs
from analysis.tidy.errors import DesignError


def test_a_twin_has_the_label_of_its_sibling():
    """By hand: six ways to choose two of four independent recipes, ten to choose three of five."""
    means = pd.DataFrame(
        {"recipe": list("pPqrs"), "lab": list("AAABC"), "excess": [1.0, 1.1, 2.0, 5, 9]}
    )
    lone = labs.lab_share(means, "excess").set_index("term").loc["lab"]
    paired = labs.lab_share(means, "excess", twins={"P": "p"}).set_index("term").loc["lab"]
    assert (lone["p_value"], lone["n_groups"]) == (pytest.approx(1 / 10), 5)
    assert (paired["p_value"], paired["n_groups"]) == (pytest.approx(1 / 6), 4)
    assert paired["n_permutations"] == 12
    assert paired["estimate"] == lone["estimate"]
    with pytest.raises(DesignError, match="found 2 independent recipes of 2 labs"):
        labs.lab_share(means.iloc[[0, 1, 3]], "excess", twins={"P": "p"})


def test_negative_cells_are_found_and_false_ones_are_rare():
    rng = np.random.default_rng(4)
    runs = pd.DataFrame({"cell": np.repeat(np.arange(16), 2), "excess": rng.normal(0, 0.1, 32)})
    runs.loc[runs["cell"] == 3, "excess"] -= 2
    result = signs.negative_cells(runs, "excess").set_index("level")
    assert result.index[result["p_adjusted"] < 0.01].tolist() == [3]
    pooled = runs.groupby("cell")["excess"].var().mean()
    assert result.loc[3, "std_error"] == pytest.approx((pooled / 2) ** 0.5)
    assert (result["df"] == 16).all()
    null = [
        signs.negative_cells(runs.assign(excess=rng.normal(0, 1, 32)), "excess")["p_adjusted"].min()
        for _ in range(120)
    ]
    assert np.mean(np.array(null) < 0.05) < 0.11
    with pytest.raises(DesignError, match="two runs or more"):
        signs.negative_cells(runs.drop_duplicates("cell"), "excess")
