"""Permutation of a predictor between whole units, with the mixed model's t as statistic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.mixed.algebra.crossproducts import assemble
from analysis.mixed.algebra.design import is_factor
from analysis.mixed.algebra.optimise import quick
from analysis.mixed.algebra.rank import require_estimable
from analysis.mixed.inference.fitted import Fitted
from analysis.mixed.inference.fixed_effects import Inference
from analysis.mixed.reading.expression import shown
from analysis.mixed.reading.formula import term_name, terms
from analysis.mixed.reading.plan import factor_column
from analysis.mixed.reading.statistics import Factor, Statistics
from analysis.tidy import glossary
from analysis.tidy.errors import DesignError
from analysis.tidy.frame import Floats, Integers, generator, nearest, require_count, seed_of
from analysis.tidy.progress import progress

#: Statistics closer than this are tied: refits keep about six digits.
TIE = 1e-5

#: Up to this many distinct assignments are enumerated; beyond, they are sampled.
MOST_ENUMERATED = 2_000


def permutation_test(
    model: Fitted,
    term: str,
    predictor: str,
    unit: str,
    *,
    rng: np.random.Generator | None = None,
    n_permutations: int = 999,
) -> pd.DataFrame:
    """Return the permutation p-value of a term whose predictor belongs to whole units.

    The predictor's values are exchanged between units, the model is fitted again, and |t| is
    compared. All distinct assignments are used when there are at most 2,000, the observed one
    among them; else p = (b + 1) / (B + 1) of those drawn. The other predictors stay, so that
    the test supposes the predictor unrelated to them.

    Parameters
    ----------
    model
        The fit.
    term
        The fixed effect tested.
    predictor
        The column or expression exchanged; constant within a unit.
    unit
        A factor of the statistics, such as the lab.
    rng
        Source of the draws, used only when assignments are sampled.
    n_permutations
        Assignments to draw when they are sampled.

    Returns
    -------
    One row: `term`, `estimate`, `statistic`, `p_value`, `smallest_p` (below which no data could
    bring this test), `n_permutations`, `seed` (empty where none are sampled), `n_groups`
    (units), `n_obs`.

    Raises
    ------
    DesignError
        If the predictor varies within a unit, the term does not read it, the term or the unit
        is unknown, or some assignment leaves a fixed effect without an estimate.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> rows["is_early"] = rows["firm"].lt("General").astype(int)
    >>> fitted = mixed.fit("invest ~ is_early + (1 | firm)", rows)
    >>> mixed.permutation_test(fitted, "is_early", "is_early", "firm")["p_value"].round(3).item()
    0.197
    """
    from analysis.inference.resampling.permutation import every_assignment, n_assignments

    _require_unit(model.statistics, unit)
    if term not in model.terms:
        raise DesignError(
            f"The term tested must be a fixed effect; {term!r} is not one, the nearest is "
            f"{nearest(term, model.terms)!r}.",
            f"The model has: {', '.join(model.terms)}.",
        )
    values = _values_of_units(model.statistics, predictor, unit)
    _require_entering(model, term, predictor)
    possible = n_assignments(values)
    enumerated, seed = possible <= MOST_ENUMERATED, ""
    if enumerated:
        assignments = every_assignment(values)
    else:
        rng = generator(rng, f"{possible} assignments are too many to enumerate")
        seed = seed_of(rng)
        require_count("n_permutations", n_permutations)
        assignments = iter([values, *(rng.permutation(values) for _ in range(n_permutations))])
    place = model.terms.index(term)
    total = possible if enumerated else n_permutations + 1
    shown = progress(assignments, "permutation", total)
    statistics = np.array([_statistic(model, predictor, unit, each, place) for each in shown])
    sizes = np.abs(statistics)
    reached = sizes >= sizes[0] - TIE * (1 + sizes[0])
    most = sizes >= sizes.max() - TIE * (1 + sizes.max())
    return glossary.table(
        {
            "term": [term],
            "estimate": [model.coefficients[place]],
            "statistic": [statistics[0]],
            "p_value": [reached.mean()],
            "smallest_p": [most.mean() if enumerated else 1 / len(statistics)],
            "n_permutations": [len(statistics) if enumerated else n_permutations],
            "seed": [seed],
            "n_groups": [len(model.statistics.factors[unit].levels)],
            "n_obs": [model.statistics.n_obs],
            "method": [
                f"Permutation of {predictor} between levels of {unit}, "
                f"{'enumerated' if enumerated else 'sampled'}; |t| of the mixed model"
            ],
            "note": [""],
        }
    )


def _require_unit(statistics: Statistics, unit: str) -> None:
    """Raise DesignError unless the unit is a factor of the statistics with several levels."""
    if unit not in statistics.factors:
        raise DesignError(
            f"A unit must be a factor that was collected; {unit!r} is not one of "
            f"{list(statistics.factors)}.",
            f"Name it when fitting: units=[{unit!r}].",
        )
    if len(statistics.factors[unit].levels) < 2:
        raise DesignError(
            f"Unit {unit!r} must have at least two levels; found "
            f"{list(statistics.factors[unit].levels)}.",
            "Uncertainty between units cannot be seen from one.",
        )


def _require_entering(model: Fitted, term: str, predictor: str) -> None:
    """Raise DesignError unless a fixed effect is of a term that multiplies the predictor."""
    place = model.terms.index(term)
    names = [name for name, places in model.design.term_columns.items() if place in places]
    codes = {
        factor.code
        for each in terms(model.formula.fixed)
        if term_name(each) in names
        for factor in each.factors
    }
    read = {factor_column(code) if is_factor(code, model.statistics) else code for code in codes}
    if predictor not in read:
        raise DesignError(
            f"The term tested must be of the predictor that is permuted; {term!r} does not read "
            f"{predictor!r}.",
            f"It reads: {', '.join(sorted(map(shown, read))) or 'nothing'}.",
        )


def _values_of_units(statistics: Statistics, predictor: str, unit: str) -> Integers:
    """Return a code of the predictor's value in every unit, shape (units,)."""
    codes = _codes(statistics, predictor)
    units = statistics.factors[unit]
    pairs = np.unique(np.column_stack([units.codes, codes]), axis=0)
    if len(pairs) != len(units.levels):
        raise DesignError(
            f"{predictor!r} must have one value in every {unit}; it takes several in some.",
            "Permute it between the smaller units that it belongs to.",
        )
    return np.asarray(pairs[:, 1], dtype=np.intp)


