"""A bound tested as a bound: how many models exceed it, not how well it correlates."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.inference.counts import fisher
from analysis.inference.resampling.bootstrap import cluster_bootstrap
from analysis.tidy import glossary
from analysis.tidy.frame import labels, numbers, require_columns, require_conf_level, require_rows


def violations(
    models: pd.DataFrame,
    *,
    rng: np.random.Generator,
    cluster: str = "suite",
    gain: str = "gain_mean",
    bound: str = "bound",
    lower: str | None = None,
    n_resamples: int = 1999,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the share of models above their bound, counted in several ways.

    A bound that holds is exceeded by no model, so one sure violation refutes it, and the share
    says how often it fails. Models of one suite are alike: the Clopper-Pearson interval takes
    them as independent and is too narrow, the cluster bootstrap resamples suites, and the
    last row counts suites.

    Parameters
    ----------
    models
        One row per model.
    rng
        Source of the draws.
    cluster
        Column naming the independent units.
    gain, bound
        Columns of gains and of their bounds [ratio].
    lower
        Column of lower confidence limits of the gains; rows where it is missing count as not
        above it. None when there is none.
    n_resamples, conf_level
        As in `analysis.inference.resampling.bootstrap.cluster_bootstrap`.

    Returns
    -------
    One row per way of counting: `term`, `n_violations`, `estimate` [share], the interval,
    `n_obs` (what is counted), `n_groups`, `method`, `note`. The bootstrap has no row when all
    models, or none, exceed the bound: its interval would have no width.

    Raises
    ------
    ColumnError
        If a column is absent or not numeric.
    DesignError
        If there are no models, or fewer than two clusters.
    """
    require_conf_level(conf_level)
    require_rows(models, 1, "A count of violations")
    above = numbers(models, gain) > numbers(models, bound)
    suites = labels(models, cluster)
    n_groups = int(suites.nunique())
    counted = pd.DataFrame({"cluster": suites.to_numpy(), "above": above.astype(float)})
    rows = [_counted("models above the bound", above, n_groups, conf_level)]
    if 0 < above.mean() < 1:
        rows.append(_resampled(counted, cluster, rng, n_resamples, conf_level))
    if lower is not None:
        require_columns(models, [lower])
        known = models[lower].notna().to_numpy()
        surely = np.zeros(len(models), dtype=np.bool_)
        surely[known] = numbers(models[known], lower) > numbers(models[known], bound)
        term = "models above the bound beyond the error of their mean"
        rows.append(_counted(term, surely, n_groups, conf_level))
    by_suite = counted.groupby("cluster", observed=True)["above"].max().to_numpy() > 0
    rows.append(
        _counted(f"{cluster}s with a model above the bound", by_suite, n_groups, conf_level)
    )
    result = pd.DataFrame(rows)
    glossary.checked(result.columns)
    return result


def _counted(
    term: str,
    above: NDArray[np.bool_],
    n_groups: int,
    conf_level: float,
) -> dict[str, object]:
    hits = int(above.sum())
    share = fisher.proportion(hits, len(above), conf_level=conf_level).iloc[0]
    return {
        "term": term,
        "n_violations": hits,
        "estimate": share["estimate"],
        "conf_low": share["conf_low"],
        "conf_high": share["conf_high"],
        "conf_level": conf_level,
        "n_obs": len(above),
        "n_groups": n_groups,
        "method": "Clopper-Pearson interval",
        "note": "Takes models as independent." if len(above) > n_groups else "",
    }


def _resampled(
    counted: pd.DataFrame,
    cluster: str,
    rng: np.random.Generator,
    n_resamples: int,
    conf_level: float,
) -> dict[str, object]:
    def share_above(rows: pd.DataFrame) -> float:
        return float(rows["above"].mean())

    row = cluster_bootstrap(
        counted,
        share_above,
        cluster="cluster",
        rng=rng,
        n_resamples=n_resamples,
        conf_level=conf_level,
    ).iloc[0]
    return {
        "term": "models above the bound",
        "n_violations": int(counted["above"].sum()),
        "estimate": row["estimate"],
        "conf_low": row["conf_low"],
        "conf_high": row["conf_high"],
        "conf_level": conf_level,
        "n_obs": row["n_obs"],
        "n_groups": row["n_groups"],
        "method": f"{row['method']}, by {cluster}",
        "note": row["note"],
    }
