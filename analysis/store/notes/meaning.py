"""What a column of a table of main means beside others: gains, updates, weights, recipes.

A gain is of one block or of all, at one token or over all: another definition for the same models
may lie on the other side of 1. The size of an update does not say how much longer a stream becomes,
a matrix can be scaled against its partner, and recipes are more than their training. The comments
say so; a mean, a sign or a rank does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.store.notes.query.query import (
    INTERVALS,
    OF_PAIRS,
    SPREADS,
    Query,
    column_groups,
    name_of,
)
from analysis.store.statement import columns_of, within
from collect import schema

#: What each gain of one block is of, by table.
_BLOCKS = {
    "model_gain": {
        "gain_last_block": "the last block at the last token",
        "gain_whole_matrix": "the last block over all tokens",
        "gain_without_first": "the last block over all tokens but the first",
        "gain_penultimate_block": "the last block but one at the last token",
    },
    "published_model": {
        "gain_last_block": "the last block at the last token",
        "gain_whole_matrix": "the last block over all tokens",
        "gain_penultimate_block": "the last block but one at the last token",
        "gain_penultimate_block_pythia": "the last block but one at the last token",
        "growth_after_block_0": "all blocks after block 0 at the last token",
    },
}

#: Gains of all blocks but the first, beside which none of one block says anything.
_OF_ALL = frozenset({"growth_after_block_0", "gain_body"})

#: Column that says whether a network reached the loss of a trigram model.
_TOLD = "is_beyond_trigram"

_RECIPES = frozenset({"family", _TOLD, "network_id"})

#: Settings of a network that its recipe and width fix.
_FIXED = ("learning_rate", "weight_decay", "decay_turns")

#: Sizes of an update, each with the column of its direction.
_UPDATES = {
    f"{part}_ratio{body}": f"{part}_cosine{body}"
    for part in ("attention", "ffn")
    for body in ("", "_body")
}

#: Norms of one matrix, which another can make up for.
_MATRICES = tuple(f"{it}_{norm}" for it in "qkvo" for norm in ("spectral", "frobenius"))


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for each column whose meaning another column shows."""
    for room in (_definitions, _updates, _weights, _recipes, _settings, _categories, _even_shares):
        yield from dict.fromkeys(room(query))


def _definitions(query: Query) -> Iterator[str]:
    """Yield for a gain of one block for how many models another gain lies elsewhere."""
    for node in query.selects:
        asked = columns_of(_with_a_side(node))
        for alias, source in query.sources(node).items():
            columns = _BLOCKS.get(source.table, {})
            taken = (asked & {*columns} & source.columns) - _OF_ALL
            if len(taken) != 1 or query.columns & ({*columns} | _OF_ALL) != taken:
                continue
            (column,) = taken
            others = source.columns.intersection(columns) - taken
            n_apart, n, other = _most_apart(query, node, f'"{alias}"."{column}"', sorted(others))
            if n_apart:
                yield (
                    f"{source.table}.{column} is of {columns[column]}; {other}, of "
                    f"{columns[other]}, lies on the other side of 1 for {n_apart} of the {n} "
                    "models that have both"
                )


def _updates(query: Query) -> Iterator[str]:
    """Yield that the size of an update is not how much longer the stream becomes."""
    for node in query.selects:
        for source in query.sources(node).values():
            asked = [it for it in _UPDATES if it in query.columns and it in source.columns]
            if source.table == "block" and asked and query.columns.isdisjoint(_UPDATES.values()):
                yield (
                    f"block.{', '.join(asked)}: the size of an update; how much longer it makes "
                    f"the stream depends on its direction ({_UPDATES[asked[0]]})"
                )


