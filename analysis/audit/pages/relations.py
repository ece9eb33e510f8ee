"""The data for people who want to ask it themselves: every table and view, and worked queries."""

from __future__ import annotations

from typing import Any, cast

import altair as alt
import pandas as pd
from markupsafe import Markup

from analysis.drawing.theme import INK, SHAPES, add_finding, greys, series
from analysis.store import Store, codebook
from analysis.tidy import html, markdown, notation, prose
from collect import schema

#: Longest text of a cell of an example row [characters].
LONGEST = 28
N_EXAMPLES = 3
#: Least number of tables that share a column of a primary key for it to be drawn.
SHARED = 3
PART, REFERS = "part of the key of a row", "refers to such a row"
#: Parts of the listing, by the kind of what they list.
PARTS = {"front": "Tables", "table": "Tables of schema raw", "view": "Views of schema raw"}
COLUMNS = {"column": "Column", "meaning": "Meaning and unit"}
#: Axis of the keys: all are named, upright, however narrow their columns are.
ABOVE: dict[str, Any] = {"orient": "top", "labelAngle": -90, "labelOverlap": False}
#: Size of the names of tables [px].
SMALL = 12


def examples(store: Store) -> dict[str, pd.DataFrame]:
    """Return the first rows of every table and view, by its name; empty ones have none.

    First in the order of their columns: without one, each rendering shows other rows.
    """
    names = codebook.relations(store)["relation"]
    first = "SELECT * FROM {} ORDER BY ALL LIMIT {}"
    return {str(name): store.query(first.format(name, N_EXAMPLES)) for name in names}


def listing(store: Store, rows: dict[str, pd.DataFrame], *, filled: bool = False) -> str:
    """Return Markdown with a section for each table and view.

    Parameters
    ----------
    store
        The open data.
    rows
        Example rows by relation, as `examples` gives them.
    filled
        Whether to leave out what holds no row.
    """
    columns = store.query(
        """
        SELECT CASE schema_name WHEN 'main' THEN '' ELSE 'raw.' END || table_name AS relation,
               column_name AS "column", data_type, coalesce(comment, '') AS meaning
          FROM duckdb_columns()
         WHERE NOT internal AND schema_name IN ('main', 'raw')
         ORDER BY table_name, column_index
        """
    )
    by_relation = {str(name): result for name, result in columns.groupby("relation")}
    parts = []
    for kind, title in PARTS.items():
        listed = codebook.relations(store).query("kind == @kind").to_dict("records")
        shown = [one for one in listed if not (filled and rows[str(one["relation"])].empty)]
        if filled and not shown:
            continue
        parts.append(f"# {title} {{#sec-{kind}s}}")
        for one in shown:
            name = str(one["relation"])
            parts.append(section(one, by_relation[name], rows[name]))
    return "\n\n".join(parts)


def start(store: Store) -> str:
    """Return Markdown with the tables to start with: what a row of each is, in one sentence."""
    meanings = codebook.relations(store).query("kind == 'front'").set_index("relation")["meaning"]
    rows = pd.DataFrame(
        {
            "table": [f"[`{name}`](#{anchor(str(name))})" for name in meanings.index],
            "row": [notation.typeset(f"{text.partition('. ')[0]}") for text in meanings],
        }
    )
    return markdown.pipe_table(
        rows, {"table": "Table", "row": "One row per"}, markup=["table", "row"]
    )


def anchor(name: str) -> str:
    """Return the place of a table or view on the page.

    >>> anchor("model_gain"), anchor("raw.model_gain")
    ('data-model-gain', 'data-raw-model-gain')
    """
    return f"data-{name.replace('_', '-').replace('.', '-')}"


