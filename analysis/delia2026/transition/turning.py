"""L* of the models in a store: where their profiles turn, measured and published."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.delia2026.transition import frames as l_star_frames
from analysis.delia2026.transition import l_star
from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.defaults import PROFILE
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import nearest

KEY = ["source", "model_id", "prompt_set", "file"]

#: What a prediction lacks where it names no layer.
LACKING = {
    "formula": "Blocks have no heads, or not all the same number.",
    "a_priori": "No gain in the same file.",
}


def metrics(store: Store) -> list[str]:
    """Return the names of the profiles that the store holds, measured or published."""
    named = store.query(
        """
        SELECT metric FROM depth_profile
         UNION
        SELECT metric FROM published_profile
         ORDER BY metric
        """
    )
    return [str(name) for name in named["metric"]]


def profiles(store: Store, metric: str) -> pd.DataFrame:
    """Return every profile of one quantity.

    Returns
    -------
    One row per profile and layer: `source`, `model_id`, `prompt_set`, `file` (run_id of a
    measured profile), `layer`, `value` [see metric]. Measured are the primary runs.

    Raises
    ------
    AnalysisError
        If the store holds no such profile.
    """
    known = metrics(store)
    if metric not in known:
        hint = f"Did you mean {nearest(metric, known)!r}?" if known else "Measure a model first."
        raise AnalysisError(f"A profile must be one that the store holds; {metric!r} is not.", hint)
    return store.query(
        """
        SELECT 'measured' AS source, d.model_id, r.prompt_set, d.run_id AS file, d.layer, d.value
          FROM depth_profile AS d
          JOIN primary_run AS r USING (run_id)
         WHERE d.metric = $metric
         UNION ALL
        SELECT 'published', model_id, prompt_set, file, layer, value
          FROM published_profile
         WHERE metric = $metric
         ORDER BY ALL
        """,
        metric=metric,
    )


def layers(store: Store, metric: str = PROFILE) -> pd.DataFrame:
    """Return L* of every profile of one quantity by every estimator, and what is predicted.

    Returns
    -------
    One row per profile and method: `source`, `model_id`, `prompt_set`, `file`, `method`,
    `estimate` [layers], `n_obs` (layers), `note`. Methods are the names of
    `l_star.ESTIMATORS`, then `formula`, `a_priori` (from the gain of the penultimate
    block in the same file, if there is one) and `half_depth`, which read no profile.

    Raises
    ------
    AnalysisError
        If the store holds no such profile.
    DesignError
        If a profile has a hole.
    """
    result = l_star_frames.estimates(profiles(store, metric), value="value", by=KEY)
    predicted = _predictions(store, result[KEY].drop_duplicates())
    both = pd.concat([result, predicted], ignore_index=True)
    order = [*l_star.ESTIMATORS, "formula", "a_priori", "half_depth"]
    ranks = both["method"].map(order.index)
    ranked = both.assign(rank=ranks).sort_values([*KEY, "rank"], ignore_index=True)
    return ranked.drop(columns="rank")


def disagreement(store: Store, model_id: str) -> dict[str, str]:
    """Return what the estimators name on one model's published traces, in words.

    Keys: `lowest` and `highest` layer of any estimator on any published trace, `n_layers`,
    and the layer by the gradient on each of the two, `first_head` and `multi_head`.
    """
    by_trace = {}
    for metric in ("trace_first_head", "trace_multi_head"):
        rows = layers(store, metric)
        is_meant = (rows["model_id"] == model_id) & (rows["source"] == "published")
        by_trace[metric] = rows[is_meant & rows["method"].isin(l_star.ESTIMATORS)]
    named = pd.concat(by_trace.values())
    by_gradient = {
        metric.removeprefix("trace_"): prose.count(
            rows.loc[rows["method"] == "argmax_abs_gradient", "estimate"].max()
        )
        for metric, rows in by_trace.items()
    }
    return by_gradient | {
        "lowest": prose.count(named["estimate"].min()),
        "highest": prose.count(named["estimate"].max()),
        "n_layers": prose.count(named["n_obs"].max()),
    }


def sign_changes(store: Store) -> dict[str, str]:
    """Return the mean published L* by the first sign change, and that of noise, in words."""
    published = store.query(
        """
        SELECT avg(mean) AS layer
          FROM published_figure
         WHERE metric = 'l_star_empirical'
           AND file LIKE 'l_star_sign_change%'
        """
    )["layer"].item()
    by_chance = sum(layer * l_star.sign_change_by_chance(layer) for layer in range(1, 100))
    return {"published": prose.number(published, 1), "by_chance": prose.number(by_chance, 1)}


def _predictions(store: Store, named: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the three methods that read no profile, for profiles named by `KEY`."""
    models = store.query("SELECT model_id, n_layers, n_heads::DOUBLE AS n_heads FROM raw.model")
    gains = store.query(
        """
        SELECT model_id, prompt_set, file, any_value(gain_mean) AS gain
          FROM gain_by_model
         WHERE metric = 'gain_penultimate_block'
         GROUP BY model_id, prompt_set, file
        """
    )
    designs = named.merge(models, on="model_id").merge(
        gains, on=["model_id", "prompt_set", "file"], how="left"
    )
    rows = []
    for row in designs.to_dict("records"):
        by_method = {
            "formula": l_star.formula(row["n_layers"], row["n_heads"]),
            "a_priori": l_star.a_priori(row["n_layers"], row["gain"]),
            "half_depth": l_star.half_depth(row["n_layers"]),
        }
        key = {name: row[name] for name in KEY}
        rows += [
            key
            | {"method": method, "estimate": estimate, "n_obs": row["n_layers"]}
            | {"note": "" if np.isfinite(estimate) else LACKING[method]}
            for method, estimate in by_method.items()
        ]
    return pd.DataFrame(rows, columns=[*KEY, "method", "estimate", "n_obs", "note"])
