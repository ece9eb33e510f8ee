"""What the hierarchy refuses, or answers with the reason why it cannot."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from analysis.heritage.hierarchy import hierarchy
from analysis.heritage.hierarchy.frames import DataSet
from analysis.heritage.hierarchy.models import NOTHING, fit_family, specify
from analysis.store import Store, open_store
from analysis.tidy.errors import DesignError
from tests.analysis.heritage.hierarchy.simulated import GROUPS, of, simulated

ROOT = Path(__file__).parents[4]


def test_predictors_that_do_not_vary_are_refused_by_name() -> None:
    made = simulated(6)
    rows = made.rows.assign(log_parameters=8.0)
    family = fit_family(DataSet(made.evidence_level, made.metric, rows, GROUPS))
    found = hierarchy.fixed_effects([family])
    assert of(found, block="scale")["note"].item() == (
        "No predictor of scale varies between these models."
    )
    notes = of(found, block="geometry")["note"]
    assert notes.str.contains("left out: log_parameters.", regex=False).all()


def test_rows_without_any_group_give_reasons_and_no_error() -> None:
    made = simulated(6)
    models = made.rows.drop_duplicates("model_id").assign(lab="one", suite="one")
    family = fit_family(DataSet(made.evidence_level, made.metric, models, GROUPS[:3]))
    for frame in (
        hierarchy.fixed_effects([family]),
        hierarchy.variance_components([family], rng=np.random.default_rng(1)),
        hierarchy.conditional_modes([family]),
    ):
        assert (frame["note"] != "").all()
    assert "must have a group with several levels" in family.members[NOTHING].reason


def test_a_single_model_gives_reasons_and_no_error(tiny_store: Store) -> None:
    families = hierarchy.fit(tiny_store)
    assert [family.data_set.name for family in families] == ["measured layers, every block after 0"]
    for frame in (
        hierarchy.fixed_effects(families),
        hierarchy.heritage_permutations(families),
    ):
        assert (frame["note"] != "").all()


def test_a_store_without_gains_is_refused(tmp_path: Path) -> None:
    shutil.copy(ROOT / "data/published/model.csv", tmp_path)
    with pytest.raises(DesignError, match="must have gains to explain; the store has none"):
        hierarchy.fit(open_store(tmp_path))


def test_a_group_that_repeats_another_is_named() -> None:
    made = simulated(6)
    rows = made.rows.assign(suite=made.rows["lab"])
    specification = specify(DataSet(made.evidence_level, made.metric, rows, GROUPS))
    assert specification.groups == ("lab", "model_id", "prompt_id")
    assert "Every lab has one suite: lab stands for both." in specification.notes