def _codes(statistics: Statistics, predictor: str) -> Integers:
    if predictor in statistics.factors:
        return statistics.factors[predictor].codes
    if predictor in statistics.constants:
        return np.unique(statistics.constants[predictor], return_inverse=True)[1].reshape(-1)
    known = [*statistics.factors, *statistics.constants]
    raise DesignError(
        f"A predictor to permute must be constant within cells; {predictor!r} is not among "
        f"{known}.",
        "Only what belongs to whole units can be permuted between them.",
    )


def _statistic(model: Fitted, predictor: str, unit: str, assigned: Integers, place: int) -> float:
    """Return the t of a term with the predictor's values assigned to units anew."""
    statistics = model.statistics
    by_cell = assigned[statistics.factors[unit].codes]
    if predictor in statistics.factors:
        factor = Factor(statistics.factors[predictor].levels, by_cell)
        changed = replace(statistics, factors=statistics.factors | {predictor: factor})
    else:
        values: Floats = np.unique(statistics.constants[predictor])[by_cell]
        changed = replace(statistics, constants=statistics.constants | {predictor: values})
    design = model.design_over(changed)
    cross = assemble(changed, design)
    try:
        require_estimable(cross, design, statistics.response)
    except DesignError as error:
        raise DesignError(
            f"The fixed effects must be estimable whichever {unit} has which value of "
            f"{predictor!r}; under an assignment they are not. {error.problem}",
            "Drop the predictors that follow the one permuted.",
        ) from error
    theta = quick(cross, model.solution.theta, reml=model.reml)
    fitted = Inference.at(cross, theta, reml=model.reml)
    return float(fitted.coefficients[place] / np.sqrt(fitted.plain_covariance[place, place]))
