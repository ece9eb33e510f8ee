"""Rules by Shapley shares of R squared: units drawn again, or labels exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from analysis.delia2026.tournament import criterion
from analysis.inference.partition.shares import shapley_weights
from analysis.tidy.frame import Floats, Integers
from tests.proofs.competing.layouts import Layout

#: Resamples and exchanges.
RESAMPLES, EXCHANGES = 299, 199
#: Statements by the block that stands for heritage, and the contrast of the three shares.
CONTRASTS = {
    "lab over geometry": ("lab", (1, -1, 0)),
    "recipe over geometry": ("suite", (1, -1, 0)),
    "geometry over scale": ("lab", (0, 1, -1)),
}
NESTED = "lab over suite"

Blocks = Mapping[str, Floats]
#: A difference of shares as a ratio of two forms in the response, by upper triangles: shape
#: (resamples or exchanges, n (n + 1) / 2) each.
Forms = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The forms of a layout, which are the same for all papers."""

    #: Of the differences with suites, and with labs, drawn again.
    suites: Mapping[str, Forms]
    labs: Mapping[str, Forms]
    exchanged: Mapping[str, Forms]  #: with labels exchanged, the labels at hand first
    leads: Mapping[str, float]  #: difference that pure noise gives each statement


def prepared(layout: Layout, rng: np.random.Generator) -> Prepared:
    """Return the forms of a layout."""
    whole = np.arange(len(layout))
    leads = {}
    for name in (*CONTRASTS, NESTED):
        above, below = _form(layout.blocks, name, whole)
        leads[name] = float(np.trace(above) / np.trace(below))
    return Prepared(
        suites=_drawn_again(layout, rng, layout.suites),
        labs=_drawn_again(layout, rng, layout.labs),
        exchanged=_exchanged(layout, rng),
        leads=leads,
    )


def bootstrap(
    forms: Mapping[str, Forms], leads: Mapping[str, float], responses: Floats
) -> dict[str, Integers]:
    """Return the answers of today's rule: the interval clear of 0 and of the lead by chance."""
    answers = {}
    for name, values in _values(forms, responses).items():
        low, high = np.quantile(values, [0.025, 0.975], axis=0)
        lead = leads[name]
        answers[name] = (low > max(0.0, lead)).astype(np.intp) - (high < min(0.0, lead))
    return answers


def permutation(forms: Mapping[str, Forms], responses: Floats) -> dict[str, Integers]:
    """Return the answers by the difference of shares, labels exchanged."""
    answers = {}
    for name, values in _values(forms, responses).items():
        above = (values >= values[0] - 1e-9).mean(axis=0) <= criterion.LEVEL
        below = (values <= values[0] + 1e-9).mean(axis=0) <= criterion.LEVEL
        answers[name] = above.astype(np.intp) - below
    return answers


def _values(forms: Mapping[str, Forms], responses: Floats) -> dict[str, Floats]:
    """Return the differences of papers, shape (resamples or exchanges, papers) each."""
    upper = np.triu_indices(responses.shape[1])
    products = (responses[:, upper[0]] * responses[:, upper[1]]).T
    return {name: (above @ products) / (below @ products) for name, (above, below) in forms.items()}


def _drawn_again(layout: Layout, rng: np.random.Generator, units: Integers) -> dict[str, Forms]:
    groups = [np.flatnonzero(units == one) for one in range(units.max() + 1)]
    # A resample of one unit alone has no difference between units: it is drawn again.
    draws = rng.integers(len(groups), size=(2 * RESAMPLES, len(groups)))
    several = [draw for draw in draws if len(set(draw)) > 1][:RESAMPLES]
    rows = [np.concatenate([groups[code] for code in draw]) for draw in several]
    return {
        name: _stacked([_form(layout.blocks, name, each) for each in rows])
        for name in (*CONTRASTS, NESTED)
    }


