"""The frames a fitted mixed model gives: tidy, glance, groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.mixed.algebra.design import Block
from analysis.mixed.algebra.estimates import Modes
from analysis.mixed.frames import guards
from analysis.mixed.inference.distributions import normal_quantile
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.inference.r_squared import variance_shares
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import Floats, require_conf_level, require_option

EFFECTS = ("fixed", "ran_pars", "ran_vals")

#: Below this a t reference is unreliable.
RELIABLE_DF = 4

#: Degrees of freedom this close to a whole number are that number.
ROUNDING = 1e-9


def effects_asked(effects: str | Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of effects asked for, one by its name or several."""
    asked = (effects,) if isinstance(effects, str) else tuple(effects)
    if not asked:
        raise AnalysisError(
            "Some effects must be asked for; found none.", f"Choose from {', '.join(EFFECTS)}."
        )
    for effect in asked:
        require_option("effects", effect, EFFECTS)
    return asked


def tidy(model: Fitted, effects: tuple[str, ...], df: str, conf_level: float) -> pd.DataFrame:
    """Return one row per fixed effect, variance parameter or conditional mode."""
    require_conf_level(conf_level)
    parts = []
    for effect in effects:
        if effect == "fixed":
            parts.append(_fixed(model, df, conf_level))
        elif effect == "ran_pars":
            parts.append(_variance_parameters(model))
        else:
            parts.append(_conditional_modes(model, conf_level))
    return glossary.table(pd.concat(parts, ignore_index=True).assign(n_obs=model.statistics.n_obs))


def glance(model: Fitted) -> pd.DataFrame:
    """Return one row about the whole model."""
    shares = variance_shares(model)
    solution, optimum = model.solution, model.optimum
    n_parameters = len(model.terms) + len(solution.theta) + 1
    notes = list(dict.fromkeys(guards.warnings(model, model.default_df)["note"]))
    return glossary.table(
        {
            "n_obs": [model.statistics.n_obs],
            "n_groups": [min(len(block.levels) for block in model.design.blocks)],
            "sigma": [np.sqrt(solution.variance)],
            "criterion": [solution.criterion],
            "log_likelihood": [-solution.criterion / 2],
            "aic": [solution.criterion + 2 * n_parameters],
            "bic": [solution.criterion + np.log(model.statistics.n_obs) * n_parameters],
            "df_residual": [float(model.statistics.n_obs - n_parameters)],
            "r_squared_marginal": [shares.marginal],
            "r_squared_conditional": [shares.conditional],
            "icc": [shares.intraclass],
            "gradient": [float(np.abs(optimum.gradient).max())],
            "converged": [optimum.converged],
            "singular": [optimum.singular],
            "method": [_estimator(model)],
            "note": [" ".join([*notes, *several_groups(model.design.blocks)])],
        }
    )


def several_groups(blocks: Sequence[Block]) -> list[str]:
    """Return the sentence that counts the levels of each grouping factor, if there are several.

    `n_groups` of the whole model is the fewest of them.
    """
    if len(blocks) < 2:
        return []
    return [f"Groups: {'; '.join(f'{each.group}, {len(each.levels)}' for each in blocks)}."]


def groups(model: Fitted) -> pd.DataFrame:
    """Return one row per grouping factor."""
    blocks = model.design.blocks
    return glossary.table(
        {
            "group": [block.group for block in blocks],
            "n_groups": [len(block.levels) for block in blocks],
            "n_obs": model.statistics.n_obs,
        }
    )


def _estimator(model: Fitted) -> str:
    likelihood = "restricted maximum likelihood" if model.reml else "maximum likelihood"
    return f"Linear mixed model, {likelihood}"


def _fixed(model: Fitted, df: str, conf_level: float) -> pd.DataFrame:
    tests = model.inference.tests(np.eye(len(model.terms)), df)
    warned, method = guards.warnings(model, df), f"{_estimator(model)}; {NAMES[df]}"
    return fixed_table(model, tests, warned, method, conf_level)


