"""Tests that a design does not allow are refused or missing, not printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import mixed
from analysis.inference.association import regression
from analysis.mixed.frames.tables import df_note
from analysis.mixed.refitting.permutation import permutation_test
from analysis.tidy.errors import DesignError

rows = pd.read_csv(Path(__file__).parents[3] / "r/mixed_data_crossed.csv")
rows["heritage"] = np.where(rows["lab"].isin(["alpha", "beta"]), "open", "closed")


def test_an_assignment_without_an_estimate_is_refused() -> None:
    # Another predictor of labs is matched by some assignment; a raw LinAlgError came out.
    other = rows.assign(second=rows["lab"].isin(["beta", "gamma"]).astype(float))
    model = mixed.fit("gain ~ heritage + second + (1 | model)", other, units=["lab"])
    with pytest.raises(DesignError, match=r"estimable whichever lab has .*'second'.* combination"):
        permutation_test(model, "heritage[T.open]", "heritage", "lab")


def test_whole_degrees_of_freedom_are_not_fewer_than_themselves() -> None:
    # Five clusters beside the one leave four degrees of freedom, less a rounding error.
    labs = np.repeat(list("abcdef"), 8)
    values = np.random.default_rng(5).normal(size=(2, 48))
    frame = pd.DataFrame({"lab": labs, "y": values[0], "one": (labs == "a").astype(float)})
    notes = regression.fit(frame, "y ~ one", cluster="lab").tidy()["note"]
    assert not notes.str.contains("Fewer than").any()
    assert not df_note(4 - 1e-12)
    assert df_note(3.9)
