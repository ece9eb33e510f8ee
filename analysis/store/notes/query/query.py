"""A query that was answered, parsed; each SELECT of it can be asked again with counts beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from analysis.store import contents
from analysis.store.notes.query.grouped import group
from analysis.store.notes.query.reading import EXTREMES, resolve_group
from analysis.store.notes.query.sources import Scan, Sources
from analysis.store.statement import columns_of, every, named_within, parsed, within

if TYPE_CHECKING:
    import duckdb

#: Statistics of pairs of values, of which one without the other is left out.
OF_PAIRS = frozenset(
    {"corr", "spearman", "covar_pop", "covar_samp", "regr_intercept", "regr_r2", "regr_slope"}
)

#: Functions that say how much values differ.
SPREADS = frozenset(
    {"mad", "sem", "stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"}
)

#: Functions whose result is a typical value.
CENTRES = frozenset({"avg", "mean", "median"})

#: Macros of the store that give the ends of an interval of a mean.
INTERVALS = frozenset({"conf_low", "conf_high"})

_LOGARITHMS = frozenset({"ln", "log", "log2", "log10"})


class Query:
    """A query that was answered, and what its aggregates take together.

    Parameters
    ----------
    cursor
        Cursor to the store.
    names
        Tables and views that the query reads.
    tree
        The query, parsed; windows and pivots as GROUP BY (`grouped`).
    aggregates
        Names of the engine's aggregates, and of the macros that hold one.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        names: Sequence[str],
        tree: Any,
        aggregates: frozenset[str],
    ) -> None:
        self.cursor, self.names, self.tree = cursor, names, tree
        self.aggregates = aggregates
        self._answers: dict[str, list[tuple[Any, ...]] | None] = {}
        columns = contents.columns_by_table(cursor)
        self._sources = Scan(tree, columns, aggregates).of_node

    @property
    def counting(self) -> frozenset[str]:
        """Names of the aggregates that another copy of a row changes."""
        return self.aggregates - EXTREMES

    @property
    def means(self) -> frozenset[str]:
        """Names of those of them that take the values, not only the number, of the rows."""
        return frozenset(it for it in self.counting if "count" not in it and it != "histogram")

    def sources(self, node: Any) -> Sources:
        """Return the tables that a SELECT reads, by the names under which it knows them."""
        return self._sources.get(id(node), {})

    def tables(self, node: Any) -> dict[str, str]:
        """Return the names of the tables that a SELECT reads, by their names in it."""
        return {alias: source.table for alias, source in self.sources(node).items()}

    def owner(self, node: Any, path: Sequence[str]) -> str:
        """Return under which name a SELECT knows the table of a column; "" where several have it.

        Parameters
        ----------
        node
            The SELECT.
        path
            The parts of the column's name.
        """
        *places, column = (str(each).lower() for each in path)
        if places:
            return places[-1]
        owners = [name for name, it in self.sources(node).items() if column in it.columns]
        return owners[0] if len(owners) == 1 else ""

    @cached_property
    def selects(self) -> list[Any]:
        """Every SELECT, inner ones too."""
        return [each for each in every(self.tree) if each.get("type") == "SELECT_NODE"]

    def over_rows(self) -> Iterator[tuple[Any, Any]]:
        """Yield each SELECT with each mean of its rows, none of which is taken once alone."""
        for node in self.selects:
            for each in called(node):
                if name_of(each) in self.means and not each.get("distinct"):
                    yield node, each

    @cached_property
    def columns(self) -> set[str]:
        """Names of the columns that stand anywhere in the query, in inner queries too."""
        return columns_of([it for it in every(self.tree) if it.get("class") == "COLUMN_REF"])

    def groups(self, node: Any) -> list[Any]:
        """Return what a SELECT groups by."""
        chosen = node["select_list"]
        groups = [
            it for each in node.get("group_expressions") or [] for it in resolve_group(each, chosen)
        ]
        if not groups and node.get("aggregate_handling") == "FORCE_AGGREGATES":
            names = [{name_of(it) for it in called({"select_list": [each]})} for each in chosen]
            groups = [
                it for it, some in zip(chosen, names, strict=True) if some.isdisjoint(self.counting)
            ]
        return groups

    def known_groups(self, node: Any) -> list[Any]:
        """Return what a SELECT groups by in terms of its tables, without names that it gives."""
        known = {it for source in self.sources(node).values() for it in source.columns}
        return [it for it in self.groups(node) if column_groups([it]) <= known]

    def ungrouped(self, node: Any) -> Any:
        """Return a SELECT of what it reads and WHERE alone, for aggregates over all its rows."""
        nothing: dict[str, Any] = {"having": None, "qualify": None}
        for part in ("modifiers", "select_list", "group_expressions", "group_sets"):
            nothing[part] = []
        return {**node, **nothing, "aggregate_handling": "STANDARD_HANDLING"}

    def where(self, node: Any, conditions: Sequence[Any]) -> Any:
        """Return a SELECT with other conditions, each of which must hold."""
        return {**node, "where_clause": self._all_of(conditions)}

    def having(self, node: Any, conditions: Sequence[Any]) -> Any:
        """Return a SELECT with other conditions on its groups, each of which must hold."""
        return {**node, "having": self._all_of(conditions)}

    def _all_of(self, conditions: Sequence[Any]) -> Any:
        if not conditions:
            return None
        made = self._expression("true AND true")
        made["children"] += conditions
        return made

    def n_rows(self, node: Any) -> int | None:
        """Return how many rows a SELECT takes; None where it cannot be asked alone."""
        found = self.counts(self.ungrouped(node), [("count(*)", None)])
        return found[0][0] if found else None

    def text(self, expression: Any) -> str:
        """Return an expression as SQL."""
        asked = parsed("SELECT 1", self.cursor)
        asked["statements"][0]["node"]["select_list"] = [{**expression, "alias": ""}]
        sql = "SELECT json_deserialize_sql($1::JSON)"
        ((text,),) = self.cursor.execute(sql, [json.dumps(asked)]).fetchall()
        text = str(text).removeprefix("SELECT ").replace("count_star()", "count(*)")
        return text[1:-1] if expression.get("is_operator") and text[0] == "(" else text

    def owners(self, node: Any, condition: Any) -> list[str]:
        """Return under which name a SELECT knows the table of each column of a condition."""
        columns = [it for it in within(condition) if it.get("class") == "COLUMN_REF"]
        return [self.owner(node, it["column_names"]) for it in columns]

    def rows(
        self, node: Any, asked: Sequence[tuple[str, Any]], column: str, labels: Sequence[Any]
    ) -> list[tuple[Any, ...]] | None:
        """Return what is asked of each row of a SELECT's answer; None where it cannot be asked.

        Parameters
        ----------
        node
            The SELECT.
        asked
            Aggregates over ``{column}``, each with the aggregate over whose rows it goes, if any.
        column
            Column whose table is looked for: any that has it, else each that does.
        labels
            Groups whose value is returned behind.
        """
        places = [f'"{each}"."{column}"' for each in named_within(node["from_table"])]
        for place in [column, *places]:
            extra = [self._beside(sql.replace(f"{{{column}}}", place), each) for sql, each in asked]
            extra += [self._label(each) for each in labels]
            found = self.answer(node, extra)
            if found is not None:
                return found
        return None

    def counts(self, node: Any, asked: Sequence[tuple[str, Any]]) -> list[tuple[Any, ...]] | None:
        """Return what is asked of each row of a SELECT's answer, of columns named in full.

        Parameters
        ----------
        node
            The SELECT.
        asked
            Aggregates, each with the aggregate over whose rows it goes.
        """
        return self.answer(node, [self._beside(sql, each) for sql, each in asked])

    def values(
        self, function: Any, node: Any, by: Sequence[Any], wheres: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        """Return the values of an aggregate over what a SELECT reads, by other groups and WHERE.

        Parameters
        ----------
        function
            The aggregate.
        node
            The SELECT.
        by
            What to group by: columns named in full, or parsed expressions.
        wheres
            Conditions, each of which must hold.

        Returns
        -------
        A row for each group: what it is grouped by, then the value; none if it cannot be asked.
        """
        groups = [self._expression(it) if isinstance(it, str) else deepcopy(it) for it in by]
        made = deepcopy({**node, "having": None, "where_clause": None})
        group(made, groups, [])
        made["select_list"] = []
        if wheres:
            made["where_clause"] = self._expression("true AND true")
            made["where_clause"]["children"] += deepcopy([*wheres])
        return self.answer(made, [*groups, deepcopy(function)]) or []

    def answer(self, node: Any, extra: Sequence[Any]) -> list[tuple[Any, ...]] | None:
        """Return further values in each row of a SELECT's answer; None where it cannot be asked.

        Parameters
        ----------
        node
            The SELECT.
        extra
            What is asked for besides, parsed.
        """
        names = [f"beside_{place}" for place in range(len(extra))]
        inner = deepcopy(node)
        inner["select_list"] += [
            {**each, "alias": name} for name, each in zip(names, extra, strict=True)
        ]
        outer = parsed(f"SELECT {', '.join(names)} FROM (SELECT 1) AS asked", self.cursor)
        top = outer["statements"][0]["node"]
        top["cte_map"] = self.tree["statements"][0]["node"]["cte_map"]
        top["from_table"]["subquery"]["node"] = inner
        key = json.dumps(outer)
        if key not in self._answers:
            self._answers[key] = contents.answered(self.cursor, outer)
        return self._answers[key]

    def _beside(self, sql: str, aggregate: Any) -> Any:
        made = self._expression(f"{sql} FILTER (WHERE true AND true)")
        if aggregate is not None:
            parts = made["filter"]["children"]
            parts += [aggregate["filter"]] if aggregate.get("filter") else []
            for argument in arguments_of(aggregate):
                held = self._expression("one IS NOT NULL")
                held["children"] = [argument]
                parts.append(held)
        return made

    def _label(self, group: Any) -> Any:
        made = self._expression("any_value(one::VARCHAR)")
        (argument,) = arguments_of(made)
        argument["child"] = group
        return made

    def _expression(self, sql: str) -> Any:
        return parsed(f"SELECT {sql}", self.cursor)["statements"][0]["node"]["select_list"][0]


def arguments_of(function: Any) -> list[Any]:
    """Return what a function is called with, as the engine's versions write it."""
    given = [each.get("expression", each) for each in function.get("arguments") or []]
    return [*given, *(function.get("children") or [])]


def name_of(function: Any) -> str:
    """Return the name of a function that is called."""
    return str(function["function_name"]).lower()


def called(node: Any) -> list[Any]:
    """Return the functions that a SELECT calls over its rows."""
    chosen = within([node["select_list"], node.get("having")])
    return [each for each in chosen if each.get("class") == "FUNCTION"]


def column_groups(groups: Sequence[Any]) -> set[str]:
    """Return the columns that are themselves grouped by."""
    return {str(each["column_names"][-1]).lower() for each in groups if "column_names" in each}


def taken(function: Any, here: Collection[str], columns: Collection[str]) -> Iterator[str]:
    """Yield the columns of some that a function takes as they are; ``columns`` are all there are.

    Not those that it compares, sets in relation to each other or takes the logarithm of.
    """
    for argument in arguments_of(function):
        read = columns_of(argument)
        found = read & {*here}
        is_relative = any(
            str(it.get("function_name")).lower() in _LOGARITHMS
            or it.get("class") == "SUBQUERY"
            or str(it.get("type")).startswith("COMPARE")
            for it in within(argument)
        )
        if len(found) == 1 and read <= {*columns} and not is_relative:
            yield from found
