"""What a design cannot tell apart: inflation, canonical correlations, variation within."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.inference.partition import collinearity

R = Path(__file__).parents[3] / "r"

#: Determinants against singular values.
AGREEMENT = 1e-10

BLOCKS = {"lab": ["lab"], "geometry": ["density", "layers"], "scale": ["log_parameters"]}

models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "collinearity.csv")


def test_inflation_agrees_with_determinants_in_r() -> None:
    expected = answers[answers["kind"] == "inflation"]
    found = collinearity.inflation(models, blocks=BLOCKS)
    assert found["block"].tolist() == expected["name"].tolist()
    assert found["df"].tolist() == expected["dimension"].tolist()
    np.testing.assert_allclose(found["estimate"], expected["estimate"], rtol=AGREEMENT)
    np.testing.assert_allclose(
        found["inflation"], expected["estimate"] ** (1 / (2 * expected["dimension"]))
    )


def test_two_single_columns_inflate_by_their_correlation() -> None:
    rows = pd.DataFrame({"x": [1.0, 2, 3, 4], "z": [1.0, 3, 2, 4]})
    found = collinearity.inflation(rows, blocks={"first": ["x"], "second": ["z"]})
    # r = 0.8: 1 / (1 - 0.64).
    np.testing.assert_allclose(found["estimate"], 1 / 0.36)
    np.testing.assert_allclose(found["inflation"], 1 / 0.6)


def test_a_nested_block_is_determined() -> None:
    blocks = {"lab": ["lab"], "suite": ["suite"]}
    found = collinearity.inflation(models, blocks=blocks).set_index("block")
    assert np.isinf(found["estimate"]).all()


def test_variation_within_and_between_is_all_variation() -> None:
    rows = pd.DataFrame({"lab": list("aabbc"), "layers": [1.0, 3, 5, 5, 11]})
    found = collinearity.within_variation(rows, group="lab", columns=["layers"]).set_index("level")
    # Mean 5: total 16 + 4 + 0 + 0 + 36 = 56; within a: 2, within b and c: none.
    np.testing.assert_allclose(found["within_share"], [2 / 56, 0, 0])
    assert found["n_distinct"].tolist() == [2, 1, 1]
