"""Models simulated with known effects of heritage and geometry, and rows picked from a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.heritage.hierarchy.frames import DataSet

GROUPS = ("lab", "suite", "model_id", "prompt_id")
LAB_SD, SUITE_SD, MODEL_SD, PROMPT_SD, RESIDUAL_SD = 0.3, 0.2, 0.15, 0.1, 0.2
LAYERS_EFFECT, HERITAGE_EFFECT = -0.25, 0.6


def simulated(n_labs: int = 40, seed: int = 3) -> DataSet:
    """Two suites per lab, four models per suite, six prompts; every other lab is the named one.

    Depth lowers the gain by a quarter per standard deviation; the other predictors do nothing.
    """
    rng = np.random.default_rng(seed)
    suites = np.arange(2 * n_labs)
    models = pd.DataFrame({"suite": np.repeat(suites, 4)})
    models["lab"] = models["suite"] // 2
    n_models = len(models)
    models = models.assign(
        model_id=[f"m{place:04d}" for place in range(n_models)],
        family="one",
        rho=rng.uniform(0.1, 0.5, n_models),
        d_head=rng.choice([64, 80, 128], n_models),
        n_layers=rng.integers(6, 48, n_models),
        log_parameters=rng.uniform(7, 10, n_models),
        heritage=np.where(models["lab"] % 2 == 0, "EleutherAI", "other"),
    )
    depth = (models["n_layers"] - models["n_layers"].mean()) / models["n_layers"].std()
    level = LAYERS_EFFECT * depth + HERITAGE_EFFECT * (models["heritage"] == "EleutherAI")
    level += LAB_SD * rng.standard_normal(n_labs)[models["lab"]]
    level += SUITE_SD * rng.standard_normal(2 * n_labs)[models["suite"]]
    level += MODEL_SD * rng.standard_normal(n_models)
    prompts = pd.DataFrame({"prompt_id": [f"p{place}" for place in range(6)]})
    prompts["push"] = PROMPT_SD * rng.standard_normal(6)
    rows = models.assign(level=level).merge(prompts, how="cross")
    noise = RESIDUAL_SD * rng.standard_normal(len(rows))
    rows["log_gain"] = rows["level"] + rows["push"] + noise
    rows = rows.assign(lab=rows["lab"].map("lab{}".format), suite=rows["suite"].map("s{}".format))
    return DataSet("published prompts", "gain_last_block", rows, GROUPS)


def of(rows: pd.DataFrame, **chosen: str) -> pd.DataFrame:
    for column, value in chosen.items():
        rows = rows[rows[column] == value]
    return rows.reset_index(drop=True)
