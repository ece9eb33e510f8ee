"""Contrasts within models of like geometry, inflation, and the difference of two variances."""

import numpy as np
import pandas as pd
import pytest

from analysis.inference.partition import collinearity, matched, restricted
from analysis.tidy.errors import DesignError
from tests.analysis.places import R

#: Two matches by hand; the last model has no partner.
models = pd.DataFrame(
    {"model_id": list("pqrstu"), "lab": list("AABABB"), "layers": [12, 12, 12, 24, 25, 48]}
    | {"suite": ["A1", "A2", "B1", "A1", "B2", "B1"], "heads": [8, 8, 8, 16, 16, 16]}
    | {"log_gain": [-0.1, 0.0, 0.2, -0.2, 0.1, 0.5]}
)
LIKE = {"layers": 1.05, "heads": 1.0}


def found_matches(tolerance=None):
    return matched.matched_models(models, label="lab", tolerance=tolerance or LIKE)


def three_tests(rows):
    result = matched.match_tests(rows, response="log_gain", label="lab", first="A", unit="suite")
    return result.set_index("term")


def test_matches_that_all_tie_say_nothing():
    suites = [(number, name) for number in range(2) for name in ("A1", "A2", "B1", "B2")]
    rows = pd.DataFrame(suites, columns=["match", "suite"])
    rows = rows.assign(lab=rows["suite"].str[0], log_gain=rows["match"] * 0.5)
    result = three_tests(rows)
    sign = result.loc["matches in which the first is lower"]
    assert np.isnan(sign["estimate"])
    assert sign[["p_value", "smallest_p", "n_permutations", "n_groups"]].tolist() == [1, 1, 1, 0]
    assert (result["p_value"] == 1).all()


def test_models_match_within_the_stated_ratio_and_pairs_name_both():
    result = found_matches()
    assert result["model_id"].tolist() == ["p", "q", "r", "s", "t"]
    assert result["match"].tolist() == [1, 1, 1, 2, 2]
    result = found_matches({"layers": 1.0, "heads": 1.0})
    assert result["model_id"].tolist() == ["p", "q", "r"]
    result = matched.matched_pairs(models, label="lab", response="log_gain", tolerance=LIKE)
    assert result[["first", "second"]].to_numpy().tolist() == [["p", "r"], ["q", "r"], ["s", "t"]]
    np.testing.assert_allclose(result["estimate"], [-0.3, -0.2, -0.3])
    assert result["opposite"].tolist() == [True, False, True]
    result = matched.match_contrasts(found_matches(), response="log_gain", label="lab", first="A")
    np.testing.assert_allclose(result["estimate"], [-0.25, -0.3])
    assert result["n_first"].tolist() == [2, 1]
    assert result["n_second"].tolist() == [1, 1]
    with pytest.raises(DesignError):
        matched.matched_models(models.iloc[3:], label="lab", tolerance={"layers": 1.0})
    with pytest.raises(DesignError):
        matched.match_contrasts(found_matches(), response="log_gain", label="lab", first="C")


def test_labels_are_exchanged_within_matches_by_suites_and_by_sign():
    row = three_tests(found_matches()).loc["models within matches"]
    assert row["estimate"] == pytest.approx(-0.275)
    # Match 1 can give -0.25, 0.05, 0.2; match 2 -0.3, 0.3: means -0.275, 0.025, -0.125, 0.175,
    # -0.05, 0.25. Only the observed one reaches 0.275.
    assert row["n_permutations"] == 6
    assert row["p_value"] == pytest.approx(1 / 6)
    assert row["smallest_p"] == pytest.approx(1 / 6)
    assert row["n_groups"] == 5
    row = three_tests(found_matches()).loc["whole suites"]
    assert row["estimate"] == pytest.approx(-0.275)
    # Of 6 assignments of two labels to A1, A2, B1, B2 the observed and its mirror are extreme.
    assert row["n_permutations"] == 6
    assert row["p_value"] == pytest.approx(2 / 6)
    assert row["n_groups"] == 4
    row = three_tests(found_matches()).loc["matches in which the first is lower"]
    assert row["estimate"] == 1.0
    assert row["p_value"] == pytest.approx(0.5)
    assert row["smallest_p"] == pytest.approx(0.5)


#: Determinants against singular values.
AGREEMENT = 1e-10

APART = {"lab": ["lab"], "geometry": ["density", "layers"], "scale": ["log_parameters"]}

rows_of_models = pd.read_csv(R / "models.csv")
answers = pd.read_csv(R / "collinearity.csv")


def test_inflation_agrees_with_determinants_in_r():
    expected = answers[answers["kind"] == "inflation"]
    result = collinearity.inflation(rows_of_models, blocks=APART)
    assert result["block"].tolist() == expected["name"].tolist()
    assert result["df"].tolist() == expected["dimension"].tolist()
    np.testing.assert_allclose(result["estimate"], expected["estimate"], rtol=AGREEMENT)
    np.testing.assert_allclose(
        result["inflation"], expected["estimate"] ** (1 / (2 * expected["dimension"]))
    )
    rows = pd.DataFrame({"x": [1.0, 2, 3, 4], "z": [1.0, 3, 2, 4]})
    result = collinearity.inflation(rows, blocks={"first": ["x"], "second": ["z"]})
    # r = 0.8: 1 / (1 - 0.64).
    np.testing.assert_allclose(result["estimate"], 1 / 0.36)
    np.testing.assert_allclose(result["inflation"], 1 / 0.6)
    blocks = {"lab": ["lab"], "suite": ["suite"]}
    result = collinearity.inflation(rows_of_models, blocks=blocks).set_index("block")
    assert np.isinf(result["estimate"]).all()
    rows = pd.DataFrame({"lab": list("aabbc"), "layers": [1.0, 3, 5, 5, 11]})
    result = collinearity.group_variation(rows, group="lab", columns=["layers"]).set_index("level")
    # Mean 5: total 16 + 4 + 0 + 0 + 36 = 56; within a: 2, within b and c: none.
    np.testing.assert_allclose(result["within_share"], [2 / 56, 0, 0])
    assert result["n_distinct"].tolist() == [2, 1, 1]


GROUPS = np.repeat(np.arange(6), 3)


def sources(rng):
    levels = np.eye(6)[GROUPS]
    return {"level": levels, "slope": rng.standard_normal((18, 2)) / np.sqrt(2)}


@pytest.fixture(scope="module")
def result():
    return restricted.lattice(sources(np.random.default_rng(1)))


def test_what_rules_is_likeliest_whatever_unit_and_origin(result):
    rng = np.random.default_rng(3)
    blocks = sources(np.random.default_rng(1))
    by_level = blocks["level"] @ rng.standard_normal(6) * 3 + 0.3 * rng.standard_normal(18)
    by_slope = blocks["slope"] @ np.array([3.0, -3.0]) + 0.3 * rng.standard_normal(18)
    papers = np.array([by_level, by_slope])
    leads = result.leads(["level"], ["slope"]) / result.n_parts
    level, slope = leads[result.criteria(papers).argmin(axis=1)]
    assert slope < -0.8
    assert level > 0.8
    moved = result.criteria(1000 + 0.01 * papers).argmin(axis=1)
    assert leads[moved].tolist() == [level, slope]
    with pytest.raises(DesignError, match="numbers of rows"):
        restricted.lattice({"a": np.ones((3, 1)), "b": np.ones((4, 1))})
