"""The verbs that print one table: a query, a question's answer, what a paper states or reports."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from analysis.commands.sources import named, opened
from analysis.tidy.spreadsheet import line, to_csv

if TYPE_CHECKING:
    import pandas as pd

    from analysis.store.exact import Column, Form

#: A row of an answer as text; None is NULL.
Row = Sequence[str | None]

#: Exit code of forensics where a paper holds no test that can be recomputed.
NOTHING_CHECKED = 7

#: How the engine writes NaN, bare and within JSON.
_NAN = frozenset({"nan", "-nan", '"NaN"'})

#: How a break or a tabulator stands in a cell.
ESCAPED = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})

#: Rows of an answer that are printed whole, and of a longer one at each end.
MOST_SHOWN, AT_AN_END = 200, 5

#: Characters of a text that are shown however narrow a terminal is, and of a line where the output
#: goes to none whose width is known.
LEAST_SHOWN, UNKNOWN_WIDTH = 20, 160

#: Characters of a text that are shown at most where columns go on below.
MOST_OF_A_TEXT = 48

#: Stands where a text is cut.
_CUT = "…"


def show(rows: pd.DataFrame, *, as_csv: bool) -> int:
    """Print rows as CSV or aligned, in which case they are counted on standard error; return 0."""
    if as_csv:
        write_data([to_csv(rows)])
    else:
        print(aligned(rows))
        count_rows(len(rows))
    return 0


def write_data(texts: Iterable[str]) -> None:
    """Write what a program reads to standard output: as it is, unless that is a terminal."""
    getattr(sys.stdout, "of_data", sys.stdout).writelines(texts)


def aligned(rows: pd.DataFrame) -> str:
    """Return rows under their heads; what is wider than a terminal goes on below."""
    if rows.empty:
        return " ".join(str(name) for name in rows.columns)
    return rows.to_string(
        index=False, line_width=shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    )


def count_rows(n: int) -> None:
    """Print on standard error how many rows an answer has."""
    print(f"{n:,} row{'s' if n != 1 else ''}", file=sys.stderr)


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
    scalar = value.item() if isinstance(value, np.generic) else value
    if isinstance(scalar, float) and np.isinf(scalar):
        return "Infinity" if scalar > 0 else "-Infinity"
    return scalar if isinstance(scalar, str | int | float) else str(scalar)


def sql(options: argparse.Namespace) -> int:
    """Print what a reading statement finds, or open DuckDB's shell; return the exit code."""
    from contextlib import suppress

    import duckdb

    from analysis.commands.shell import open_shell, statement
    from analysis.store.notes import notes

    query = statement(options.query)
    if query is None:
        are_shipped = not options.data and not options.paper
        return open_shell(
            named(options, everything=True), are_shipped=are_shipped, command=options.program
        )
    store = opened(options, everything=True)
    columns = store.columns(query)
    form: Form = "csv" if options.csv else "json" if options.json else "table"
    n_nan: Counter[str] = Counter()
    seen: Counter[int] = Counter()
    texts = counting_nan(columns, noting_values(store.texts(query, columns, form), seen), n_nan)
    if options.csv:
        write_data(as_lines(columns, texts))
    elif options.json:
        sys.stdout.writelines(as_objects(columns, texts))
    else:
        rows, count = ends(texts)
        print(words(columns, rows, is_whole=len(rows) == count))
        count_rows(count)
    for name, n in n_nan.items():
        note = f"{n:,} of {name} NaN, which SQL takes for larger than any number (not isnan(x))"
        print(f"note: {note}", file=sys.stderr)
    with suppress(MemoryError, duckdb.OutOfMemoryException):  # the answer is out and stands
        lacking = [each.name for place, each in enumerate(columns) if not seen[place]]
        cautions, contexts = notes(store, query, is_empty=not seen, lacking=lacking)
        for sentence in cautions:
            print(f"note: {sentence}", file=sys.stderr)
        for sentence in contexts:
            print(f"about: {sentence}", file=sys.stderr)
    return 0


def counting_nan(
    columns: Sequence[Column], rows: Iterable[Row], n_nan: Counter[str]
) -> Iterator[Row]:
    """Yield rows as they come, and count the NaN of each column of numbers."""
    floats = [(place, column.name) for place, column in enumerate(columns) if column.is_float]
    for row in rows:
        n_nan.update(name for place, name in floats if row[place] in _NAN)
        yield row


