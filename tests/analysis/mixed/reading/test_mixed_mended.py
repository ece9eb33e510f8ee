"""Inputs that once ended in an error of Python's, or in numbers of other rows without a word."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from analysis import mixed
from analysis.tidy.errors import ColumnError
from tests.analysis.places import R

rows = pd.read_csv(R / "mixed_data_crossed.csv")
FORMULA = "gain ~ kind + depth + (1 | model)"


@pytest.mark.parametrize("kind", ["series", "array", "list", "arrow", "mapping"])
def test_weights_may_be_one_number_a_row(kind):
    named = mixed.fit(FORMULA, rows, weights="precision").tidy()
    given = {
        "series": (rows, rows["precision"]),
        "array": (rows, rows["precision"].to_numpy()),
        "list": (rows, rows["precision"].tolist()),
        "arrow": (pa.Table.from_pandas(rows), rows["precision"].to_numpy()),
        "mapping": (rows.to_dict("list"), rows["precision"].tolist()),
    }[kind]
    model = mixed.fit(FORMULA, given[0], weights=given[1])
    pd.testing.assert_frame_equal(model.tidy(), named)
    again = model.update(". ~ . - depth").tidy()
    fewer = mixed.fit("gain ~ kind + (1 | model)", rows, weights="precision").tidy()
    pd.testing.assert_frame_equal(again, fewer)


def test_weights_that_do_not_fit_the_rows_are_refused():
    with pytest.raises(ColumnError, match="one number for each of the 371 rows"):
        mixed.fit(FORMULA, rows, weights=rows["precision"].head(5))
    with pytest.raises(ColumnError, match="index"):
        mixed.fit(FORMULA, rows, weights=rows["precision"].sort_values())
    with pytest.raises(ColumnError, match="one number"):
        mixed.fit(FORMULA, rows, weights=rows["kind"])
    with pytest.raises(ColumnError, match="expression"):
        mixed.fit(FORMULA, mixed.fit(FORMULA, rows).source, weights=[1.0])


def test_a_number_and_its_text_are_not_made_one_level():
    labels = np.where(np.arange(len(rows)) % 2, "1", None)
    mingled = rows.assign(
        label=pd.Series([1 if each is None else each for each in labels], dtype=object)
    )
    with pytest.raises(ColumnError, match="'label'"):
        mixed.fit("gain ~ label + (1 | model)", mingled)
    with pytest.raises(ColumnError, match="'label'"):
        mixed.fit("gain ~ depth + (1 | label)", mingled)
    apart = mingled.assign(label=mingled["label"].map(repr))
    terms = mixed.fit("gain ~ label + (1 | model)", apart).terms
    assert len(terms) == 2
    assert mixed.fit("gain ~ depth + (1 | model)", mingled).terms == ("Intercept", "depth")


@pytest.mark.parametrize(
    "pair", [(1, True), (True, "True"), (0, False), (np.True_, "1"), (2.5, "2.5")], ids=repr
)
def test_two_labels_that_read_alike_are_named(pair):
    labels = pd.Series([pair[place % 2] for place in range(len(rows))], dtype=object)
    with pytest.raises(ColumnError, match="'label' must hold labels of one type"):
        mixed.fit("gain ~ depth + (1 | label)", rows.assign(label=labels))


def test_an_analysis_of_variance_without_intercept_says_what_it_tests():
    model = mixed.fit("gain ~ 0 + kind + depth + (1 | model)", rows)
    for kind in ("II", "III"):
        notes = model.anova(type=kind).set_index("term")["note"]
        assert "all means of kind are zero" in notes["kind"]
        assert "means" not in notes["depth"]
    assert not mixed.fit(FORMULA, rows).anova()["note"].str.contains("means").any()
