"""The verbs that print one table: a query, a question's answer, what a paper states or reports."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from analysis.commands.sources import named, opened
from analysis.tidy.spreadsheet import to_csv

if TYPE_CHECKING:
    import pandas as pd

    from analysis.store import Store


def show(rows: pd.DataFrame, *, as_csv: bool) -> int:
    """Print rows as CSV or aligned, in which case they are counted on standard error; return 0.

    At a terminal what is wider than it goes on below, columns together.
    """
    import pandas as pd

    from analysis.tidy import prose

    if as_csv:
        sys.stdout.write(to_csv(rows))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        with pd.option_context(
            "display.max_rows", 200, "display.max_columns", None, "display.width", width or 160
        ):
            print(rows.to_string(index=False, line_width=width) if len(rows) <= 200 else rows)
        print(prose.plural(len(rows), "row"), file=sys.stderr)
    return 0


def as_json(rows: pd.DataFrame) -> str:
    """Return rows as JSON, one object each."""
    text = rows.to_json(orient="records", indent=2, force_ascii=False, date_format="iso")
    return str(text).replace("\\/", "/")  # pandas escapes what JSON lets stand


def with_nulls(rows: pd.DataFrame, has_nan: Callable[[int], bool]) -> pd.DataFrame:
    """Return what a query found as text, with the word NULL wherever nothing is.

    A number that is no number stays NaN; a column that has both is left as pandas prints it.

    Parameters
    ----------
    rows
        What was found.
    has_nan
        Whether the column of numbers at a place holds NaN, not only NULL.
    """
    from pandas.api.types import is_float_dtype

    shown = rows.copy()
    for place in range(rows.shape[1]):
        column = rows.iloc[:, place]
        is_null = column.isna()
        if is_null.any() and not (is_float_dtype(column) and has_nan(place)):
            lines = column.to_string(index=False, header=False).split("\n")
            told = [line.strip() for line in lines]
            shown.isetitem(place, ["NULL" if n else t for t, n in zip(told, is_null, strict=True)])
    return shown


def _numbers(store: Store, query: str) -> Callable[[int], bool]:
    """Return which column of numbers of a query holds NaN; asked anew, once, if that is asked.

    A frame holds NULL and NaN alike; the engine's own arrays mask the one and not the other.
    """
    import numpy as np

    @cache
    def found() -> list[Any]:
        with store.connection.cursor() as cursor:
            return list(cursor.execute(query).fetchnumpy().values())

    return lambda place: bool(np.isnan(np.ma.compressed(found()[place])).any())


def sql(options: argparse.Namespace) -> int:
    """Print what a reading statement finds, or open DuckDB's shell; return the exit code."""
    from analysis.commands.shell import open_shell, statement

    query = statement(options.query)
    if query is None:
        are_shipped = not options.data and not options.paper
        return open_shell(named(options), are_shipped=are_shipped, command=options.program)
    store = opened(options)
    rows = store.query(query)
    if options.json:
        print(as_json(rows))
        return 0
    return show(
        rows if options.csv else with_nulls(rows, _numbers(store, query)), as_csv=options.csv
    )


def l_star(options: argparse.Namespace) -> int:
    """Print the layer L* by every estimator, or the errors of its predictions; return 0."""
    from analysis.questions.turning.turning import errors, layers

    table = errors if options.errors else layers
    return show(table(opened(options), options.profile), as_csv=options.csv)


def signs(options: argparse.Namespace) -> int:
    """Print whether each measured model dampens or expands; return 0."""
    import numpy as np

    from analysis.claims.sign.heritage import SEED
    from analysis.questions.signs import signs

    rng = np.random.default_rng(SEED)
    rows = signs(opened(options), options.gain, rng=rng, band=options.band)
    return show(rows, as_csv=options.csv)


def stated(options: argparse.Namespace) -> int:
    """Print every number that the paper states, computed again; return 0."""
    from analysis.claims.print import stated

    return show(stated.ledger(opened(options)), as_csv=options.csv)


def specifications(options: argparse.Namespace) -> int:
    """Print the claim on heritage under every choice at once; return 0."""
    import numpy as np

    from analysis.exhibits.specification import curve as specification_exhibits
    from analysis.questions.specification import choices as specification_choices
    from analysis.questions.specification import curve as specification

    found = specification.specification_curve(
        specification_choices.figures(opened(options)),
        rng=np.random.default_rng(specification.SEED),
    )
    if options.csv:
        sys.stdout.write(to_csv(found.specifications))
    else:
        print(specification_exhibits.overview(found))
    return 0


def forensics(options: argparse.Namespace) -> int:
    """Print every test that a paper reports, recomputed; return 1 if one contradicts itself."""
    from analysis.forensics import audit

    tests = audit.of_file(options.file, alpha=options.alpha)
    if options.csv:
        sys.stdout.write(to_csv(tests))
    else:
        print(audit.words(tests))
    return 0 if audit.is_consistent(tests) else 1