def noting_values(rows: Iterable[Row], seen: Counter[int]) -> Iterator[Row]:
    """Yield rows as they come, and count the values of each column by its place.

    Without a row no column is in the counter.
    """
    for row in rows:
        seen.update({place: text not in (None, "null") for place, text in enumerate(row)})
        yield row


def ends(rows: Iterable[Row]) -> tuple[list[Row], int]:
    """Return rows, of more than are printed whole those at both ends, and how many there were."""
    left = iter(rows)
    first = list(islice(left, MOST_SHOWN + 1))
    if len(first) <= MOST_SHOWN:
        return first, len(first)
    placed = chain(enumerate(first, start=1), enumerate(left, start=len(first) + 1))
    last = deque(placed, maxlen=AT_AN_END)
    return [*first[:AT_AN_END], *(row for _, row in last)], last[-1][0]


def words(header: Sequence[Column], rows: Sequence[Row], *, is_whole: bool) -> str:
    """Return an answer as words to be read: aligned, and a plan of the engine as it drew it.

    Numbers are rounded alike, unless the rows are but the ends of a longer answer, with an ellipsis
    between them; NULL stands where nothing is.
    """
    if [column.name for column in header] == ["explain_key", "explain_value"]:
        return "\n".join(plan or "" for _, plan in rows).rstrip()
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in header]
    texts = [
        _round(column) if kind.is_float and is_whole else column
        for column, kind in zip(columns, header, strict=True)
    ]
    cells = [["NULL" if text is None else text for text in column] for column in texts]
    if not is_whole:
        cells = [[*column[:AT_AN_END], "...", *column[AT_AN_END:]] for column in cells]
    return _align([column.name for column in header], cells)


