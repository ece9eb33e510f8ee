"""All definitions of gain at once: what suites and labs change in every one, and in one alone.

One row per base model and definition, in units of the standard deviation of that definition over
its models. Every definition has its own mean and slope by depth; labs, suites and models have a
level common to all definitions, labs and suites one in each definition besides. The specification
curve reads one definition after another; this reads them together, so that a model that is high
by all definitions counts once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.heritage.hierarchy.variance import RESIDUAL, group_variances
from analysis.heritage.robustness.blocks import published_blocks
from analysis.heritage.sign.exchange import NAMED_LAB
from analysis.mixed.algebra.design import Block
from analysis.mixed.algebra.deviance import Profile, profile
from analysis.mixed.algebra.optimise import quick
from analysis.mixed.algebra.simulate import simulator
from analysis.mixed.model import MixedModel
from analysis.store import Store
from analysis.tidy import glossary
from analysis.tidy.frame import Floats, require_conf_level, require_count

#: Definitions with fewer models are left out.
LEAST_MODELS = 8

#: The mean log gain over the published blocks after 0, which no table holds.
PROFILE_MEAN = "gain_published_blocks"

FORMULA = (
    "standardised ~ 0 + metric + metric:n_layers + (1 | lab) + (1 | suite) + (1 | model_id)"
    " + (1 | lab:metric) + (1 | suite:metric)"
)

#: The same with the named lab set against all others in every definition; suites vary beside it.
CONTRASTS = (
    "standardised ~ 0 + metric + metric:n_layers + metric:others + (1 | suite) + (1 | model_id)"
    " + (1 | suite:metric)"
)

#: What each group says, in the order of a table.
GROUPS = {
    "lab": "lab, alike in all definitions",
    "lab:metric": "lab, by definition",
    "suite": "suite, alike in all definitions",
    "suite:metric": "suite, by definition",
    "model_id": "model, alike in all definitions",
    RESIDUAL: "model, by definition",
}


def gains(store: Store) -> pd.DataFrame:
    """Return the published log gains, one row per base model and definition.

    Post-norm models are left out, and definitions with fewer than eight models.

    Returns
    -------
    `metric` (a definition, or ``gain_published_blocks``), `model_id`, `lab`, `suite`, `rho`,
    `d_head`, `n_layers`, `log_parameters`, `log_gain` [nat] (mean over files) and `standardised`
    [standard deviations over the models of the definition].
    """
    known = store.query(
        """
        SELECT metric, model_id, lab, suite, rho, d_head, n_layers, log_parameters,
               avg(log_gain) AS log_gain
          FROM gain_by_model
         WHERE source = 'published'
           AND base_model_id IS NULL
           AND norm_position IS DISTINCT FROM 'post'
         GROUP BY ALL
        """
    )
    means = published_blocks(store).groupby("model_id")["log_gain"].mean()
    shapes = known.drop_duplicates("model_id").set_index("model_id")
    profile = shapes.loc[means.index].assign(metric=PROFILE_MEAN, log_gain=means).reset_index()
    rows = pd.concat([known, profile], ignore_index=True)
    several = rows[rows.groupby("metric")["model_id"].transform("nunique") >= LEAST_MODELS]
    by_metric = several.groupby("metric")["log_gain"]
    standardised = (several["log_gain"] - by_metric.transform("mean")) / by_metric.transform("std")
    return several.assign(standardised=standardised).sort_values(
        ["metric", "model_id"], ignore_index=True
    )


def fit(rows: pd.DataFrame) -> MixedModel:
    """Return the joint fit of `gains`."""
    return mixed.fit(FORMULA, rows)


def contrasts(rows: pd.DataFrame, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return by how much other labs' gains exceed the named lab's in every definition, jointly.

    One fit of all definitions, so that a model that is high by all of them counts once. It has no
    p: where a variance is estimated as zero, intervals take levels of that group as alike.

    Parameters
    ----------
    rows
        As `gains` returns them.
    conf_level
        Nominal coverage of Kenward and Roger's intervals, each by itself.

    Returns
    -------
    One row per definition: `metric`, `estimate` [standard deviations over the models of the
    definition, at equal depth; positive as the paper has it], the interval, `df`, `n_models`,
    `n_suites`, `method` and `note`.
    """
    require_conf_level(conf_level)
    marked = rows.assign(others=(rows["lab"] != NAMED_LAB).astype(float))
    model = mixed.fit(CONTRASTS, marked)
    table = model.tidy(["fixed"], conf_level=conf_level)
    named = table["term"].str.extract(r"^metric\[(.*)\]:others$")[0]
    counts = rows.groupby("metric")[["model_id", "suite"]].nunique()
    outcome = table[named.notna()].assign(metric=named.dropna())
    singular = model.tidy(["ran_pars"])["note"].iloc[0]
    result = outcome[["metric", "estimate", "conf_low", "conf_high", "conf_level", "df"]].assign(
        n_models=outcome["metric"].map(counts["model_id"]),
        n_suites=outcome["metric"].map(counts["suite"]),
        method="Linear mixed model, restricted maximum likelihood; Kenward-Roger t",
        note=singular,
    )
    glossary.checked(result.columns)
    return result.reset_index(drop=True)


def components(
    rows: pd.DataFrame,
    *,
    rng: np.random.Generator,
    n_resamples: int = 199,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Return the share of each group in the variance that depth leaves.

    The intervals are percentiles of a parametric bootstrap; that of a variance estimated as zero
    starts at zero and is too short.

    Parameters
    ----------
    rows
        As `gains` returns them, perhaps fewer definitions.
    rng
        Of the bootstrap.
    n_resamples
        Responses drawn under the fit, fitted again.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per group of `GROUPS`: `group`, `variance` [standard deviations squared],
    `variance_share` with `conf_low` and `conf_high`, `conf_level`, `n_obs`, `n_models`,
    `n_suites`, `n_labs`, `n_resamples`, `method`.
    """
    require_conf_level(conf_level)
    require_count("n_resamples", n_resamples)
    model = fit(rows)
    blocks = model.design.blocks
    source = simulator(model.cross, model.found)
    drawn = np.empty((n_resamples, len(blocks) + 1))
    for draw in range(n_resamples):
        cross = source.draw(rng)
        drawn[draw] = _shares(blocks, profile(cross, quick(cross, model.found.theta)))
    tail = (1 - conf_level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="weibull")
    table = pd.DataFrame(
        {
            "group": [*(_named(block.group) for block in blocks), RESIDUAL],
            "variance": group_variances(blocks, model.found),
            "variance_share": _shares(blocks, model.found),
            "conf_low": low,
            "conf_high": high,
        }
    )
    result = table.set_index("group").loc[list(GROUPS)].reset_index()
    labelled = result.assign(
        conf_level=conf_level,
        n_obs=len(rows),
        n_models=rows["model_id"].nunique(),
        n_suites=rows["suite"].nunique(),
        n_labs=rows["lab"].nunique(),
        n_resamples=n_resamples,
        method="Restricted maximum likelihood; parametric bootstrap of shares, percentile",
    )
    glossary.checked(labelled.columns)
    return labelled


def _shares(blocks: Sequence[Block], entries: Profile) -> Floats:
    variances = group_variances(blocks, entries)
    return np.asarray(variances / variances.sum(), dtype=np.float64)


def _named(group: str) -> str:
    """Return the name of a grouping factor with the definition second."""
    return ":".join(sorted(group.split(":"), key=lambda name: name == "metric"))
