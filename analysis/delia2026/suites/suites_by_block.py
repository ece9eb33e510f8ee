"""In which part of the network suites differ, by one mixed model of all published blocks.

Every part of depth has its own mean of each suite and its own slope by the number of blocks; the
models of a suite vary about them, in every part by an amount of its own and correlated between
parts, ``(0 + part | model_id)``. The test of a part is the F test that its suites are alike, after
Kenward and Roger.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analysis import mixed
from analysis.delia2026.suites.blocks import QUARTERS
from analysis.inference.effects import multiplicity
from analysis.mixed.model import MixedModel
from analysis.tidy import glossary, prose
from analysis.tidy.columns import Column

FORMULA = "log_gain ~ 0 + part:suite + part:n_layers + (0 + part | model_id)"


def _extreme(suite: str, log_gain: float) -> str:
    return f"{suite} {prose.number(math.exp(log_gain))}"


#: The table of `part_tests`: the extreme suites as gains, and the p-values.
COLUMNS = {
    "part": Column("Part of the network", "part"),
    "lowest": Column("Lowest suite", ["first", "smallest"], _extreme),
    "highest": Column("Highest suite", ["second", "largest"], _extreme),
    "p": Column("p", "p_value", prose.bare_p),
    "adjusted": Column("p, Holm", "p_adjusted", prose.bare_p),
}


def fit(blocks: pd.DataFrame) -> MixedModel:
    """Return the fit of the model of position to the rows of `blocks.published_blocks`."""
    return mixed.fit(FORMULA, blocks)


def part_tests(model: MixedModel) -> pd.DataFrame:
    """Return, for every part of depth, the test that its suites are alike.

    Returns
    -------
    One row per part: `part`, `statistic` (F), `df_numerator`, `df` (of the denominator),
    `p_value` and `p_adjusted` (Holm, over the parts), `estimate` (standard deviation of the
    suites' means [nat per block]), `smallest` and `largest` of them [nat per block], `first` and
    `second` (the suites that have these), `n_obs`, `n_models`, `n_suites`, `method`, `note`.
    """
    parts, suites = _levels(model, "part"), _levels(model, "suite")
    means = model.means(("part", "suite")).set_index("contrast")["estimate"]
    rows = []
    for part in parts:
        # The contrasts of one part's suites with its first, shape (suites - 1, p).
        terms = model.terms
        items = [
            place for place, term in enumerate(terms) if term.startswith(f"part[{part}]:suite")
        ]
        contrasts = np.zeros((len(items) - 1, len(terms)))
        contrasts[:, items[0]] = -1
        contrasts[np.arange(len(items) - 1), items[1:]] = 1
        test = model.inference.joint(contrasts, "kenward-roger")
        of_suite = pd.Series([means[f"{part}:{suite}"] for suite in suites], index=list(suites))
        rows.append(
            {
                "part": part,
                "statistic": test.statistic,
                "df_numerator": test.df,
                "df": test.df_residual,
                "p_value": test.p_value,
                "estimate": of_suite.std(),
                "smallest": of_suite.min(),
                "largest": of_suite.max(),
                "first": of_suite.idxmin(),
                "second": of_suite.idxmax(),
            }
        )
    method = "F test of suites within the part; mixed model of all parts; Kenward-Roger"
    labelled = pd.DataFrame(rows).assign(
        family="quarter",
        n_obs=model.statistics.n_obs,
        n_models=len(_levels(model, "model_id")),
        n_suites=len(_levels(model, "suite")),
        method=method,
        note="A correlation between parts is estimated at its bound." * model.optimum.singular,
    )
    order = {part: place for place, part in enumerate(QUARTERS)}
    result = multiplicity.adjust(labelled, family="family", method="holm").sort_values(
        "part", key=lambda part: part.map(order), kind="stable"
    )
    glossary.checked(result.columns)
    return result.reset_index(drop=True)


def without_each_suite(blocks: pd.DataFrame) -> pd.DataFrame:
    """Return `part_tests` with each suite left out in turn, `left_out` naming it."""
    parts = [
        part_tests(fit(blocks[blocks["suite"] != suite])).assign(left_out=suite)
        for suite in sorted(set(blocks["suite"]))
    ]
    return pd.concat(parts, ignore_index=True)


def _levels(model: MixedModel, factor: str) -> tuple[str, ...]:
    return tuple(model.statistics.factors[factor].levels)
