"""The rows of a table of main that an answer is of, where nothing need be wrong with it.

Models of the paper, of others and measured here stand in one table `model`; `model_gain` has those
measured here, `prompt_gain` one prompt set, `network` the main design of the study, and a claim may
be a law or a printed number. The comments of these tables say so; a count or a mean does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from analysis.store import contents
from analysis.store.notes.query.conditions import conjuncts, constants
from analysis.store.notes.query.query import Query, called, column_groups, name_of
from analysis.store.notes.scale import is_ranked
from analysis.store.statement import named_within
from collect import schema

#: Columns of model that say of a row what kind it is, or that it was looked at one by one.
_KINDS = frozenset({"is_published", "is_reported", "is_measured", schema.KIND, "reason"})

#: Models measured here, those of quantised files, and models of the paper with a figure.
_MODELS = f"""
SELECT count(*),
       count(quantisation),
       (SELECT count({{}}) FROM main.published_model ANTI JOIN main.model_gain USING (model_id)),
       (SELECT count(*) FROM main.model WHERE is_reported)
  FROM main.model
 WHERE is_measured AND NOT {schema.KIND}
"""

#: How columns that say how much a stream grows begin.
_OF_GAIN = ("gain_", "growth_")

#: Prompts of other sets than those that prompt_gain has, and their sets.
_OTHER_PROMPTS = """
SELECT count(DISTINCT prompt_id), count(DISTINCT p.prompt_set)
  FROM raw.run AS r
  JOIN raw.prompt AS p USING (prompt_set)
 WHERE r.perturbation IS NULL AND p.prompt_set NOT IN (SELECT prompt_set FROM raw.leading_run)
"""


def notes(query: Query, *, is_empty: bool) -> Iterator[str]:
    """Yield what the rows are that a SELECT counts or takes together, by table.

    Parameters
    ----------
    query
        The query.
    is_empty
        Whether its answer has no row: then also of a table that it only filters.
    """
    for node in query.selects:
        functions = [it for it in called(node) if name_of(it) in query.aggregates]
        counts = [it for it in functions if "count" in name_of(it)]
        is_cut = any("LIMIT" in each["type"] for each in node.get("modifiers") or [])
        here = named_within(node["from_table"])
        wheres = [*conjuncts(node.get("where_clause"))]
        chosen = {name for each in wheres for name in constants(each, here)}
        chosen |= column_groups(query.groups(node)) if functions else set()
        tables = query.tables(node)
        for alias, table in tables.items():
            say, takes = _SCOPES.get(table, (None, ""))
            is_asked = (
                counts if takes == "counts" else functions or is_cut or is_ranked(node) or is_empty
            )
            others = {*tables.values()} & {*schema.KEYS} - {table, "model"}
            if say and is_asked and not others and not {*schema.KEYS[table]} <= chosen:
                yield from say(query, node, alias)


def _of_models(query: Query, node: Any, alias: str) -> Iterator[str]:
    if len(query.tables(node)) > 1 or not _KINDS.isdisjoint(query.columns):
        return
    kinds = {
        "is_published": "of the paper",
        "is_reported": "that others measured",
        "is_measured": "measured here",
    }
    asked = ["count(*)", *(f'count(CASE WHEN "{alias}".{kind} THEN 1 END)' for kind in kinds)]
    rows = query.counts(query.ungrouped(node), [(sql, None) for sql in asked]) or [(0, 0, 0, 0)]
    n, *counts = rows[0]
    if n not in counts:
        pairs = zip(counts, kinds.values(), strict=True)
        said = ", ".join(f"{some} {words}" for some, words in pairs if some)
        yield (
            f"model: the {n} rows are {said}, some of several kinds or none; {', '.join(kinds)} "
            "tell them apart"
        )


def _of_gains(query: Query, node: Any, alias: str) -> Iterator[str]:
    met = ["count(*)", f'count(CASE WHEN NOT "{alias}".{schema.KIND} THEN 1 END)']
    rows = query.counts(query.ungrouped(node), [(sql, None) for sql in met])
    if any(n_rows and not n_public for n_rows, n_public in rows or []):
        return  # networks trained here alone
    known = contents.columns_by_table(query.cursor)
    asked = sorted(it for it in query.columns & {*known["model_gain"]} if it.startswith(_OF_GAIN))
    column = next((it for it in asked if it in known["published_model"]), "")
    sql = _MODELS.format(column or "*")
    ((n, n_quantised, n_others, n_reported),) = query.cursor.execute(sql).fetchall()
    files = f", {n_quantised} of them of quantised files" if n_quantised else ""
    of_them = f" with {column}" if column else f", without {asked[0]}" if asked else ""
    by_others = f"; {n_reported} that others measured: raw.reported_gain" if n_reported else ""
    if n_others:
        yield (
            f"model_gain has the {n} models measured here{files}; published_model has {n_others} "
            f"others{of_them}{by_others}"
        )


def _of_prompts(query: Query, node: Any, alias: str) -> Iterator[str]:
    n_prompts, n_sets = query.cursor.execute(_OTHER_PROMPTS).fetchone() or (0, 0)
    if n_sets:
        yield (
            f"prompt_gain has one prompt set of each model; {n_prompts} prompts of {n_sets} "
            "others: raw.prompt_gain"
        )


def _of_networks(query: Query, node: Any, alias: str) -> Iterator[str]:
    sql = "SELECT (SELECT count(*) FROM main.network), (SELECT count(*) FROM raw.study_run)"
    n, n_all = query.cursor.execute(sql).fetchone() or (0, 0)
    if n < n_all:
        yield (
            f"network has the {n} networks of the main design, of {n_all} that were trained: "
            "raw.study_run"
        )


def _of_claims(query: Query, node: Any, alias: str) -> Iterator[str]:
    if "category" in query.columns:
        return
    asked = [(f'list("{alias}".category)', None)]
    rows = query.counts(query.ungrouped(node), asked) or [([],)]
    names = rows[0][0] or []
    kinds = {name: names.count(name) for name in sorted({*names})}
    if len(kinds) > 1:
        said = ", ".join(f"{n} of category {name}" for name, n in kinds.items())
        yield f"claim: the {len(names)} rows are {said}"


#: What is said of a table, and whether of any aggregate or of a count of its rows alone.
_SCOPES: dict[str, tuple[Callable[[Query, Any, str], Iterator[str]], str]] = {
    "model": (_of_models, "counts"),
    "model_gain": (_of_gains, ""),
    "prompt_gain": (_of_prompts, "counts"),
    "network": (_of_networks, "counts"),
    "claim": (_of_claims, "counts"),
}
