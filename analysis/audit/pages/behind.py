"""What stands under a table: its formula, its rows, and a line of R that gives the same."""

from __future__ import annotations

import base64

import pandas as pd
from markupsafe import Markup

from analysis.tidy import prose


def behind(rows: pd.DataFrame, *, name: str, formula: str, r: str) -> str:
    """Return Markdown with the formula of a table, its number of rows, R code, and the rows.

    Parameters
    ----------
    rows
        One row per unit that was analysed, with the columns that the formula names.
    name
        Stem of the file that the rows are handed out as, and that ``r`` reads.
    formula
        What was computed, as a formula or a call.
    r
        Code of R that prints the numbers of the table from that file.
    """
    text = base64.b64encode(rows.to_csv(index=False).encode()).decode()
    anchor = Markup('<a download="{0}.csv" href="data:text/csv;base64,{1}">{0}.csv</a>')
    link = anchor.format(name, text)
    return "\n\n".join(
        [
            "::: {.behind}",
            f"Computed: `{formula}`; n = {prose.count(len(rows))} rows, {link}. In R:",
            f"```r\n{r}\n```",
            ":::",
        ]
    )
