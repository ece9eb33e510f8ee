"""Rows without a value that a count beside an aggregate counts, and statistics of very few rows."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.store.notes.query import Query, arguments_of, base_tables, called, name_of
from analysis.store.statement import columns_of
from collect import schema

#: Statistics of pairs of values.
_OF_PAIRS = frozenset({"corr", "spearman", "covar_pop", "covar_samp", "regr_r2", "regr_slope"})

#: Below so many pairs a correlation is noted: a perfect one of four in random order has p = .08.
_FEW = 5


def notes(query: Query) -> Iterator[str]:
    """Yield how many rows that are counted have no value, and how few a correlation rests on."""
    for node in query.selects:
        tables = {*base_tables(node).values()}.intersection(schema.OF_MODELS)
        functions = [each for each in called(node) if name_of(each) in query.aggregates]
        counts_rows = any(name_of(each) == "count_star" for each in functions)
        for each in functions if tables else ():
            if name_of(each) in _OF_PAIRS:
                pairs = query.counts(node, [("count(*)", each)]) or []
                least = min((n for (n,) in pairs), default=_FEW)
                if least < _FEW:
                    yield f"{name_of(each)} rests on {least} rows, which tell next to nothing"
            column = next(iter(columns_of(arguments_of(each))), "")
            of = sorted(name for name in tables if column in query.columns.get(name, ()))
            if not counts_rows or not of or "count" in name_of(each) or each.get("filter"):
                continue
            rows = query.counts(node, [("count(*)", None), ("count(*)", each)]) or []
            n, there = (sum(it) for it in zip(*rows, strict=True)) if rows else (0, 0)
            if there < n:
                yield f"{of[0]}.{column} is NULL in {n - there} of the {n} rows that are counted"
