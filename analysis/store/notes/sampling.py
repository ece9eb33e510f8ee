"""What a query must do before it compares models: tables of main with several rows a model.

Rows of one model are not independent, and prompt sets may hold different models. Which columns
tell the rows of a model apart is declared (`collect.schema.grain`). A query takes one of them where
it groups by the column or asks for one value; one model is also what only one measured model meets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.notes import repetition
from analysis.store.notes.query.conditions import conjuncts, constants
from analysis.store.notes.query.query import Query
from analysis.store.notes.query.reading import Open, Reading
from analysis.store.notes.repetition import Repeat
from analysis.store.statement import columns_of, within
from collect import schema

if TYPE_CHECKING:
    import duckdb


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for rows that are no models or that a join repeats, and for unlike sets."""
    names = query.names
    known = {
        name: frozenset(schema.SAMPLES[name].columns) for name in names if name in schema.SAMPLES
    }
    reading = Sampling(known, query.means, query.cursor)
    sampled = reading.noted_in(query.tree) if known else []
    repeats = repetition.repeats(query)
    joined = {name for each in repeats.values() for name in (each.table, *each.others)}
    if sampled and joined.issuperset(sampled):
        yield from _of_both(sampled, [*repeats.values()])
    else:
        rules: dict[str, list[str]] = {}
        for name in sampled:
            rules.setdefault(schema.SAMPLES[name].rule, []).append(name)
        yield from (f"{', '.join(some)}: {rule}" for rule, some in rules.items())
        yield from (f"{each.problem}; {each.cure} first" for each in repeats.values())
    for name, sizes in sorted(reading.unlike_sets.items()):
        sets = ", ".join(f"{each} {n}" for each, n in sizes)
        yield (
            f"{name}: prompt sets hold different models ({sets}); compare sets over models "
            "that were measured on each"
        )


def _of_both(names: Sequence[str], repeats: Sequence[Repeat]) -> Iterator[str]:
    """Yield what to do about rows that a join repeats and that are several of a model, in turn."""
    ask = next((it for it in (schema.SAMPLES[name].ask for name in names) if it), "")
    for each in repeats:
        if each.key == ("model_id",):
            yield (
                f"{each.problem}, and rows of one model are not independent; {each.cure} first{ask}"
            )
        else:
            yield (
                f"{each.problem}; {each.cure}, then GROUP BY model_id, or average by it to compare "
                "models: rows of one model are not independent"
            )


class Sampling(Reading):
    """A query read for tables with several rows a model; a join chooses none of them."""

    def __init__(
        self, known: Open, aggregates: frozenset[str], cursor: duckdb.DuckDBPyConnection
    ) -> None:
        super().__init__(known, aggregates)
        self._cursor = cursor
        self.unlike_sets: dict[str, list[tuple[str, int]]] = {}

    def _given(
        self, node: Any, groups: Sequence[Any], counts: Sequence[Any], joins: Sequence[Any]
    ) -> set[str]:
        filters = [[*conjuncts(each.get("filter"))] for each in counts]
        asked = [*conjuncts(node.get("where_clause")), *conjuncts(node.get("qualify"))]
        here = {
            str(each.get("alias") or each["table_name"]).lower()
            for each in within(node["from_table"])
            if each.get("type") == "BASE_TABLE"
        }
        given = {name for each in asked for name in constants(each, here)}
        of_each = [
            {name for it in conjuncts for name in constants(it, here)} for conjuncts in filters
        ]
        given |= set.intersection(*of_each) if of_each else set()
        given |= {
            str(each["column_names"][-1]).lower() for each in groups if "column_names" in each
        }
        models = contents.models_met(self._cursor, asked)
        made = [each for each in groups if columns_of(each) == {"model_id"}]
        names = [contents.models_met(self._cursor, asked, each) for each in made]
        if len(models) <= 1 or any(len(each) == len(models) for each in names):
            given.add("model_id")
        return given

    def _note(self, left: Open, groups: Sequence[Any], node: Any) -> None:
        super()._note(left, groups, node)
        names = [name for name in left if schema.SAMPLES[name].others]
        if names and "prompt_set" in columns_of(groups):
            asked = [*conjuncts(node.get("where_clause"))]
            sizes = contents.unlike_sets(self._cursor, contents.models_met(self._cursor, asked))
            self.unlike_sets |= {name: sizes for name in names if sizes}
