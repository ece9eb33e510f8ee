"""Sufficient statistics of a mixed model: cross-products per cell.

A cell is a combination of factor levels that occurs. Within a cell the design of a Gaussian
mixed model is a linear map of a few numbers per row, so that sums of their products over the
rows of every cell determine the likelihood (Bates et al. 2015, equations 16 to 23, read the
rows only through X'X, Z'X, Z'Z, X'y, Z'y and y'y).

The statistics of two sets of rows are the sums of their statistics: laboratories that may not
exchange rows can exchange these (Luo et al. 2022, Nature Communications 13, 1678).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.tidy.errors import DesignError, StoreError
from analysis.tidy.frame import Floats, Integers

#: Version of the files that `write_statistics` writes; another meaning of a column is another.
VERSION = 2


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor over n cells."""

    levels: tuple[str, ...]  #: Labels of the levels, in order.
    codes: Integers  #: Level of every cell, shape (n,).


def interaction(factors: list[Factor]) -> Factor:
    """Return the combinations of several factors that occur, as one factor."""
    if len(factors) == 1:
        return factors[0]
    codes = np.zeros(len(factors[0].codes), dtype=np.intp)
    for factor in factors:
        codes = codes * len(factor.levels) + factor.codes
    _, first, combined = np.unique(codes, return_index=True, return_inverse=True)
    levels = [":".join(f.levels[f.codes[cell]] for f in factors) for cell in first]
    return Factor(tuple(levels), np.asarray(combined.reshape(-1)[: len(codes)], dtype=np.intp))


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sums over the rows of every cell; arrays run over n cells.

    Variables are the basis first, then the response. Variable i enters less ``shift[i]``.
    """

    factors: dict[str, Factor]  #: Factors by column.
    #: Predictors that are constant within every cell, shape (n,) each.
    constants: dict[str, Floats]
    #: Products of predictors that vary within cells; the first is ``()``, the number one.
    basis: tuple[tuple[str, ...], ...]
    response: str  #: Text of the response.
    offset: str  #: Text of what was taken from the response, empty for nothing.
    shift: Floats  #: What was subtracted from every variable before squaring, shape (variables,).
    #: Row of `sums` for every pair of variables, the smaller first.
    pairs: dict[tuple[int, int], int]
    sums: Floats  #: Sums of weighted products, shape (pairs, n).
    counts: Floats  #: Rows, shape (n,).
    log_weights: Floats  #: Sum of the logarithms of the weights, shape (n,).
    weighted: bool  #: Whether rows have weights.
    #: Calls of ``scale``, ``poly``, ``bs`` and ``ns`` among the predictors, written out with their
    #: constants.
    bases: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def counted(
        cls,
        factors: dict[str, Factor],
        constants: dict[str, Floats],
        counts: Floats,
        *others: Floats,
        response: str = "",
        offset: str = "",
    ) -> Statistics:
        """Return cells in which every number is constant: their counts, and counts of others."""
        return cls(
            factors=factors,
            constants=constants,
            basis=((),),
            response=response,
            offset=offset,
            shift=np.zeros(2),
            pairs={(0, place): place for place in range(1 + len(others))},
            sums=np.array([counts, *others]),
            counts=counts,
            log_weights=np.zeros(len(counts)),
            weighted=False,
        )

    @property
    def n_obs(self) -> int:
        """Rows that entered."""
        return round(float(self.counts.sum()))

    def within(self, chosen: NDArray[np.bool_]) -> Statistics:
        """Return the statistics of some cells; levels that none of them has are left out."""
        factors = {}
        for name, factor in self.factors.items():
            present, codes = np.unique(factor.codes[chosen], return_inverse=True)
            levels = tuple(factor.levels[code] for code in present)
            factors[name] = Factor(levels, np.asarray(codes.reshape(-1), dtype=np.intp))
        return replace(
            self,
            factors=factors,
            constants={name: values[chosen] for name, values in self.constants.items()},
            sums=self.sums[:, chosen],
            counts=self.counts[chosen],
            log_weights=self.log_weights[chosen],
        )

    def product(self, first: int, second: int) -> Floats:
        """Return the sum over every cell of the product of two variables, shape (n,)."""
        return np.asarray(self.sums[self.pairs[min(first, second), max(first, second)]])


def merge_statistics(parts: Sequence[Statistics]) -> Statistics:
    """Return the statistics of all rows together.

    Levels are united by label; cells that occur in several parts are added.

    Raises
    ------
    DesignError
        If there are none, or they do not hold the same factors, predictors and response.

    Examples
    --------
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> formula = "invest ~ value + (1 | firm)"
    >>> parts = [mixed.collect_statistics(formula, it) for it in (rows[:90], rows[90:])]
    >>> fitted = mixed.fit_statistics(formula, mixed.merge_statistics(parts))
    >>> fitted.glance()["criterion"].round(3).item()
    2596.401
    """
    if not parts:
        raise DesignError(
            "Statistics to merge must be given; found none.", "Name the files that hold them."
        )
    first = parts[0]
    for part in parts[1:]:
        _require_alike(first, part)
    shifted = [shift_to(part, first.shift) for part in parts]
    levels = {name: _unite([part.factors[name] for part in parts]) for name in first.factors}
    codes = {
        name: np.concatenate([_recode(part.factors[name], levels[name]) for part in parts])
        for name in first.factors
    }
    keys = np.column_stack([codes[name] for name in first.factors])
    _, where, cell = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    cell = cell.reshape(-1)

    def added(values: list[Floats]) -> Floats:
        return np.bincount(cell, np.concatenate(values), len(where)).astype(np.float64)

    constants = {
        name: np.concatenate([part.constants[name] for part in parts]) for name in first.constants
    }
    _require_constant(constants, cell, where)
    return replace(
        first,
        factors={name: Factor(levels[name], codes[name][where]) for name in first.factors},
        constants={name: values[where] for name, values in constants.items()},
        sums=np.array(
            [added([part.sums[place] for part in shifted]) for place in range(len(first.sums))]
        ),
        counts=added([part.counts for part in parts]),
        log_weights=added([part.log_weights for part in parts]),
    )


def shift_to(statistics: Statistics, shift: Floats) -> Statistics:
    """Return the same statistics about other shifts.

    With d the difference of the shifts, the sum of (x + d)(y + e) is that of xy + d y + e x
    + d e.
    """
    move = statistics.shift - shift
    sums = np.empty_like(statistics.sums)
    for (i, j), place in statistics.pairs.items():
        sums[place] = (
            statistics.product(i, j)
            + move[j] * statistics.product(0, i)
            + move[i] * statistics.product(0, j)
            + move[i] * move[j] * statistics.product(0, 0)
        )
    return replace(statistics, sums=sums, shift=shift)


def write_statistics(statistics: Statistics, path: Path | str) -> None:
    """Write statistics to a Parquet file: one row per cell, no row of the data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pyarrow import parquet
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> path = Path(tempfile.mkdtemp()) / "sums.parquet"
    >>> mixed.write_statistics(mixed.collect_statistics("invest ~ value + (1 | firm)", rows), path)
    >>> parquet.read_metadata(path).num_rows
    11
    """
    from pyarrow import parquet

    columns: dict[str, object] = {}
    for name, factor in statistics.factors.items():
        labels = pa.DictionaryArray.from_arrays(factor.codes.astype("int32"), list(factor.levels))
        columns[f"factor {name}"] = labels
    columns |= {f"constant {name}": values for name, values in statistics.constants.items()}
    columns |= {f"sum {i} {j}": statistics.sums[k] for (i, j), k in statistics.pairs.items()}
    columns |= {"count": statistics.counts, "log weight": statistics.log_weights}
    about = {
        "version": VERSION,
        "basis": statistics.basis,
        "responses": [statistics.response],
        "offset": statistics.offset,
        "shift": [value.hex() for value in statistics.shift.tolist()],
        "weighted": statistics.weighted,
        "bases": dict(statistics.bases),
    }
    table = pa.table(columns).replace_schema_metadata({"statistics": json.dumps(about)})
    parquet.write_table(table, path)


def read_statistics(path: Path | str) -> Statistics:
    """Return the statistics that `write_statistics` wrote.

    Raises
    ------
    StoreError
        If the file holds anything else, or another version of it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from statsmodels.datasets import grunfeld
    >>> from analysis import mixed
    >>> rows = grunfeld.load_pandas().data
    >>> path = Path(tempfile.mkdtemp()) / "sums.parquet"
    >>> mixed.write_statistics(mixed.collect_statistics("invest ~ value + (1 | firm)", rows), path)
    >>> fitted = mixed.fit_statistics("invest ~ value + (1 | firm)", mixed.read_statistics(path))
    >>> fitted.glance()["criterion"].round(3).item()
    2596.401
    """
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        about = json.loads(table.schema.metadata[b"statistics"])
    except (OSError, pa.ArrowInvalid, KeyError, TypeError) as error:
        raise StoreError(
            f"{str(path)!r} must hold statistics of a mixed model; it does not.",
            "Write them with mixed.write_statistics.",
        ) from error
    if about.get("version") != VERSION:
        raise StoreError(
            f"{str(path)!r} must hold statistics of version {VERSION}; it holds version "
            f"{about.get('version')}.",
            "Collect them again, or read them with the release that wrote them.",
        )

    def columns(kind: str) -> dict[str, pa.ChunkedArray]:
        names = (name for name in table.column_names if name.startswith(f"{kind} "))
        return {name.partition(" ")[2]: table.column(name) for name in names}

    sums = columns("sum")
    pairs = [name.split() for name in sums]
    return Statistics(
        factors={name: _read_factor(column) for name, column in columns("factor").items()},
        constants={name: column.to_numpy() for name, column in columns("constant").items()},
        basis=tuple(tuple(names) for names in about["basis"]),
        response=about["responses"][0],
        offset=about["offset"],
        shift=np.array([float.fromhex(value) for value in about["shift"]]),
        pairs={(int(i), int(j)): place for place, (i, j) in enumerate(pairs)},
        sums=np.array([column.to_numpy() for column in sums.values()]),
        counts=table.column("count").to_numpy(),
        log_weights=table.column("log weight").to_numpy(),
        weighted=about["weighted"],
        bases=about.get("bases", {}),
    )


def _read_factor(column: pa.ChunkedArray) -> Factor:
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    return Factor(tuple(encoded.dictionary.to_pylist()), codes)


def _require_alike(first: Statistics, other: Statistics) -> None:
    differing = [call for call, of in first.bases.items() if other.bases.get(call, of) != of]
    if differing:
        raise DesignError(
            f"Statistics to merge must hold the same constants of {', '.join(differing)}; each "
            "part computed its own.",
            "Collect the others with collect_statistics(..., bases_of=the first).",
        )
    for what, ours, theirs in (
        ("factors", list(first.factors), list(other.factors)),
        ("response", first.response, other.response),
        ("offset", first.offset, other.offset),
        ("products of predictors", first.basis, other.basis),
        ("constant predictors", sorted(first.constants), sorted(other.constants)),
        ("weights", first.weighted, other.weighted),
    ):
        if ours != theirs:
            raise DesignError(
                f"Statistics to merge must hold the same {what}; found {ours} and {theirs}.",
                "Collect both with the same formula, and state `constant` alike.",
            )


def _require_constant(constants: dict[str, Floats], cell: Integers, where: Integers) -> None:
    for name, values in constants.items():
        if not np.array_equal(values, values[where][cell]):
            raise DesignError(
                f"{name!r} must have one value in every cell; the parts disagree.",
                "Collect all with constant=().",
            )


def _unite(factors: list[Factor]) -> tuple[str, ...]:
    """Return all levels: in the first part's order when it has them all, else sorted."""
    levels = {level for factor in factors for level in factor.levels}
    if levels == set(factors[0].levels):
        return factors[0].levels
    return tuple(sorted(levels, key=_order))


def _order(level: str) -> tuple[float, str]:
    """Return a key that sorts numbers by value and text by letters."""
    try:
        return float(level), ""
    except ValueError:
        return np.inf, level


def _recode(factor: Factor, levels: tuple[str, ...]) -> Integers:
    position = {level: code for code, level in enumerate(levels)}
    codes = np.array([position[level] for level in factor.levels], dtype=np.intp)
    return np.asarray(codes[factor.codes], dtype=np.intp)