def _settings(query: Query) -> Iterator[str]:
    """Yield that a setting that a query looks at is fixed by recipe and width."""
    for node in query.selects:
        for source in query.sources(node).values():
            asked = [it for it in _FIXED if it in query.columns and it in source.columns]
            if source.table in schema.CLUSTERS and asked:
                are = "is" if len(asked) == 1 else "are"
                yield (
                    f"{source.table}.{', '.join(asked)} {are} fixed by recipe and d_model; the "
                    "factors of the design are recipe, shape and seed; designs that cross "
                    "settings: raw.study_level"
                )


def _recipes(query: Query) -> Iterator[str]:
    """Yield what else differs between recipes that are compared: kind of block, loss reached."""
    for node in query.selects:
        for alias, source in query.sources(node).items():
            if source.table not in schema.CLUSTERS or not source.columns >= _RECIPES:
                continue
            groups = column_groups(query.groups(node))
            is_of_growth = any("growth" in it or "log_gain" in it for it in query.columns)
            if not is_of_growth or "network_id" in groups:
                continue
            of, unmet = (
                f'"{alias}"',
                f'CASE WHEN NOT "{alias}".{_TOLD} THEN "{alias}".network_id END',
            )
            asked = [f"count(DISTINCT {of}.{it})" for it in ("family", "network_id")]
            asked.append(f"count(DISTINCT {unmet})")
            rows = query.counts(query.ungrouped(node), [(sql, None) for sql in asked])
            n_families, n, n_short = (rows or [(0, 0, 0)])[0]
            if n_families > 1 and groups & {"recipe", "lab"} and "family" not in query.columns:
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


def _categories(query: Query) -> Iterator[str]:
    """Yield that prompts of one category are alike, in an interval or a spread over prompts."""
    for node, each in query.over_rows():
        for alias, table in query.tables(node).items():
            if table != "prompt_gain" or name_of(each) not in SPREADS | INTERVALS:
                continue
            asked = [f'count(DISTINCT "{alias}"."{it}")' for it in ("prompt_id", "category")]
            rows = query.counts(node, [(sql, each) for sql in asked]) or []
            n, n_categories = max(rows, default=(0, 0))
            if n > n_categories > 1:
                yield (
                    f"prompt_gain: {n} prompts are of {n_categories} categories, within which they "
                    "are alike, so an interval over them is too narrow for prompts of others"
                )


def _even_shares(query: Query) -> Iterator[str]:
    """Yield what share of attention the first token has where heads attend evenly."""
    even = "first_token_share_if_even"
    for node in query.selects:
        for alias, source in query.sources(node).items():
            is_asked = "first_token_share" in query.columns and even not in query.columns
            if source.table != "attention" or not is_asked or even not in source.columns:
                continue
            asked = [(f'{it}("{alias}".{even})', None) for it in ("min", "max")]
            for low, high in query.counts(query.ungrouped(node), asked) or []:
                if low is not None:
                    yield (
                        f"attention.first_token_share would be {low:.2f} to {high:.2f} if every "
                        f"token attended evenly ({even}); the first token's own row is left out"
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
    alias = place.partition(".")[0]
    asked = [
        f'count(DISTINCT CASE WHEN ({place} - 1) * ({alias}."{other}" - 1) {side} '
        f"THEN {alias}.model_id END)"
        for other in others
        for side in ("< 0", "IS NOT NULL")
    ]
    ((*counts,),) = query.counts(query.ungrouped(node), [(sql, None) for sql in asked]) or [()]
    pairs = zip(counts[::2], counts[1::2], others, strict=False)
    return max(pairs, default=(0, 0, ""))


def _with_a_side(node: Any) -> list[Any]:
    """Return the columns of a SELECT whose values are looked at; a correlation has no side."""
    parts = [node["select_list"], node.get("having"), node.get("where_clause")]
    functions = [it for it in within(parts) if it.get("class") == "FUNCTION"]
    pairs = [it for it in functions if name_of(it) in OF_PAIRS]
    paired = {id(it) for each in pairs for it in within(each)}
    return [it for it in within(parts) if it.get("class") == "COLUMN_REF" and id(it) not in paired]
