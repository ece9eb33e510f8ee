"""The frames a fitted mixed model gives: tidy, glance, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import special

from analysis.mixed.algebra.design import Block
from analysis.mixed.frames import guards
from analysis.mixed.inference.fitted import Fitted, Specification
from analysis.mixed.inference.fixed_effects import NAMES, ContrastTests
from analysis.mixed.inference.r_squared import VarianceShares, variance_shares
from analysis.tidy import glossary
from analysis.tidy.errors import AnalysisError
from analysis.tidy.frame import Floats, require_conf_level, require_option

EFFECTS = ("fixed", "ran_pars", "ran_vals")

#: Below this a t reference is unreliable.
RELIABLE_DF = 4

#: Degrees of freedom this close to a whole number are that number.
ROUNDING = 1e-9


def tidy(model: Fitted, effects: tuple[str, ...], df: str, conf_level: float) -> pd.DataFrame:
    """Return one row per fixed effect, variance parameter or conditional mode."""
    frames = {
        "fixed": lambda: _fixed_rows(model, df, conf_level),
        "ran_pars": lambda: _variance_parameters(model),
        "ran_vals": lambda: _conditional_modes(model, conf_level),
    }
    return tidy_table(model, effects, conf_level, frames)


def effects_asked(effects: str | Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of effects asked for, one by its name or several."""
    asked = (effects,) if isinstance(effects, str) else tuple(effects)
    if not asked:
        raise AnalysisError(
            "At least one kind of effect must be asked for; found none.",
            f"Choose from {', '.join(EFFECTS)}.",
        )
    for effect in asked:
        require_option("effects", effect, EFFECTS)
    return asked


def tidy_table(
    model: Specification,
    effects: str | Sequence[str],
    conf_level: float,
    frames: Mapping[str, Callable[[], pd.DataFrame]],
) -> pd.DataFrame:
    """Return the frames of the effects asked for, one below the other."""
    require_conf_level(conf_level)
    parts = pd.concat([frames[each]() for each in effects_asked(effects)], ignore_index=True)
    return glossary.table(parts, n_obs=model.statistics.n_obs)


def glance(model: Fitted) -> pd.DataFrame:
    """Return one row about the whole model."""
    solution, optimum = model.solution, model.optimum
    return glance_table(
        model,
        variance_shares(model),
        criterion=solution.criterion,
        n_parameters=model.n_parameters,
        sigma=np.sqrt(solution.variance),
        gradient=float(np.abs(optimum.gradient).max()),
        converged=optimum.converged,
        singular=optimum.singular,
        method=_estimator(model),
        notes=guards.warnings(model, model.default_df)["note"],
    )


def glance_table(
    model: Specification,
    shares: VarianceShares,
    *,
    criterion: float,
    n_parameters: int,
    sigma: float,
    gradient: float,
    converged: bool,
    singular: bool,
    method: str,
    notes: Iterable[str],
) -> pd.DataFrame:
    """Return the row about a whole fit, linear or not.

    `n_groups` is the fewest levels of any grouping factor; where there are several the note counts
    the levels of each.
    """
    n_obs, blocks = model.statistics.n_obs, model.design.blocks
    counted = "; ".join(f"{each.group}, {len(each.levels)}" for each in blocks)
    several = [f"Groups: {counted}."] if len(blocks) > 1 else []
    return glossary.table(
        {
            "n_obs": [n_obs],
            "n_groups": [min(len(block.levels) for block in blocks)],
            "sigma": [sigma],
            "criterion": [criterion],
            "log_likelihood": [-criterion / 2],
            "aic": [criterion + 2 * n_parameters],
            "bic": [criterion + np.log(n_obs) * n_parameters],
            "df_residual": [float(n_obs - n_parameters)],
            "r_squared_marginal": [shares.marginal],
            "r_squared_conditional": [shares.conditional],
            "icc": [shares.intraclass],
            "gradient": [gradient],
            "converged": [converged],
            "singular": [singular],
            "method": [method],
            "note": [" ".join([*dict.fromkeys(notes), *several])],
        }
    )


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


def _fixed_rows(model: Fitted, df: str, conf_level: float) -> pd.DataFrame:
    tests = model.inference.tests(np.eye(len(model.terms)), df)
    warned, method = guards.warnings(model, df), f"{_estimator(model)}; {NAMES[df]}"
    return fixed_table(model, tests, warned, method, conf_level)


def fixed_table(
    model: Specification,
    tests: ContrastTests,
    warned: pd.DataFrame,
    method: str,
    conf_level: float,
) -> pd.DataFrame:
    """Return the rows of the fixed effects of a fit, linear or not, with what warns of each.

    ``warned`` has one row per warning: `term`, `note`.
    """
    low, high = tests.interval(conf_level)
    references = [f"Reference level: {each}." for each in model.design.references]
    carriers = [guards.carrier_of(model, column) for column in model.design.fixed]
    return pd.DataFrame(
        {
            "effect": "fixed",
            "group": "",
            "level": "",
            "term": model.terms,
            **tests.columns,
            "conf_low": low,
            "conf_high": high,
            "conf_level": conf_level,
            "n_groups": [
                len(carrier.levels) if carrier else model.statistics.n_obs for carrier in carriers
            ],
            "method": method,
            "note": [
                " ".join([*references, *_term_notes(warned, term), *df_note(each)])
                for term, each in zip(model.terms, tests.df, strict=True)
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


def spread_table(
    blocks: Iterable[tuple[Block, Floats]], *others: tuple[str, str, float, int]
) -> pd.DataFrame:
    """Return the rows of the deviations and correlations of groups, and of others."""
    rows = [row for block, covariance in blocks for row in spread_rows(block, covariance)]
    columns = ["group", "term", "estimate", "n_groups"]
    return pd.DataFrame([*rows, *others], columns=columns).assign(effect="ran_pars", level="")


def _variance_parameters(model: Fitted) -> pd.DataFrame:
    sigma = float(np.sqrt(model.solution.variance))
    residual = ("Residual", "sd__Observation", sigma, model.statistics.n_obs)
    note = "The fit is singular: a variance is zero or a correlation is one."
    return spread_table(model.inference.covariances, residual).assign(
        method=_estimator(model), note=note * int(model.optimum.singular)
    )


def _conditional_modes(model: Fitted, conf_level: float) -> pd.DataFrame:
    quantile, parts = float(special.ndtri((1 + conf_level) / 2)), []
    for modes in model.inference.modes:
        reach = quantile * modes.std_errors
        ends = {"conf_low": modes.effects - reach, "conf_high": modes.effects + reach}
        parts.append(
            modes_table(modes.block, estimate=modes.effects, std_error=modes.std_errors, **ends)
        )
    return pd.concat(parts, ignore_index=True).assign(
        effect="ran_vals",
        conf_level=conf_level,
        method="Conditional modes; conditional standard deviations, normal",
        note="",
    )


def modes_table(block: Block, **numbers: Floats) -> pd.DataFrame:
    """Return one row per level and effect of a group, with numbers of shape (levels, effects)."""
    return pd.DataFrame(
        {
            "group": block.group,
            "level": np.repeat(block.levels, block.width),
            "term": [column.name for column in block.columns] * len(block.levels),
            **{name: values.ravel() for name, values in numbers.items()},
            "n_groups": len(block.levels),
        }
    )