def fixed_table(
    model: guards.Designed,
    tests: ContrastTests,
    warned: pd.DataFrame,
    method: str,
    conf_level: float,
) -> pd.DataFrame:
    """Return the rows of the fixed effects of a fit, linear or not, with what warns of each.

    ``warned`` has one row per warning: `term`, `note`.
    """
    low, high = tests.interval(conf_level)
    terms = [column.name for column in model.design.fixed]
    references = [f"Reference level: {each}." for each in model.design.references]
    carriers = [guards.carrier_of(model, column) for column in model.design.fixed]
    return pd.DataFrame(
        {
            "effect": "fixed",
            "group": "",
            "level": "",
            "term": terms,
            "estimate": tests.estimates,
            "std_error": tests.std_errors,
            "statistic": tests.statistics,
            "df": tests.df,
            "p_value": tests.p_values,
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_groups": [
                len(carrier.levels) if carrier else model.statistics.n_obs for carrier in carriers
            ],
            "method": method,
            "note": [
                " ".join([*references, *_term_notes(warned, term), *df_note(each)])
                for term, each in zip(terms, tests.df, strict=True)
            ],
        }
    )


def _term_notes(warned: pd.DataFrame, term: str) -> list[str]:
    named = zip(warned["term"], warned["note"], strict=True)
    return [note for about, note in named if about == term]


def df_note(df: float) -> list[str]:
    """Return what must be said of a t test with so few degrees of freedom, if anything."""
    if df >= RELIABLE_DF - ROUNDING:
        return []
    return [f"Fewer than {RELIABLE_DF} degrees of freedom: the p-value is unreliable."]


def spread_rows(block: Block, covariance: Floats) -> list[tuple[str, str, float, int]]:
    """Return `group`, `term`, `estimate`, `n_groups` of deviations and correlations of a group.

    Terms are named as by broom.mixed.
    """
    deviations = np.sqrt(np.diag(covariance))
    names = [column.name for column in block.columns]
    rows = []
    for row, column in block.positions:
        value, term = deviations[row], f"sd__{names[row]}"
        if row != column:
            term = f"cor__{names[column]}.{names[row]}"
            product = deviations[row] * deviations[column]
            value = covariance[row, column] / product if product > 0 else np.nan
        rows.append((block.group, term, float(value), len(block.levels)))
    return rows


def _variance_parameters(model: Fitted) -> pd.DataFrame:
    rows = []
    for modes in model.inference.modes:
        rows += spread_rows(modes.block, modes.covariance)
    sigma = float(np.sqrt(model.solution.variance))
    rows.append(("Residual", "sd__Observation", sigma, model.statistics.n_obs))
    parameters = pd.DataFrame(rows, columns=["group", "term", "estimate", "n_groups"])
    return parameters.assign(
        effect="ran_pars", level="", method=_estimator(model), note=_singular_note(model)
    )


def _singular_note(model: Fitted) -> str:
    return "The fit is singular: a variance is zero or a correlation is one." * int(
        model.optimum.singular
    )


def _conditional_modes(model: Fitted, conf_level: float) -> pd.DataFrame:
    parts = [_modes_frame(modes, conf_level) for modes in model.inference.modes]
    return pd.concat(parts, ignore_index=True).assign(
        effect="ran_vals",
        conf_level=conf_level,
        method="Conditional modes; conditional standard deviations, normal",
        note="",
    )


def _modes_frame(modes: Modes, conf_level: float) -> pd.DataFrame:
    width, levels = modes.block.width, modes.block.levels
    reach = normal_quantile((1 + conf_level) / 2) * modes.std_errors
    return pd.DataFrame(
        {
            "group": modes.block.group,
            "level": np.repeat(levels, width),
            "term": [column.name for column in modes.block.columns] * len(levels),
            "estimate": modes.effects.ravel(),
            "std_error": modes.std_errors.ravel(),
            "conf_low": (modes.effects - reach).ravel(),
            "conf_high": (modes.effects + reach).ravel(),
            "n_groups": len(levels),
        }
    )