def section(relation: dict[Any, Any], columns: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Return the section of one table or view.

    Parameters
    ----------
    relation
        Row of `analysis.store.codebook.relations`.
    columns
        One row per column: `column`, `data_type`, `meaning`.
    rows
        Example rows.
    """
    name = str(relation["relation"])
    meaning = notation.typeset(str(relation["meaning"])).rstrip(".")
    size = f", {relation['n_rows']} rows" if relation["kind"] != "view" else ""
    shown = pd.DataFrame(
        {
            "column": [f"`{name}`" for name in columns["column"]],
            "meaning": [
                f"{notation.typeset(text)} [{markdown.literal(kind.lower())}]{{.column-type}}"
                for text, kind in zip(columns["meaning"], columns["data_type"], strict=True)
            ],
        }
    )
    heads = dict(COLUMNS)
    for position, row in enumerate(rows.to_dict("records"), start=1):
        heads[f"row_{position}"] = f"Row {position}"
        shown[f"row_{position}"] = [value(row[column]) for column in columns["column"]]
    count = prose.plural(len(columns), "column")
    opening = Markup('<details class="relation"><summary>{}{}</summary>').format(count, size)
    table = markdown.pipe_table(shown, heads, markup=["column", "meaning"])
    return "\n\n".join(
        [
            f"## `{name}` {{#{anchor(name)} .unnumbered}}",
            f"One row per {meaning[0].lower()}{meaning[1:]}.",
            html.block(opening),
            table,
            html.block(Markup("</details>")),
        ]
    )


def value(cell: Any) -> str:
    """Return a value of an example row, short enough for a cell.

    >>> value(0.123456789), value(None), value("a" * 40)
    ('0.1235', '–', 'aaaaaaaaaaaaaaaaaaaaaaaaaaa…')
    """
    if isinstance(cell, float):
        return prose.MISSING if pd.isna(cell) else f"{cell:.4g}".replace("-", prose.MINUS)
    if pd.api.types.is_scalar(cell):
        text = prose.MISSING if pd.isna(cell) else " ".join(str(cell).split())
    else:
        text = ", ".join(str(one) for one in cell)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def answer(store: Store, sql: str) -> str:
    """Return Markdown with a query and its result.

    Raises
    ------
    AnalysisError
        If the query fails.
    """
    rows = store.query(sql)
    shown = pd.DataFrame({name: [value(item) for item in rows[name]] for name in rows})
    heads = {str(name): str(name) for name in rows}
    return f"```sql\n{sql.strip()}\n```\n\n{markdown.pipe_table(shown, heads)}"


def keys() -> pd.DataFrame:
    """Return one row per table and key column that several tables share: `table`, `key`, `role`."""
    tables = schema.tables()
    parts = [name for table in tables.values() for name in table.key]
    shared = [name for name in dict.fromkeys(parts) if parts.count(name) >= SHARED]
    return pd.DataFrame(
        [
            {"table": table.name, "key": column.name, "role": PART if is_part else REFERS}
            for table in tables.values()
            for column in table.columns
            if column.name in shared
            for is_part in [column.name in table.key]
        ]
    )


def chart_keys(shared: pd.DataFrame) -> alt.LayerChart:
    """Draw which tables can be joined on what: a row per table, a column per key.

    ``shared`` is as `keys` returns it.
    """
    roles = [PART, REFERS]
    order = list(dict.fromkeys(shared["key"]))
    x = alt.X("key:N", sort=order, title=None, axis=alt.Axis(**ABOVE))
    # Smaller names leave a phone room for all keys.
    y = alt.Y("table:N", sort=None, title=None, axis=alt.Axis(grid=True, labelFontSize=SMALL))
    points = (
        alt.Chart(shared)
        .mark_point(size=80, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("role:N", scale=series(roles, SHAPES), legend=None),
            color=alt.Color("role:N", scale=greys(roles), legend=None),
            tooltip=["table:N", "key:N", "role:N"],
        )
    )
    words = (
        alt.Chart(_last_of_a_row(shared, order).drop_duplicates("role"))
        .mark_text(align="left", dx=10, color=INK, fontSize=13)
        .encode(x=x, y=y, text="role:N")
    )
    chart = alt.layer(points, words).properties(
        width=46 * len(order), description=f"{len(order)} keys that tables share."
    )
    most = shared["key"].value_counts()
    tables = prose.plural(shared["table"].nunique(), "table")
    text = (
        f"{prose.plural(len(order), 'key')} join {tables}; "
        f"{most.index[0]} is in {most.iloc[0]} of them."
    )
    return cast("alt.LayerChart", add_finding(chart, text))


def _last_of_a_row(shared: pd.DataFrame, order: list[str]) -> pd.DataFrame:
    """Return the last mark of each table: at its right there is room for words."""
    placed = shared.assign(place=shared["key"].map(order.index))
    return placed.loc[placed.groupby("table", sort=False)["place"].idxmax()]
