"""What an answer is of: the rows that a table of main has, and other definitions of its gain.

Nothing need be wrong with such an answer. Models of the paper, of others and measured here stand in
one table `model`; `model_gain` has those measured here, `prompt_gain` one prompt set, `network` the
main design of the study, and a claim may be a law or a printed number. Whether a stream grows or
shrinks depends on the definition of gain. The comments of these tables say so; a count, a mean or a
sign does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from analysis.store.notes.query import OF_PAIRS, Query, called, column_groups, name_of
from analysis.store.notes.sampling import conjuncts, constants
from analysis.store.statement import columns_of, named_within, within
from collect import schema

#: Columns that say of the same stream whether it grows, by table; the others are of block 0, of the
#: final norm or the largest of a model.
_GROWTH = {
    "model_gain": (
        "gain_last_block",
        "gain_penultimate_block",
        "gain_body",
        "gain_whole_matrix",
        "gain_without_first",
    ),
    "published_model": (
        "gain_penultimate_block",
        "gain_penultimate_block_pythia",
        "gain_last_block",
        "gain_whole_matrix",
        "growth_after_block_0",
    ),
}

#: The same side of 1 by what they are.
_SAME = {"growth_after_block_0": "gain_body"}

#: Columns of model that say of a row what kind it is, or that it was looked at one by one.
_KINDS = frozenset({"is_published", "is_reported", "is_measured", schema.KIND, "reason"})

#: Models measured here, and models of the paper that are not.
_MODELS = f"""
SELECT count(*) FILTER (WHERE is_measured),
       count(*) FILTER (WHERE is_published AND NOT is_measured)
  FROM main.model
 WHERE NOT {schema.KIND}
"""

#: Prompts of other sets than those that prompt_gain has, and their sets.
_OTHER_PROMPTS = """
SELECT count(DISTINCT prompt_id), count(DISTINCT p.prompt_set)
  FROM raw.run AS r
  JOIN raw.prompt AS p USING (prompt_set)
 WHERE r.perturbation IS NULL AND p.prompt_set NOT IN (SELECT prompt_set FROM raw.leading_run)
