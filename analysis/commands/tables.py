"""The verbs that print one table: a query, a question's answer, what a paper states or reports."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from analysis.commands.sources import named, opened
from analysis.tidy.spreadsheet import to_csv

if TYPE_CHECKING:
    import pandas as pd


def show(rows: pd.DataFrame, *, as_csv: bool) -> int:
    """Print rows as CSV or aligned, in which case they are counted on standard error; return 0."""
    import pandas as pd

    from analysis.tidy import prose

    if as_csv:
        sys.stdout.write(to_csv(rows))
    else:
        with pd.option_context(
            "display.max_rows", 200, "display.max_columns", None, "display.width", 160
        ):
            print(rows.to_string(index=False) if len(rows) <= 200 else rows)
        print(prose.plural(len(rows), "row"), file=sys.stderr)
    return 0


def sql(options: argparse.Namespace) -> int:
    """Print what a reading statement finds, or open DuckDB's shell; return the exit code."""
    from analysis.commands.shell import open_shell, statement

    query = statement(options.query)
    if query is None:
        are_shipped = not options.data and not options.paper
        return open_shell(named(options), are_shipped=are_shipped, command=options.program)
    rows = opened(options).query(query)
    if options.json:
        print(rows.to_json(orient="records", indent=2, force_ascii=False, date_format="iso"))
        return 0
    return show(rows, as_csv=options.csv)


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
