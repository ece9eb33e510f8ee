"""statsmodels' MixedLM as a second engine: what it makes of a formula, where it can fit it.

It fits one grouping factor with correlated effects, and intercepts or slopes without correlation
of several: nested within the first, or crossed within one group of all rows (slow: the matrix of
all rows is inverted). Its tests are z tests.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.mixed.reading.formula import MixedFormula, RandomTerm, parse
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.extra import extra

#: The one group of all rows, within which effects are crossed.
_ALL = "all rows"


class Arguments(NamedTuple):
    """What `MixedLM.from_formula` is given for a formula.

    The factors whose combinations are its groups, none for one group of all rows; its `re_formula`;
    and its `vc_formula`: by grouping factor and term, a space between, what varies without
    correlation.
    """

    group: tuple[str, ...]
    correlated: str | None
    components: dict[str, str]


@dataclass(frozen=True, repr=False)
class StatsmodelsModel:
    """A fit of statsmodels' with the frames of a fit of ours.

    Attributes
    ----------
    formula
        As the caller wrote it, in its parts.
    result
        `MixedLMResults` of statsmodels.
    arguments
        What statsmodels was given.
    """

    formula: MixedFormula
    result: Any
    arguments: Arguments

    def tidy(self, *, conf_level: float = 0.95) -> pd.DataFrame:
        """Return one row per fixed effect (z test) and per standard deviation or correlation."""
        result, n_obs = self.result, int(self.result.nobs)
        ends = result.conf_int(alpha=1 - conf_level)
        names = list(result.fe_params.index)
        fixed = pd.DataFrame(
            {
                "effect": "fixed",
                "term": names,
                "estimate": result.fe_params.to_numpy(),
                "std_error": result.bse_fe.to_numpy(),
                "statistic": result.tvalues[names].to_numpy(),
                "df": np.inf,
                "p_value": result.pvalues[names].to_numpy(),
                "conf_low": ends.loc[names, 0].to_numpy(),
                "conf_high": ends.loc[names, 1].to_numpy(),
                "conf_level": conf_level,
            }
        )
        rows = pd.DataFrame(self._deviations(), columns=["group", "term", "estimate"])
        frame = pd.concat([fixed, rows.assign(effect="ran_pars")], ignore_index=True)
        return glossary.table(frame, method=self._method, n_obs=n_obs)

    def glance(self) -> pd.DataFrame:
        """Return one row about the whole fit; `converged` is statsmodels' own judgement."""
        result = self.result
        return glossary.table(
            {
                "n_obs": [int(result.nobs)],
                "sigma": [float(np.sqrt(result.scale))],
                "criterion": [-2 * float(result.llf)],
                "log_likelihood": [float(result.llf)],
                "converged": [bool(result.converged)],
                "method": [self._method],
            }
        )

    @property
    def _method(self) -> str:
        likelihood = "restricted maximum likelihood" if self.result.reml else "maximum likelihood"
        return f"Linear mixed model, {likelihood}; statsmodels' MixedLM; z tests"

    def _deviations(self) -> list[tuple[str, str, float]]:
        """Return group, name and value of each standard deviation and correlation."""
        result, rows = self.result, []
        if self.arguments.correlated is not None:
            covariance = result.cov_re.to_numpy()
            names = [
                "Intercept" if name in (_ALL, "Group") else name for name in result.cov_re.index
            ]
            group, deviations = ":".join(self.arguments.group), np.sqrt(np.diag(covariance))
            for place, name in enumerate(names):
                rows.append((group, f"sd__{name}", float(deviations[place])))
                rows += [
                    (
                        group,
                        f"cor__{names[before]}.{name}",
                        float(covariance[place, before] / deviations[place] / deviations[before]),
                    )
                    for before in range(place)
                ]
        for name, variance in zip(result.model.exog_vc.names, result.vcomp, strict=False):
            group, _, term = name.partition(" ")
            rows.append((group, f"sd__{term}", float(np.sqrt(variance))))
        return [*rows, ("Residual", "sd__Observation", float(np.sqrt(result.scale)))]


def fit(formula: str, rows: pd.DataFrame, *, reml: bool = True) -> StatsmodelsModel:
    """Return statsmodels' fit of a formula in lme4's language to the rows of a frame.

    What statsmodels cannot fit is refused: an offset, or correlated slopes of several groups.
    """
    module = extra("statsmodels.regression.mixed_linear_model", "stats", "The engine")

    parsed = parse(formula)
    given = arguments(parsed)
    data = rows.copy()
    data[_ALL] = data[list(given.group)].astype(str).agg(":".join, axis=1) if given.group else ""
    model = module.MixedLM.from_formula(
        f"{parsed.response.text} ~ {parsed.fixed}",
        data,
        re_formula=given.correlated,
        vc_formula=given.components or None,
        groups=_ALL,
    )
    with warnings.catch_warnings():  # `converged` has it
        warnings.simplefilter("ignore")
        return StatsmodelsModel(parsed, model.fit(reml=reml), given)


def arguments(formula: MixedFormula) -> Arguments:
    """Return what statsmodels is given for a formula."""
    if formula.offset is not None:
        raise _unfit(formula, "an offset")
    several = [term for term in formula.random if not _is_single(term)]
    if len(several) > 1:
        raise _unfit(formula, "correlated effects of several groups")
    outer = min((term.group for term in formula.random), key=len)
    if all(term.group[: len(outer)] == outer for term in formula.random):
        first = next((term for term in [*several, *formula.random] if term.group == outer), None)
        others = [term for term in formula.random if term is not first]
        if first is not None and all(_is_single(term) for term in others):
            return Arguments(outer, first.left, dict(map(_part, others)))
    if several:
        raise _unfit(formula, "correlated effects beside crossed groups")
    return Arguments((), None, dict(map(_part, formula.random)))


def _is_single(term: RandomTerm) -> bool:
    """Tell whether one coefficient varies: an intercept, or a slope without one."""
    left = term.left.replace(" ", "")
    return left == "1" or (left.startswith("0+") and "+" not in left[2:] and "*" not in left)


def _part(term: RandomTerm) -> tuple[str, str]:
    left = term.left.replace(" ", "")
    levels = ":".join(f"C({name})" for name in term.group)
    name = "Intercept" if left == "1" else left[2:]
    return f"{term.group_name} {name}", f"0 + {levels}" if left == "1" else f"0 + {levels}:{name}"


def _unfit(formula: MixedFormula, what: str) -> DesignError:
    return DesignError(
        f"statsmodels' MixedLM does not fit {what}: {formula.text!r}.", "Leave `engine` out."
    )
