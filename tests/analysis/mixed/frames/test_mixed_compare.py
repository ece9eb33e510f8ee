"""Only nested models of one response on the same rows have a likelihood ratio."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.tidy.errors import DesignError

rows = pd.read_csv(Path(__file__).parents[3] / "r/mixed_data_crossed.csv")

BASE = "gain ~ rho + depth + (1 | model) + (1 | prompt)"

NESTED = {
    "a term more": ("gain ~ rho + (1 | model)", "gain ~ rho + kind + (1 | model)"),
    "an interaction spans its factors": (
        "gain ~ kind + lab + (1 | model)",
        "gain ~ kind:lab + (1 | model)",
    ),
    "a slope more": ("gain ~ depth + (1 | model)", "gain ~ depth + (1 + depth | model)"),
    "uncorrelated within correlated": (
        "gain ~ depth + (1 + depth || model)",
        "gain ~ depth + (1 + depth | model)",
    ),
}

APART = {
    "a line within a factor": ("gain ~ step + (1 | model)", "gain ~ C(step) + (1 | model)", "step"),
    "other predictors": ("gain ~ rho + (1 | model)", "gain ~ depth + kind + (1 | model)", "rho"),
    "a transform": ("gain ~ log(rho) + (1 | model)", "gain ~ rho + kind + (1 | model)", r"log\("),
    "other groups": (
        "gain ~ rho + (1 | prompt)",
        "gain ~ rho + depth + (1 | model)",
        r"\(1 \| prompt\)",
    ),
    "another slope": (
        "gain ~ depth + rho + (1 + rho | prompt)",
        "gain ~ depth + rho + kind + (1 + depth | prompt)",
        r"\(1 \+ rho \| prompt\)",
    ),
}


@pytest.fixture(scope="module")
def stepped():
    return rows.assign(step=np.arange(len(rows)) % 4)


@pytest.mark.parametrize("name", NESTED)
def test_nested_models_are_compared_however_they_are_written(name, stepped):
    smaller, larger = (mixed.fit(formula, stepped) for formula in NESTED[name])
    assert mixed.compare([smaller, larger])["df"].iloc[1] > 0


@pytest.mark.parametrize("name", APART)
def test_models_that_are_not_nested_are_refused(name, stepped):
    smaller, larger, lacking = APART[name]
    refusal = f"The smaller model must lie in the larger; .* does not contain {lacking}"
    with pytest.raises(DesignError, match=refusal):
        mixed.compare([mixed.fit(smaller, stepped), mixed.fit(larger, stepped)])


def test_other_rows_responses_offsets_or_weights_are_refused():
    smaller = mixed.fit("gain ~ rho + (1 | model)", rows[1:])
    larger = mixed.fit(BASE, rows[:-1])
    with pytest.raises(DesignError, match="was fitted to other rows than"):
        mixed.compare([smaller, larger])
    larger = mixed.fit(BASE, rows)
    other = rows.assign(score=rows["gain"])
    with pytest.raises(DesignError, match=r"must explain the same response; found \['gain', 'sc"):
        mixed.compare([mixed.fit("score ~ rho + (1 | model)", other), larger])
    with pytest.raises(DesignError, match="'gain less known'"):
        mixed.compare([mixed.fit("gain ~ rho + offset(known) + (1 | model)", rows), larger])
    weighted = mixed.fit("gain ~ rho + (1 | model)", rows, weights="precision")
    with pytest.raises(DesignError, match="the same rows with the same weights"):
        mixed.compare([weighted, larger])
    shuffled = rows.sample(frac=1, random_state=1)
    smaller = mixed.fit("gain ~ rho + (1 | model) + (1 | prompt)", shuffled)
    assert mixed.compare([smaller, larger])["df"].iloc[1] == 1
