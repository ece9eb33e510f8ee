"""Where the numbers of a figure are found."""

import numpy as np
import pandas as pd
import pytest

from analysis.forensics import provenance
from analysis.tidy.errors import AnalysisError, ColumnError

FIGURE = pd.DataFrame(
    {
        "subject": ["a", "b", "c"],
        "printed": ["1.10", "0.93", ""],
        "accuracy": [np.nan, 0.01, np.nan],
    }
)
VALUES = pd.DataFrame(
    {
        "file": ["right"] * 3 + ["swapped"] * 3 + ["other"],
        "subject": ["a", "b", "c", "a", "b", "c", "z"],
        "value": [1.102, 0.938, 5.0, 0.93, 1.1, 7.0, 1.1],
    }
)


def test_the_file_with_the_numbers_of_the_same_subjects_comes_first():
    result = provenance.sources(FIGURE, VALUES).set_index("file")
    assert result.index.tolist() == ["right", "swapped", "other"]
    assert result["n_hits"].tolist() == [3, 1, 0]
    assert result["consistent"].tolist() == [True, False, False]
    assert (result["n_obs"] == 3).all()


def test_chance_exchanges_the_subjects_of_a_file():
    result = provenance.sources(FIGURE, VALUES).set_index("file")["n_by_chance"]
    # Of its three values one fits each printed number, and all fit the one not printed.
    assert result["swapped"] == pytest.approx(1 / 3 + 1 / 3 + 1)
    assert result["other"] == 0


def test_a_subject_with_two_values_has_two_chances():
    values = pd.DataFrame({"file": "one", "subject": ["a", "a", "b", "b"], "value": [1, 2, 3, 4.0]})
    figure = pd.DataFrame({"subject": ["a"], "printed": ["1"], "accuracy": [None]})
    # Of the six pairs of its values three hold the 1.
    assert provenance.sources(figure, values)["n_by_chance"].item() == pytest.approx(1 / 2)


def test_a_number_read_off_is_looked_for_within_its_accuracy():
    exact = FIGURE.assign(accuracy=[np.nan, np.nan, np.nan])
    assert provenance.sources(exact, VALUES)["n_hits"].iloc[0] == 2


def test_no_file_gives_no_row():
    assert provenance.sources(FIGURE, VALUES.iloc[:0]).empty


def test_refusals_say_what_must_hold():
    with pytest.raises(ColumnError, match="must have a column 'accuracy'"):
        provenance.sources(FIGURE.drop(columns="accuracy"), VALUES)
    with pytest.raises(ColumnError, match="must hold finite numbers"):
        provenance.sources(FIGURE, VALUES.assign(value=np.nan))
    with pytest.raises(AnalysisError, match="must be digits"):
        provenance.sources(FIGURE.assign(printed="about one"), VALUES)
