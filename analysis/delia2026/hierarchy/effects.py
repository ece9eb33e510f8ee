"""Heritage against geometry against scale: fixed effects of mixed models, alone and together.

The paper ranks who trained a model above its shape, and its shape above its size. Labs, suites and
models have intercepts of their own, so that degrees of freedom count labs and suites. Predictors
are standardised over models, so that coefficients of different quantities can be read side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.delia2026.sign.exchange import OTHER, heritage
from analysis.inference.partition import collinearity
from analysis.mixed.frames.guards import TOO_CLOSE
from analysis.mixed.model import MixedModel
from analysis.store import Store
from analysis.tidy import glossary, prose
from analysis.tidy.columns import Column

#: Predictors of every block.
BLOCKS: Mapping[str, tuple[str, ...]] = {
    "heritage": ("heritage",),
    "geometry": ("rho", "d_head", "n_layers"),
    "scale": ("log_parameters",),
}
EVERYTHING = "heritage + geometry + scale"
#: Random intercepts.
GROUPS = ("lab", "suite", "model_id")

#: With fewer Kenward-Roger degrees of freedom no t distribution has a mean.
LEAST_DF = 1

#: How a table names a predictor.
PREDICTORS = {
    "heritage": "heritage",
    "rho": "head density",
    "d_head": "head width",
    "n_layers": "depth",
    "log_parameters": "log10 parameters",
}


def figures(store: Store) -> pd.DataFrame:
    """Return one row per base model and prompt set: log gain of the penultimate block.

    Fine-tuned models are left out (they are no draws of their own from a lab), and so are post-norm
    models, whose gain is 1 by construction. The response is the logarithm of a mean ratio, averaged
    over number formats; its precision is the number of prompts.

    Returns
    -------
    `log_gain` [nat], `n_prompts`, `prompt_set`, `model_id`, `lab`, `suite`, `family`, `rho` [1],
    `d_head` [1], `n_layers` [1], `log_parameters` [1] and `heritage` (the named lab, or other).
    """
    rows = store.query(
        """
        SELECT metric, model_id, lab, suite, family, prompt_set,
               max(n_prompts) AS n_prompts,
               avg(log_gain)  AS log_gain,
               rho, d_head, n_layers, log_parameters
          FROM gain_by_model
         WHERE source = 'published'
           AND base_model_id IS NULL
           AND norm_position IS DISTINCT FROM 'post'
           AND metric = 'gain_penultimate_block'
         GROUP BY ALL
         ORDER BY model_id, prompt_set
        """
    )
    return rows.assign(heritage=heritage(rows["lab"]))


def fit(
    rows: pd.DataFrame, *, groups: Sequence[str] = GROUPS, weights: str | None = "n_prompts"
) -> dict[str, MixedModel]:
    """Return the fits of each block alone and of all together, by blocks joined with a plus.

    Parameters
    ----------
    rows
        As `figures` returns them.
    groups
        Columns that have random intercepts.
    weights
        Column of precisions; None where rows count the same.
    """
    scaled, _ = _standardise(rows)
    random = " + ".join(f"(1 | {group})" for group in groups)
    return {
        block: mixed.fit(
            f"log_gain ~ {' + '.join(_terms(block))} + {random}",
            scaled,
            weights=weights,
            contrasts={"heritage": OTHER} if "heritage" in block else None,
        )
        for block in (*BLOCKS, EVERYTHING)
    }


def fixed_effects(
    rows: pd.DataFrame, fits: Mapping[str, MixedModel], *, conf_level: float = 0.95
) -> pd.DataFrame:
    """Return the coefficients of every fit, with Kenward-Roger intervals.

    Parameters
    ----------
    rows, fits
        As `figures` and `fit` return them.
    conf_level
        Nominal coverage.

    Returns
    -------
    One row per fit and predictor: `block`, `term`, `estimate` [nat per standard deviation over
    models; of heritage, nat between its levels], `std_error`, `statistic`, `df`, `p_value`, the
    interval, `estimate_per_unit` [nat per unit of the predictor], `variance_inflation` (by the
    fit's other predictors, over models), `n_obs`, `n_models`, `n_suites`, `n_labs`, `note`. With
    less than one degree of freedom, or where the effects fit nearly every row, p is missing and the
    interval is the whole line.
    """
    _, deviations = _standardise(rows)
    parts = []
    for block, model in fits.items():
        tidy = model.tidy(["fixed"], conf_level=conf_level)
        terms = tidy["term"].str.partition("[")[0]
        known = tidy.assign(term=terms)[terms.isin(_terms(block))]
        inflation = _inflation(rows, _terms(block))
        parts.append(
            known.assign(
                block=block,
                estimate_per_unit=known["estimate"] / known["term"].map(deviations),
                variance_inflation=known["term"].map(inflation),
            )
        )
    effects = pd.concat(parts, ignore_index=True).drop(columns=["effect", "group", "level"])
    # Kenward and Roger's test has no ground elsewhere: neither p nor bounds.
    is_known = (effects["df"] >= LEAST_DF) & ~effects["note"].str.contains(TOO_CLOSE, regex=False)
    return glossary.table(
        effects.assign(
            p_value=effects["p_value"].where(is_known),
            conf_low=effects["conf_low"].where(is_known, -np.inf),
            conf_high=effects["conf_high"].where(is_known, np.inf),
        ).assign(
            n_obs=len(rows),
            n_models=rows["model_id"].nunique(),
            n_suites=rows["suite"].nunique(),
            n_labs=rows["lab"].nunique(),
        )
    )


def _interval(low: float, high: float) -> str:
    return prose.change_interval(low, high) if np.isfinite(low) else "not estimable"


#: The table of `fixed_effects`.
COLUMNS = {
    "predictor": Column("Predictor", "term", PREDICTORS),
    "block": Column(
        "Fitted with", "block", lambda it: "all predictors" if it == EVERYTHING else "its own group"
    ),
    "estimate": Column("Coefficient", "estimate", lambda it: prose.change(it, 1)),
    "interval": Column("95 % interval", ["conf_low", "conf_high"], _interval),
    "per_unit": Column("Per unit", "estimate_per_unit", lambda it: prose.change(it, 2)),
    "df": Column("df", "df", lambda it: prose.number(it, 1)),
    "p": Column("p", "p_value", prose.bare_p),
    "inflation": Column("Inflation", "variance_inflation", lambda it: prose.number(it, 1)),
}


def _terms(block: str) -> tuple[str, ...]:
    return tuple(name for each in block.split(" + ") for name in BLOCKS[each])


def _standardise(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the rows with numeric predictors in standard deviations over models, and these."""
    models = rows.drop_duplicates("model_id")
    names = [name for name in _terms(EVERYTHING) if name != "heritage"]
    deviations = {name: float(models[name].std()) for name in names}
    scaled = {name: (rows[name] - models[name].mean()) / deviations[name] for name in names}
    return rows.assign(**scaled), deviations


def _inflation(rows: pd.DataFrame, names: Sequence[str]) -> dict[str, float]:
    """Return by how much the other predictors inflate the variance of each, over models."""
    if len(names) == 1:
        return {names[0]: 1.0}
    models = rows.drop_duplicates("model_id")
    table = collinearity.inflation(models, blocks={name: [name] for name in names})
    return {str(row["block"]): float(row["estimate"]) for row in table.to_dict("records")}
