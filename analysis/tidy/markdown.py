"""Text as Markdown shows it: nothing in it taken for markup, and rows as a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from analysis.tidy.columns import Column, texts
from analysis.tidy.prose import MISSING, NO_BREAK, RAISED, bound, is_missing

if TYPE_CHECKING:
    import pandas as pd

FIGURE_SPACE, POINT_SPACE = "\u2007", "\u2008"  # as wide as a figure, and as a decimal point

#: What a cell of numbers holds.
NUMBER = re.compile(rf"[<>≤≥≈±\d()\[\]−–∞×.,\s%⁻{RAISED}]+")
#: A number at the end of a cell: what is before it, its whole part, its decimals and its unit.
DECIMAL = re.compile(rf"(.*?[\d,]*\d)(?:\.(\d+))?({NO_BREAK}%)?")
#: What looks like one and is the version of a package.
VERSION = re.compile(r"\d+(\.\d+){2,}")

#: What Markdown could take for markup, and what would end a line of it.
SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!~^$@|&])")
BAR = re.compile(r"(?<!\\)\|")
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
LINE_BREAK = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def literal(text: str) -> str:
    r"""Return Markdown that shows text as it stands, on one line: nothing in it is markup.

    >>> literal("10^(1/L) <b> $x$\n[a](b)")
    '10\\^\\(1/L\\) \\<b\\> \\$x\\$ \\[a\\]\\(b\\)'
    """
    return SPECIAL.sub(r"\\\1", CONTROL.sub("\ufffd", LINE_BREAK.sub(" ", text)))


def attribute(value: object) -> str:
    r"""Return a value for an attribute in Markdown's braces: one line that ends nothing.

    >>> attribute('the "law" of\ndepth')
    'the law of depth'
    """
    return CONTROL.sub("\ufffd", LINE_BREAK.sub(" ", re.sub(r'["\\]', "", str(value))))


def code(text: str) -> str:
    r"""Return Markdown that shows text as code in a line; with a backtick in it, as plain text.

    >>> code("gain_body"), code("a`b")
    ('`gain_body`', 'a\\`b')
    """
    return literal(text) if "`" in text or not text.strip() else f"`{LINE_BREAK.sub(' ', text)}`"


def pipe_table(
    rows: pd.DataFrame,
    headers: Mapping[str, Column | str],
    *,
    markup: Collection[str] = (),
    numbers: Collection[str] = (),
) -> str:
    """Return rows as a Markdown pipe table; columns of numbers are set right, at their decimals.

    Dashes under the headers give each column a width in proportion to its text, which pandoc
    uses when a row is longer than a line.

    Parameters
    ----------
    rows
        Any frame; a cell is text, whatever it says: what comes from data cannot become a link, a
        formula or HTML.
    headers
        By name, in the order to print: the columns, written from the rows; or headers alone, above
        values that are printed as they are.
    markup
        Columns whose cells are Markdown, made by functions that escape what comes from data.
    numbers
        Columns that are set like numbers whatever their cells hold, such as "r 0.50".

    >>> import pandas as pd
    >>> print(pipe_table(pd.DataFrame({"a": ["x"], "n": ["12"]}), {"a": "A", "n": "N"}))
    | A | N |
    |:-----|-----:|
    | x | 12 |
    """
    written = texts(rows, headers)
    heads = {name: it if isinstance(it, str) else it.header for name, it in headers.items()}
    cells_by_name = {
        name: [MISSING if is_missing(value) else bound(str(value)) for value in written[name]]
        for name in heads
    }
    set_right = {
        name for name in cells_by_name if name in numbers or _holds_numbers(cells_by_name[name])
    }
    cells_by_name |= {name: align_decimals(cells_by_name[name]) for name in set_right}
    rules = [
        _rule(heads[name], cells, is_set_right=name in set_right)
        for name, cells in cells_by_name.items()
    ]
    columns = [
        [
            LINE_BREAK.sub(" ", BAR.sub(r"\\|", text)) if name in markup else literal(text)
            for text in cells
        ]
        for name, cells in cells_by_name.items()
    ]
    lines = [list(heads.values()), *map(list, zip(*columns, strict=True))]
    first, *others = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([first, f"|{'|'.join(rules)}|", *others])


def align_decimals(cells: Sequence[str]) -> list[str]:
    r"""Return cells that, set right, have their decimal points below one another.

    Spaces as wide as figures stand for decimals that a cell lacks. Cells stay where they end in
    different units; one that is no number stays in any case.

    >>> align_decimals(["0.49", "<\u00a00.001", "12", "–"])
    ['0.49\u2007', '<\xa00.001', '12\u2008\u2007\u2007\u2007', '–']
    >>> align_decimals(["r 0.5", "80\u00a0%"]), align_decimals(["80\u00a0%", "43.8\u00a0%"])
    (['r 0.5', '80\xa0%'], ['80\u2008\u2007\xa0%', '43.8\xa0%'])
    """
    parsed = [DECIMAL.fullmatch(cell) for cell in cells]
    matches = [match for match in parsed if match]
    units, digits = {match[3] for match in matches}, [len(match[2] or "") for match in matches]
    if len(units) != 1 or len(set(digits)) == 1:
        return list(cells)
    return [
        _pad(match, max(digits)) if match else cell
        for cell, match in zip(cells, parsed, strict=True)
    ]


def _pad(match: re.Match[str], digits: int) -> str:
    """Return a number with spaces for the decimals that it lacks."""
    written = f"{match[1]}.{match[2]}" if match[2] else f"{match[1]}{POINT_SPACE}"
    return f"{written}{FIGURE_SPACE * (digits - len(match[2] or ''))}{match[3] or ''}"


def _rule(header: str, cells: Sequence[str], *, is_set_right: bool) -> str:
    """Return the rule of one column: its width in dashes, and a colon where the text is set."""
    longest = max([len(header), *(len(cell) for cell in cells)])
    dashes = "-" * min(max(longest, 5), 60)
    return f"{dashes}:" if is_set_right else f":{dashes}"


def _holds_numbers(cells: Sequence[str]) -> bool:
    """Return whether cells are numbers, a word now and then in the place of one allowed.

    >>> _holds_numbers(["2.53", "separated", "1.25"]), _holds_numbers(["llama", "–", "–"])
    (True, False)
    >>> _holds_numbers(["3.11.7", "1.17.1"])
    False
    """
    filled = [cell for cell in cells if cell != MISSING]
    n_numbers = sum(bool(NUMBER.fullmatch(cell) and not VERSION.search(cell)) for cell in filled)
    return bool(cells) and 2 * n_numbers >= len(filled) + bool(filled)