def _exchanged(layout: Layout, rng: np.random.Generator) -> dict[str, Forms]:
    """Return the forms with labels exchanged, the labels at hand first.

    Suites are exchanged between models of one stratum of depth; labs between suites; geometry
    between models of one suite.
    """
    whole = np.arange(len(layout))
    of_labs = _labs_exchanged(layout, rng)
    strata = {"recipe over geometry": (layout.strata, "suite")}
    strata["geometry over scale"] = (layout.suites, "geometry")
    sets = {
        name: [_within(codes, rng, layout.blocks, moved) for _ in range(EXCHANGES)]
        for name, (codes, moved) in strata.items()
    }
    sets |= {"lab over geometry": of_labs, NESTED: of_labs}
    return {
        name: _stacked([_form(blocks, name, whole) for blocks in (layout.blocks, *sets[name])])
        for name in (*CONTRASTS, NESTED)
    }


def _stacked(forms: list[tuple[Floats, Floats]]) -> Forms:
    upper = np.triu_indices(len(forms[0][0]))
    doubled = np.where(upper[0] == upper[1], 1.0, 2.0)
    above, below = (np.array([form[side][upper] * doubled for form in forms]) for side in (0, 1))
    return above, below


def _form(blocks: Blocks, name: str, rows: Integers) -> tuple[Floats, Floats]:
    """Return the form of a difference of explained sums of squares, and that of the whole one.

    ``rows`` are those of a resample, with repeats; both forms are in the responses of all rows.
    """
    n = len(blocks["lab"])
    read = np.zeros((len(rows), n))
    read[np.arange(len(rows)), rows] = 1.0
    read -= read.mean(axis=0)
    if name == NESTED:
        sets = [(2.0, ("lab",)), (-1.0, ("lab", "suite"))]
    else:
        meaning, contrast = CONTRASTS[name]
        names = (meaning, "geometry", "scale")
        weights = np.array(contrast) @ shapley_weights(len(names))
        sets = [
            (weight, tuple(one for place, one in enumerate(names) if subset >> place & 1))
            for subset, weight in enumerate(weights)
        ]
    above = np.zeros((n, n))
    for weight, chosen in sets:
        if chosen and weight:
            columns = read @ np.column_stack([blocks[one] for one in chosen])
            left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
            along = left[:, sizes > 1e-9 * max(sizes[0], 1e-300)].T @ read
            above += weight * along.T @ along
    return above, read.T @ read


def _within(
    strata: Integers, rng: np.random.Generator, blocks: Blocks, moved: str
) -> dict[str, Floats]:
    """Return the blocks, the rows of one exchanged within strata."""
    order = np.arange(len(strata))
    for one in np.unique(strata):
        places = np.flatnonzero(strata == one)
        order[places] = rng.permutation(places)
    return {**blocks, moved: blocks[moved][order]}


def _labs_exchanged(layout: Layout, rng: np.random.Generator) -> list[dict[str, Floats]]:
    """Return the blocks with labs exchanged between suites: all ways, or as many as are drawn."""
    own = layout.lab_of_suite
    if len(own) <= 7:
        ways = {tuple(own[list(order)]) for order in permutations(range(len(own)))}
        # Names of labs make no difference: what counts is which suites share one.
        named = {_partition(way): way for way in ways if way != tuple(own)}
        named.pop(_partition(tuple(own)), None)
        orders = list(named.values())
    else:
        orders = [tuple(rng.permutation(own)) for _ in range(EXCHANGES)]
    dummies = np.eye(own.max() + 1)
    made = []
    for order in orders:
        columns = dummies[np.array(order)[layout.suites]]
        made.append({**layout.blocks, "lab": columns - columns.mean(axis=0)})
    return made


def _partition(labels: tuple[int, ...]) -> tuple[int, ...]:
    first: dict[int, int] = {}
    return tuple(first.setdefault(label, len(first)) for label in labels)