"""


#: Column that says whether a network reached the loss of a trigram model.
_TOLD = "is_beyond_trigram"

_RECIPES = frozenset({"family", _TOLD, "network_id"})

#: Norms of one matrix, which another can make up for.
_MATRICES = tuple(f"{it}_{norm}" for it in "qkvo" for norm in ("spectral", "frobenius"))


def notes(query: Query, *, is_empty: bool) -> Iterator[str]:
    """Yield a sentence for each table that a query counts, and for a gain that it takes alone.

    Parameters
    ----------
    query
        The query.
    is_empty
        Whether its answer has no row: then also of a table that it only filters.
    """
    yield from dict.fromkeys(_scopes(query, is_empty=is_empty))
    yield from dict.fromkeys(_definitions(query))
    yield from dict.fromkeys(_weights(query))
    yield from dict.fromkeys(_recipes(query))


def _scopes(query: Query, *, is_empty: bool) -> Iterator[str]:
    """Yield what the rows are that a SELECT counts or takes together, by table."""
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
            is_asked = counts if takes == "counts" else functions or is_cut or is_empty
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
        said = [f"{some} {words}" for some, words in zip(counts, kinds.values(), strict=True)]
        yield (
            f"model: the {n} rows are {', '.join(it for it in said if it[0] != '0')}, some of "
            f"several kinds or none; {', '.join(kinds)} tell them apart"
        )


def _of_gains(query: Query, node: Any, alias: str) -> Iterator[str]:
    asked = ["count(*)", f'count(CASE WHEN NOT "{alias}".{schema.KIND} THEN 1 END)']
    rows = query.counts(query.ungrouped(node), [(sql, None) for sql in asked])
    if any(n_rows and not n_public for n_rows, n_public in rows or []):
        return  # networks trained here alone
    ((n, n_others),) = query.cursor.execute(_MODELS).fetchall()
    if n_others:
        yield (
            f"model_gain has the {n} models measured here; published_model has {n_others} others, "
            "with other columns of gain"
        )


def _of_prompts(query: Query, node: Any, alias: str) -> Iterator[str]:
    if "prompt_set" in query.columns:
        return
    n_prompts, n_sets = query.cursor.execute(_OTHER_PROMPTS).fetchone() or (0, 0)
    if n_sets:
        yield (
            f"prompt_gain has the prompts of one set; {n_prompts} prompts of {n_sets} others: "
            "raw.prompt_gain"
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


def _definitions(query: Query) -> Iterator[str]:
    """Yield for each gain of a SELECT how many of its models another column puts elsewhere."""
    asked_anywhere = {_SAME.get(it, it) for it in query.columns}
    for node in query.selects:
        asked = columns_of(_with_a_side(node))
        for alias, source in query.sources(node).items():
            columns = _GROWTH.get(source.table, ())
            taken = {it for it in asked if it in columns or _SAME.get(it) in columns}
            if len(taken & source.columns) != 1 or len(asked_anywhere & {*columns}) > 1:
                continue
            column = taken.pop()
            others = source.columns.intersection(columns) - {column, _SAME.get(column, "")}
            n_apart, n, other = _most_apart(query, node, f'"{alias}"."{column}"', sorted(others))
            if n_apart:
                yield (
                    f"{source.table}.{column}: {other} lies on the other side of 1 for {n_apart} "
                    f"of the {n} models that have both; whether a stream grows depends on the "
                    "definition"
                )


def _recipes(query: Query) -> Iterator[str]:
    """Yield what else differs between recipes that are compared: kind of block, loss reached."""
    for node in query.selects:
        for alias, source in query.sources(node).items():
            if source.table not in schema.CLUSTERS or not source.columns >= _RECIPES:
                continue
            if {*column_groups(query.groups(node))}.isdisjoint({"recipe", "lab"}):
                continue
            of, unmet = f'"{alias}"', f"CASE WHEN NOT {_TOLD} THEN network_id END"
            asked = [f"count(DISTINCT {of}.{it})" for it in ("family", "network_id")]
            asked.append(f"count(DISTINCT {unmet})")
            rows = query.counts(query.ungrouped(node), [(sql, None) for sql in asked])
            n_families, n, n_short = (rows or [(0, 0, 0)])[0]
            if n_families > 1 and "family" not in query.columns:
                yield (
                    f"{source.table}: recipes differ in kind of block too, of which there are "
                    f"{n_families} here: family"
                )
            is_told = _TOLD in query.columns or any("equal_loss" in it for it in query.columns)
            if source.table == "network" and n_short and not is_told:
                yield (
                    f"network: {n_short} of the {n} networks have not reached the loss of a "
                    f"trigram model ({_TOLD}); at equal loss: log_growth_at_equal_loss"
                )


def _weights(query: Query) -> Iterator[str]:
    """Yield that norms of one matrix over several blocks are of how the weights are written."""
    for node in query.selects:
        asked = columns_of([node["select_list"], node.get("where_clause"), node.get("modifiers")])
        for alias, source in query.sources(node).items():
            if source.table not in {"head_weight", "layer_weight"}:
                continue
            columns = [it for it in _MATRICES if it in asked and it in source.columns]
            met = [(f'count(DISTINCT "{alias}".layer)', None)]
            if columns and query.counts(query.ungrouped(node), met) != [(1,)]:
                yield (
                    f"{source.table}.{', '.join(columns)}: a matrix can be scaled against its "
                    "partner (W_Q and W_K, W_V and W_O) without a change of any prediction, so "
                    "these norms alone do not say what a block does"
                )


def _most_apart(query: Query, node: Any, place: str, others: Sequence[str]) -> tuple[int, int, str]:
    """Return the column that lies on the other side of 1 for most rows: how many, of how many."""
    best, alias = (0, 0, ""), place.partition(".")[0]
    for other in others:
        product = f'({place} - 1) * ({alias}."{other}" - 1)'
        asked = [f"count(CASE WHEN {product} < 0 THEN 1 END)", f"count({product})"]
        rows = query.counts(query.ungrouped(node), [(sql, None) for sql in asked])
        best = max([best, *((*row, other) for row in rows or [])])
    return best


def _with_a_side(node: Any) -> list[Any]:
    """Return the columns of a SELECT whose values are looked at; a correlation has no side."""
    parts = [node["select_list"], node.get("having"), node.get("where_clause")]
    functions = [it for it in within(parts) if it.get("class") == "FUNCTION"]
    pairs = [it for it in functions if name_of(it) in OF_PAIRS]
    paired = {id(it) for each in pairs for it in within(each)}
    return [it for it in within(parts) if it.get("class") == "COLUMN_REF" and id(it) not in paired]
