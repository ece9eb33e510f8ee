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
from analysis.mixed.refitting.robust import COVARIANCES, cluster_robust, wild_cluster_bootstrap
from analysis.tidy.errors import DesignError

rows = pd.read_csv(Path(__file__).parents[3] / "r/mixed_data_crossed.csv")
rows["heritage"] = np.where(rows["lab"].isin(["alpha", "beta"]), "open", "closed")


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("formula", ["gain ~ 0 + lab", "gain ~ alone", "gain ~ lab + depth"])
def test_a_term_that_one_cluster_determines_has_no_test(formula: str, covariance: str) -> None:
    # Its score is rounding: CR1 of a mean of one lab gave p = 1e-76, CR3 p = 0.
    one = rows.assign(alone=(rows["lab"] == "alpha").astype(float))
    model = mixed.fit(f"{formula} + (1 | prompt)", one, units=["lab"])
    found = cluster_robust(model, "lab", covariance=covariance).set_index("term")
    of_one = [term for term in model.terms if term not in ("depth", "Intercept")]
    assert found.loc[of_one, ["std_error", "df", "p_value", "conf_low"]].isna().all(axis=None)
    assert found.loc[of_one, "note"].str.contains("it cannot be tested").all()
    if "depth" in model.terms:
        assert found.loc["depth", ["std_error", "p_value"]].notna().all()
    with pytest.raises(DesignError, match="Several clusters must determine"):
        wild_cluster_bootstrap(model, of_one[0], "lab")


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
