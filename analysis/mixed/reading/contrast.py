"""The contrast of a factor as a caller states it: a reference level, or one of patsy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.mixed.reading.expression import level_places
from analysis.mixed.reading.formula import is_factor_call
from analysis.mixed.reading.statistics import Factor
from analysis.tidy.errors import ColumnError


def written_contrast(code: str) -> Any:
    """Return the contrast inside ``C(column, contrast)``, None without."""
    import patsy

    if not is_factor_call(code) or "," not in code:
        return None
    known = {name: getattr(patsy, name) for name in ("Treatment", "Sum", "Helmert", "Poly", "Diff")}
    text = code.partition(",")[2].rsplit(")", 1)[0].strip()
    try:
        return eval(text, {"__builtins__": {}}, known)  # noqa: S307 - the caller's own formula
    except Exception as error:  # what the caller wrote may fail in any way
        raise ColumnError(
            f"The contrast in {code!r} must be one of {', '.join(known)}; {error}.",
            "Such as C(lab, Treatment('EleutherAI')) or C(lab, Sum).",
        ) from error


def contrast_of(name: str, factor: Factor, stated: Any) -> Any:
    """Return a contrast as patsy takes it; treatment contrasts when none is stated."""
    from patsy import PatsyError, Treatment
    from patsy.contrasts import code_contrast_matrix

    if isinstance(stated, str | int | float | np.generic):
        if not (known := _levels_named(stated, factor)):
            raise ColumnError(
                f"The reference of {name!r} must be one of its levels; found {stated!r}.",
                f"Levels: {', '.join(factor.levels)}.",
            )
        return Treatment(reference=known[0])
    contrast = _with_level_named(stated, factor)
    try:
        hash(contrast)
        for full_rank in (True, False):
            code_contrast_matrix(full_rank, list(factor.levels), contrast, Treatment)
    except (PatsyError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise ColumnError(
            f"The contrast of {name!r} must be a level or a contrast of patsy's that fits its "
            f"{len(factor.levels)} levels; found {stated!r} ({error}).",
            f"Such as patsy.Sum(), or one of the levels: {', '.join(factor.levels)}.",
        ) from error
    return contrast


def _with_level_named(stated: Any, factor: Factor) -> Any:
    """Return a contrast with its level by name; a number is a place where no level is called so."""
    from patsy import Sum, Treatment

    if isinstance(stated, Treatment) and (known := _levels_named(stated.reference, factor)):
        return Treatment(reference=known[0])
    if isinstance(stated, Sum) and (known := _levels_named(stated.omit, factor)):
        return Sum(omit=known[0])
    return stated


def _levels_named(value: object, factor: Factor) -> list[str]:
    """Return the level that a value names, none or one."""
    return [factor.levels[place] for place in level_places([value], factor.levels) if place >= 0]
