"""What can be measured, by the names the command line knows, and the tables each name fills."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from collect.errors import InputError

#: Tables each quantity fills, besides ``model``, ``conformance`` and ``not_measured``.
TABLES = {
    "weights": ("weight_norm", "matrix_norm"),
    "stream": ("residual_norm", "residual_update", "next_token"),
    "attention": ("attention", "attention_mean"),
    "geometry": ("token_geometry", "prompt_geometry"),
    "predictions": ("token_prediction",),
    "legacy": ("legacy_value",),
}

DEFAULT = ("weights", "stream", "attention", "geometry")
ALL = "all"


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Return the quantities that some names ask for, in the order of `TABLES`.

    Parameters
    ----------
    names
        Names of quantities or ``all``, each alone or several joined by commas; none at all
        means `DEFAULT`.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    asked = [name.strip() for entry in names for name in entry.split(",") if name.strip()]
    known = [*TABLES, ALL]
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.5)
            raise InputError(
                f"A quantity must be one of {', '.join(known)}; found {name!r}.",
                f"The nearest is {near[0]}." if near else "Leave --quantities out for the default.",
            )
    if not asked:
        return DEFAULT
    return tuple(name for name in TABLES if name in asked or ALL in asked)


def of_prompts(quantities: Sequence[str]) -> tuple[str, ...]:
    """Return the quantities that need prompts, in the order of `TABLES`.

    >>> of_prompts(("weights", "legacy", "stream"))
    ('stream', 'legacy')
    """
    return tuple(name for name in TABLES if name in quantities and name != "weights")