def _align(heads: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """Return columns of text aligned at their right; what is wider than a terminal goes on below.

    As pandas has them and without it: its import would take longer than most answers.

    >>> print(_align(["a", "long"], [["1", "22"], ["x", "NULL"]]))
     a long
     1    x
    22 NULL
    """
    escaped = [[text.translate(ESCAPED) for text in column] for column in columns]
    room = shutil.get_terminal_size(fallback=(UNKNOWN_WIDTH, 24)).columns
    blocks = _fit([[head, *cells] for head, cells in zip(heads, escaped, strict=True)], room)
    if len(blocks) > 1:
        note = f"{len(heads)} columns in {len(blocks)} blocks, each with {heads[0]}"
        print(f"note: {note}; see --csv, --json", file=sys.stderr)
    whole = {*heads, *chain.from_iterable(escaped)}
    cut = {column[0] for block in blocks for column in block if not whole.issuperset(column)}
    if cut:
        of_which = f"{len(cut)} column{'s' if len(cut) > 1 else ''}"
        print(f"note: texts of {of_which} are cut at {_CUT}; see --csv, --json", file=sys.stderr)
    return "\n\n".join(_lines(block) for block in blocks)


def _lines(columns: Sequence[Sequence[str]]) -> str:
    """Return columns of text as lines, aligned at their right."""
    widths = [max(map(len, column)) for column in columns]
    return "\n".join(
        " ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    )


def _fit(columns: Sequence[Sequence[str]], room: int) -> list[list[list[str]]]:
    """Return columns of text as blocks that fit into a width: one block if cut texts make it so.

    The longest text is cut until its column is as wide as the next, down to `LEAST_SHOWN`. Where
    this is not enough, columns go on in further blocks, which begin with the first column, as a
    wide frame does in pandas.

    >>> _fit([["a"], ["b" * 30], ["c"]], 24)
    [[['a'], ['bbbbbbbbbbbbbbbbbbb…'], ['c']]]
    >>> _fit([["a" * 9], ["b" * 9], ["c" * 9], ["d" * 9]], 30)
    [[['aaaaaaaaa'], ['bbbbbbbbb'], ['ccccccccc']], [['aaaaaaaaa'], ['ddddddddd']]]
    """
    widths = [max(map(len, column)) for column in columns]
    while sum(widths) + len(widths) - 1 > room and max(widths) > LEAST_SHOWN:
        widest = widths.index(max(widths))
        over = sum(widths) + len(widths) - 1 - room
        widths[widest] = max(LEAST_SHOWN, widths[widest] - over)
    if sum(widths) + len(widths) - 1 <= room:
        return [_shorten(columns, widths)]
    most = max(LEAST_SHOWN, min(MOST_OF_A_TEXT, (room - 1) // 2))
    widths = [min(most, max(map(len, column))) for column in columns]
    blocks = [[0]]
    for place in range(1, len(columns)):
        if sum(widths[it] + 1 for it in (*blocks[-1], place)) - 1 > room and blocks[-1] != [0]:
            blocks.append([0])
        blocks[-1].append(place)
    cut = _shorten(columns, widths)
    return [[cut[place] for place in block] for block in blocks]


def _shorten(columns: Sequence[Sequence[str]], widths: Sequence[int]) -> list[list[str]]:
    """Return columns of text cut to widths."""
    return [
        [text if len(text) <= width else f"{text[: width - 1]}{_CUT}" for text in column]
        for column, width in zip(columns, widths, strict=True)
    ]


def as_lines(columns: Sequence[Column], texts: Iterable[Row]) -> Iterator[str]:
    """Yield an answer as lines of CSV, the names of its columns first.

    They wait for the first row: an answer that fails in it prints nothing.
    """
    rows = iter(texts)
    first = list(islice(rows, 1))
    yield line([column.name for column in columns], [True] * len(columns))
    are_words = [column.is_text for column in columns]
    for row in chain(first, rows):
        yield line(row, are_words)


def as_objects(columns: Sequence[Column], texts: Iterable[Row]) -> Iterator[str]:
    """Yield an answer as JSON: a list of objects, one to a line."""
    names = [json.dumps(column.name, ensure_ascii=False) for column in columns]
    before = "["
    for row in texts:
        members = [f"{name}:{text or 'null'}" for name, text in zip(names, row, strict=True)]
        yield f"{before}\n{{{','.join(members)}}}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _round(texts: Sequence[str | None]) -> list[str | None]:
    """Return numbers as pandas writes a column of them; None stays."""
    import pandas as pd

    numbers = pd.Series([float("nan" if text is None else text) for text in texts])
    lines = numbers.to_string(index=False, header=False).split("\n") if len(numbers) else []
    pairs = zip(lines, texts, strict=True)
    return [None if text is None else written.strip() for written, text in pairs]


def l_star(options: argparse.Namespace) -> int:
    """Print the layer L* by every estimator, and what is predicted; return 0."""
    from analysis.delia2026.transition.turning import layers

    return show(layers(opened(options), options.profile), as_csv=options.csv)


def signs(options: argparse.Namespace) -> int:
    """Print whether each measured model dampens or expands, and which are left out; return 0."""
    from analysis.delia2026.measured.signs import MINIMUM_PROMPTS, models_without_gain, signs

    store = opened(options, everything=True)
    rows = signs(store, options.gain, band=options.band)
    if n_few := int((rows["n_obs"] < MINIMUM_PROMPTS).sum()):
        few = f"note: no interval of {n_few} of {len(rows)}: fewer than {MINIMUM_PROMPTS} prompts"
        print(few, file=sys.stderr)
    if lacking := models_without_gain(store, options.gain):
        why = f"{options.gain} is not defined, not measured or not in the opened store"
        print(f"note: left out, {why} (see coverage): {', '.join(lacking)}", file=sys.stderr)
    return show(rows, as_csv=options.csv)


def stated(options: argparse.Namespace) -> int:
    """Print every number that the paper states, computed again; return 0."""
    from analysis.delia2026.transition import stated

    return show(stated.ledger(opened(options)), as_csv=options.csv)


def specifications(options: argparse.Namespace) -> int:
    """Print the claim on heritage under every choice at once; return 0."""
    import numpy as np

    from analysis.delia2026.specification import choices as specification_choices
    from analysis.delia2026.specification import curve as specification
    from analysis.delia2026.specification import curve_tables as specification_exhibits

    curve = specification.specification_curve(
        specification_choices.figures(opened(options)),
        rng=np.random.default_rng(specification.SEED),
    )
    if options.csv:
        write_data([to_csv(curve.specifications)])
    else:
        print(specification_exhibits.overview(curve))
    return 0


def forensics(options: argparse.Namespace) -> int:
    """Print every test that a paper reports, recomputed.

    Returns 1 if one contradicts itself, `NOTHING_CHECKED` if none could be recomputed, else 0.
    """
    from analysis.forensics import audit

    tests = audit.of_file(options.file, alpha=options.alpha)
    if options.csv:
        write_data([to_csv(tests)])
    else:
        print(audit.words(tests))
    if not audit.is_checked(tests):
        print("note: no test was found that can be recomputed", file=sys.stderr)
        return NOTHING_CHECKED
    return 0 if audit.is_consistent(tests) else 1
