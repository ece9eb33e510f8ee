"""Crossed factors with thousands of levels: as lme4, and refused where memory would not do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from analysis import mixed
from analysis.mixed.algebra import levels
from analysis.mixed.algebra.levels import gather, separate
from analysis.mixed.algebra.size import FitSize, fit_size, require_memory
from analysis.tidy.errors import DesignError

R = Path(__file__).parents[3] / "r"


def test_students_crossed_with_lecturers_are_as_lme4():
    rows = pd.read_csv(
        R / "mixed_data_insteval.csv.gz", dtype=dict.fromkeys(["s", "d", "dept", "service"], str)
    )
    expected = pd.read_csv(R / "mixed_insteval.csv").set_index("quantity")
    model = mixed.fit("y ~ service + (1 | s) + (1 | d) + (1 | dept:service)", rows)
    assert model.cross.levels.outer is not None
    assert sparse.issparse(model.cross.levels.outer)
    assert model.optimum.converged
    criterion = model.glance()["criterion"].item()
    assert criterion == pytest.approx(expected.loc["criterion", "value"], abs=1e-6)
    fixed = model.tidy(["fixed"], df="wald")
    # The search of lme4 ends 5e-8 above the least criterion, which leaves its fifth digit open.
    np.testing.assert_allclose(fixed["estimate"], expected.loc["estimate", "value"], rtol=5e-5)
    np.testing.assert_allclose(fixed["std_error"], expected.loc["std_error", "value"], rtol=5e-5)
    deviations = model.tidy(["ran_pars"])["estimate"]
    np.testing.assert_allclose(deviations, expected.loc["sd", "value"], rtol=5e-5)


@pytest.mark.parametrize("width", [1, 2])
def test_sparse_sums_are_the_dense_ones(width, monkeypatch):
    rng = np.random.default_rng(3)
    cross = rng.normal(size=(40, width, 30)) * (rng.random((40, width, 30)) < 0.08)
    diagonal = rng.normal(size=(40, width, width))
    monkeypatch.setattr(levels, "LEAST_SPARSE", 100)
    monkeypatch.setattr(levels, "BATCH", 50)
    some, every = gather(diagonal, cross), separate(diagonal, cross)
    assert some.outer is not None
    assert sparse.issparse(some.outer)
    kernel, left, right = rng.normal(size=(3, 40, width, width))
    through = rng.normal(size=(30, 30))
    np.testing.assert_allclose(some.weighted(kernel), every.weighted(kernel), atol=1e-12)
    np.testing.assert_allclose(some.inner(through), every.inner(through), atol=1e-12)
    np.testing.assert_allclose(
        some.between(left, through, right), every.between(left, through, right), atol=1e-10
    )


def test_a_fit_beyond_memory_is_refused_before_it_starts(caplog, monkeypatch):
    rows = pd.read_csv(R / "mixed_data_crossed.csv")
    model = mixed.fit("gain ~ rho + (1 | model) + (1 | prompt)", rows)
    size = fit_size(model.design)
    assert size.n_dense == model.cross.n_random + model.cross.n_fixed + 1
    require_memory(model.design, size.memory)
    with pytest.raises(DesignError, match="memory"):
        require_memory(model.design, size.memory - 1)
    monkeypatch.setattr("analysis.mixed.algebra.size.of_machine", lambda: size.memory - 1)
    with pytest.raises(DesignError, match="memory") as refused:
        mixed.fit("gain ~ rho + (1 | model) + (1 | prompt)", rows)
    assert "merge or drop levels" in refused.value.hint
    assert not caplog.records
    assert FitSize(2_972, 1_159).memory < 1e9 < FitSize(100_000, 10_000).memory
