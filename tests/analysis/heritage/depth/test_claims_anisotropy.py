"""Phases of anisotropy: counted by hand, undecided without the paper's models."""

import numpy as np
import pandas as pd
import pytest

from analysis import audit as claims
from analysis.heritage.depth import claims_anisotropy as anisotropy
from analysis.heritage.pages.register import CLAIMS
from analysis.store import open_store
from collect.record.writer import write_table


def prompts(profile, wobble=(-0.01, 0.0, 0.03)):
    """Return one row per prompt that follows a profile with steps a little larger or smaller."""
    shifts = np.array(wobble)[:, None] * np.arange(len(profile))
    return pd.DataFrame(np.array(profile) + shifts)


def test_a_step_counts_where_the_prompts_agree():
    # The flat step is -0.01, 0 and 0.03: its mean is above 0, its interval is not.
    assert anisotropy.directions(prompts([0, 1, 1, 0])).tolist() == [1, 0, -1]
    assert anisotropy.directions(pd.DataFrame([[0.0, 1.0]])).tolist() == [0]


def test_runs_are_counted_over_the_steps_that_count():
    assert anisotropy.runs(np.array([1, 1, 0, 1, -1, -1, 0, 1])) == 3
    assert anisotropy.runs(np.array([])) == 0


def test_no_file_and_no_small_model_decides(shipped_store):
    rows = claims.checks(shipped_store, 51, CLAIMS)
    assert rows["holds"].isna().all()
    assert rows["note"].iloc[0].startswith("No data: no file of the paper holds")
    assert claims.judge(shipped_store, 51, CLAIMS)["verdict"] == "no data"


def as_theirs(folder, profile):
    """Make the tiny model one of the paper's, with a profile of anisotropy over its depth."""
    depth = len(profile) - 1
    path = folder / "token_geometry/test--tiny@S.parquet"
    row = pd.read_parquet(path).iloc[[0]]
    sites = [("block_input", 0), *(("block_output", layer) for layer in range(depth))]
    rows = [
        row.assign(prompt_id=f"S:{prompt:02}", site=site, layer=layer, mean_cosine=value)
        for prompt in range(2)
        for (site, layer), value in zip(sites, profile, strict=True)
    ]
    geometry = pd.concat(rows)
    geometry["mean_cosine"] += np.where(geometry["prompt_id"] == "S:01", 1e-6, 0) * np.arange(
        len(geometry)
    )
    write_table("token_geometry", geometry, path)
    for model in folder.glob("model/*.parquet"):
        write_table("model", pd.read_parquet(model).assign(n_layers=depth), model)
    pd.DataFrame(
        {"model_id": ["test/tiny"], "metric": ["weight_spectral_v"], "prompt_set": ["none"]}
        | {"dtype": ["none"], "file": ["f"], "path": ["p"], "mean": [1.0], "sd": [""], "n": [1]}
        | {"unit": ["u"], "caveats": [""]}
    ).to_csv(folder / "published_figure.csv", index=False)
    return open_store(folder)


@pytest.mark.parametrize(
    ("profile", "holds"),
    [
        ([0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3], True),
        ([0.1, 0.2, 0.3, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4, 0.5], False),
        ([0.1, 0.2, 0.1, 0.2, 0.1, 0.2], None),
    ],
)
def test_the_paper_s_models_decide_when_they_are_deep_enough(tiny_copy, profile, holds):
    store = as_theirs(tiny_copy, profile)
    row = anisotropy.five_phases(store)[1]
    assert row.holds is holds
    assert row.n_models == 1
