"""The verbs that print one table: a query, a question's answer, what a paper states or reports."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from analysis.commands.sources import named, opened
from analysis.tidy.spreadsheet import line, to_csv

if TYPE_CHECKING:
    import pandas as pd

    from analysis.store.exact import Column

#: Rows that are printed whole.
MOST_SHOWN = 200


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
            "display.max_rows",
            MOST_SHOWN,
            "display.max_columns",
            None,
            "display.width",
            width or 160,
        ):
            print(
                rows.to_string(index=False, line_width=width) if len(rows) <= MOST_SHOWN else rows
            )
        print(prose.plural(len(rows), "row"), file=sys.stderr)
    return 0


def as_json(rows: pd.DataFrame) -> str:
    """Return rows as JSON, one object each, no number rounded."""
    return json.dumps(objects(rows), indent=2, ensure_ascii=False)


def objects(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as objects that JSON can hold: None for what is missing, a word for infinity."""
    return [
        {str(name): _plain(value) for name, value in row.items()} for row in rows.to_dict("records")
    ]


def _plain(value: Any) -> Any:
    """Return a value of a frame as JSON has it.

    >>> import numpy as np
    >>> [_plain(it) for it in (np.int64(2), 1e-300, float("nan"), -np.inf, None, ("a", np.True_))]
    [2, 1e-300, None, '-Infinity', None, ['a', True]]
    """
    import numpy as np
    import pandas as pd

    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    if pd.isna(value):
        return None
    own = value.item() if isinstance(value, np.generic) else value
    if isinstance(own, float) and np.isinf(own):
        return "Infinity" if own > 0 else "-Infinity"
    return own if isinstance(own, str | int | float) else str(own)


def sql(options: argparse.Namespace) -> int:
    """Print what a reading statement finds, or open DuckDB's shell; return the exit code."""
    from analysis.commands.shell import open_shell, statement

    query = statement(options.query)
    if query is None:
        are_shipped = not options.data and not options.paper
        return open_shell(named(options), are_shipped=are_shipped, command=options.program)
    store = opened(options)
    found = store.columns(query)
    if options.csv:
        sys.stdout.writelines(as_lines(found, store.texts(query, found, "csv")))
    elif options.json:
        sys.stdout.writelines(as_objects(found, store.texts(query, found, "json")))
    else:
        show(as_frame(found, list(store.texts(query, found, "table"))), as_csv=False)
    return 0


def as_lines(found: Sequence[Column], texts: Iterable[Sequence[str | None]]) -> Iterator[str]:
    """Yield an answer as lines of CSV, the names of its columns first.

    They wait for the first row: an answer that fails in it prints nothing.
    """
    rows = iter(texts)
    first = list(islice(rows, 1))
    yield line([column.name for column in found], [True] * len(found))
    are_words = [column.is_text for column in found]
    for row in chain(first, rows):
        yield line(row, are_words)


def as_objects(found: Sequence[Column], texts: Iterable[Sequence[str | None]]) -> Iterator[str]:
    """Yield an answer as JSON: a list of objects, one to a line."""
    names = [json.dumps(column.name, ensure_ascii=False) for column in found]
    before = "["
    for row in texts:
        members = [f"{name}:{text or 'null'}" for name, text in zip(names, row, strict=True)]
        yield f"{before}\n{{{','.join(members)}}}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def as_frame(found: Sequence[Column], texts: Sequence[Sequence[str | None]]) -> pd.DataFrame:
    """Return an answer as words to be read: numbers rounded alike, NULL where nothing is.

    Of a long answer numbers stay as the engine writes them.
    """
    import pandas as pd

    columns = [list(column) for column in zip(*texts, strict=True)] or [[] for _ in found]
    told = [
        _rounded(column) if kind.is_float and len(texts) <= MOST_SHOWN else column
        for column, kind in zip(columns, found, strict=True)
    ]
    words = [["NULL" if text is None else text for text in column] for column in told]
    frame = pd.DataFrame(dict(enumerate(words)))
    return frame.set_axis([column.name for column in found], axis="columns")


def _rounded(texts: Sequence[str | None]) -> list[str | None]:
    """Return numbers as pandas writes a column of them; None stays."""
    import pandas as pd

    numbers = pd.Series([float("nan" if text is None else text) for text in texts])
    lines = numbers.to_string(index=False, header=False).split("\n") if len(numbers) else []
    told = zip(lines, texts, strict=True)
    return [None if text is None else written.strip() for written, text in told]


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
