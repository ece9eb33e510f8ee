"""What an aggregate over models takes together: kinds of model, prompt sets, labs of one model.

A query's own tables, joins, filters and groups are asked (`Probe`): each SELECT with an aggregate
is run again with counts beside it, over the rows and values that the aggregate takes. Where that
cannot stand alone, as of an inner query that names a column of the outer, the parsed tree decides.
Which tables hold models, and of which measured models they may lack, is declared
(`collect.schema.grain`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.store import contents
from analysis.store.notes.query.conditions import conjuncts, constants
from analysis.store.notes.query.query import Query, called, column_groups, name_of
from analysis.store.notes.query.reading import Open
from analysis.store.notes.sampling import Sampling
from analysis.store.statement import every, named_within
from collect import schema

#: Views and a macro that are read beside those of the query.
READ = ("main.model", "raw.leading_run", "raw.primary_run", "main.rounding_band")

#: Models that a table of main has rows of, from the table of raw that these are made of.
_MODELS = """
SELECT DISTINCT model_id
  FROM (SELECT DISTINCT run_id, model_id FROM raw.{source}) AS there
  JOIN raw.primary_run USING (run_id, model_id)
"""

#: Columns by which models are grouped as by who made them.
_MAKERS = ("lab", "suite")

#: Columns by which rows are grouped as by prompt.
_OF_PROMPTS = frozenset({"prompt_id", "text", "prompt_set"})

#: The prompt sets of which tables of main have rows, the one of most models first.
_SETS = "SELECT prompt_set FROM raw.leading_run GROUP BY ALL ORDER BY count(*) DESC, 1"

#: Tables of main with one row a model measured here or of others.
_COUNTABLE = frozenset({"model", "model_gain"})

#: Groups, of several, that are named as resting on one model.
_MOST_NAMED = 4


def notes(query: Query) -> Iterator[str]:
    """Yield a sentence for each unlike kind of row that an aggregate over models takes together."""
    tables = [name for name in query.names if name in schema.OF_MODELS]
    if not tables:
        return
    yield from _of_kinds(query, tables)
    sampled = [name for name in tables if name in schema.SAMPLES]
    sets = [name for name in sampled if schema.SAMPLES[name].others]
    there = _sets(query) if sets else []
    if len(there) > 1:
        yield from _of_sets(query, sets, there[0])
        yield from _of_prompts(query, sets)
    yield from lacking(query)


@dataclass(frozen=True, slots=True)
class _Groups:
    """The rows of an answer, by whose models they rest on.

    Attributes
    ----------
    are_mixed
        Whether a row takes networks trained here and models of others together.
    are_apart
        Whether some rows are of networks trained here alone, grouped by who made them.
    names
        The columns that rows are grouped by, where those are all.
    of_one
        The rows that rest on one model, by their values of these columns.
    has_tuned
        Whether one of these is a model and the one fine-tuned from it.
    """

    are_mixed: bool = False
    are_apart: bool = False
    names: str = ""
    of_one: tuple[str, ...] = ()
    has_tuned: bool = False


def _of_kinds(query: Query, tables: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong where networks trained here stand among models, or a lab has one."""
    sql = f"SELECT model_id, {schema.KIND}, base_model_id FROM main.model ORDER BY 1"
    models = query.cursor.execute(sql).fetchall()
    kinds = {name: is_own for name, is_own, _ in models}
    base = {name: of for name, _, of in models if of}
    values = ", ".join(schema.quoted(name) for name, is_own in kinds.items() if is_own) or "NULL"
    probed = {id(node): _probed(query, node, values, base) for node in query.selects}
    found = {place: it for place, it in probed.items() if it is not None}
    seen = {place: it.are_mixed for place, it in found.items()}
    known = {name: frozenset({f"model_id or {schema.KIND} or lab or suite"}) for name in tables}
    held = f"SELECT count(*) FROM {{}} WHERE model_id IN ({values})"
    reading = _Unprobed(known, query.means, query, seen, kinds)
    unasked = [] if any(seen.values()) else reading.noted_in(query.tree)
    if any(seen.values()) or any(
        query.cursor.execute(held.format(name)).fetchall() != [(0,)] for name in unasked
    ):
        yield (
            f"{', '.join(tables)}: small networks trained here and models of others are taken "
            f"together; WHERE NOT {schema.KIND} (in model and model_gain) leaves the networks out"
        )
    elif any(it.are_apart for it in found.values()):
        yield (
            f"{', '.join(tables)}: some groups are small networks trained here, which are no lab's "
            f"models; WHERE NOT {schema.KIND} (in model and model_gain) leaves them out"
        )
    else:
        yield from dict.fromkeys(_counted(query, values))
    yield from dict.fromkeys(_of_one(it) for it in found.values() if it.of_one)


def _of_one(groups: _Groups) -> str:
    """Return which rows of an answer rest on one model each."""
    n_more = len(groups.of_one) - _MOST_NAMED
    more = f" and {n_more} more" if n_more > 0 else ""
    return (
        f"{groups.names}: {', '.join(groups.of_one[:_MOST_NAMED])}{more} rest on one model each"
        f"{', or it and its fine-tuned one' * groups.has_tuned}, which does not tell a "
        f"{'group' if '/' in groups.names else groups.names} from a model"
    )


def _probed(query: Query, node: Any, own: str, base: Mapping[str, str]) -> _Groups | None:
    """Return whose models the rows of a SELECT rest on; None where it cannot be asked.

    ``own`` are the networks trained here, ``base`` is what a model was fine-tuned from.
    """
    counted = [each for each in called(node) if name_of(each) in query.means]
    groups = query.groups(node)
    is_by_maker = not column_groups(groups).isdisjoint(_MAKERS)
    if not counted and not is_by_maker:
        return None
    if "model_id" in column_groups(groups):
        return _Groups()
    cases = (f" WHEN {schema.quoted(name)} THEN {schema.quoted(of)}" for name, of in base.items())
    root = f"CASE {{model_id}}{''.join(cases)} ELSE {{model_id}} END" if base else "{model_id}"
    of_each = ("{model_id} IN (" + own + ")", root, "{model_id}")
    asked = [(f"count(DISTINCT {it})", each) for it in of_each for each in counted]
    labels = query.known_groups(node) if is_by_maker else []
    labels = labels if all("column_names" in it for it in labels) else []
    rows = query.rows(node, [*asked, ("bool_and(" + of_each[0] + ")", None)], "model_id", labels)
    if rows is None:
        return None
    n = len(counted)
    named = [row for row in rows if 1 in row[n : 2 * n] and None not in row[3 * n + 1 :]]
    of_one = {" / ".join(map(str, row[3 * n + 1 :])) for row in named}
    return _Groups(
        are_mixed=any(it > 1 for row in rows for it in row[:n]),
        are_apart=is_by_maker and {row[3 * n] for row in rows} >= {True, False},
        names=" / ".join(str(it["column_names"][-1]) for it in labels),
        of_one=tuple(sorted(of_one)) if labels and len(rows) > 1 else (),
        has_tuned=any(it > 1 for row in named for it in row[2 * n : 3 * n]),
    )


def _counted(query: Query, own: str) -> Iterator[str]:
    """Yield how many of the models that a query counts are small networks trained here."""
    for node in query.selects:
        if _COUNTABLE.isdisjoint(query.tables(node).values()):
            continue
        counts = [each for each in called(node) if "count" in name_of(each)]
        asked = [
            ("count(DISTINCT CASE WHEN {model_id} IN (" + own + ") THEN {model_id} END)", None),
            ("count(DISTINCT {model_id})", None),
        ]
        rows = query.rows(node, asked, "model_id", []) if counts else None
        for n_own, n in rows or []:
            if 0 < n_own < n:
                yield (
                    f"{n_own} of the {n} models counted are small networks trained here, which are "
                    f"no lab's; WHERE NOT {schema.KIND} leaves them out"
                )


def _sets(query: Query) -> list[str]:
    return [name for (name,) in query.cursor.execute(_SETS).fetchall()]


def _of_absent(query: Query) -> Iterator[str]:
    """Yield where the prompt sets are that a query names and that tables of main leave out."""
    others = {
        name: schema.SAMPLES[name].others
        for name in query.names
        if name in schema.SAMPLES and schema.SAMPLES[name].others
    }
    if not others:
        return
    there = _sets(query)
    rows = query.cursor.execute("SELECT DISTINCT prompt_set FROM raw.prompt").fetchall()
    texts = {
        node["literal"]["text"]
        for node in every(query.tree)
        if node.get("class") == "CONSTANT" and node["literal"]["kind"] == "STRING"
    }
    if absent := sorted(texts.intersection(it for (it,) in rows).difference(there)):
        for name, other in others.items():
            yield (
                f"{name} has the prompts of model_gain, {', '.join(there)}; "
                f"{', '.join(absent)}: raw.{other}"
            )


def _of_sets(query: Query, sets: Sequence[str], leading: str) -> Iterator[str]:
    """Yield the tables of which models measured on other prompts are taken together."""
    is_finding = any(schema.SAMPLES[name].is_finding for name in sets)
    counting = query.counting if is_finding else query.means
    seen: dict[int, bool] = {}
    for node in query.selects:
        counted = [each for each in called(node) if name_of(each) in counting]
        wheres = conjuncts(node.get("where_clause"))
        taken = {it for each in wheres for it in constants(each, named_within(node["from_table"]))}
        if not {"prompt_set", "prompt_id"}.isdisjoint(taken | column_groups(query.groups(node))):
            seen[id(node)] = False
            continue
        asked = [("count(DISTINCT {prompt_set})", each) for each in counted]
        rows = query.rows(node, asked, "prompt_set", []) if asked else None
        if rows is not None:
            seen[id(node)] = any(n > 1 for row in rows for n in row)
    known = {name: frozenset({"prompt_set or prompt_id"}) for name in sets}
    reading = _Unprobed(known, counting, query, seen, {})
    if any(seen.values()) or reading.noted_in(query.tree):
        yield (
            f"{', '.join(sets)}: models measured on several prompt sets are taken together; "
            f"WHERE prompt_set = '{leading}' takes those of one"
        )


def _of_prompts(query: Query, sets: Sequence[str]) -> Iterator[str]:
    """Yield how many models the prompts rest on, where each is a mean over another number."""
    for node in query.selects:
        counted = [each for each in called(node) if name_of(each) in query.means]
        taken = column_groups(query.groups(node))
        if not counted or not {"prompt_id", "text"} & taken or taken - _OF_PROMPTS:
            continue
        asked = [("count(DISTINCT {model_id})", each) for each in counted]
        rows = query.rows({**node, "modifiers": []}, asked, "model_id", []) or []
        sizes = [n for row in rows for n in row if n]
        if sizes and min(sizes) < max(sizes):
            yield (
                f"{', '.join(sets)}: some prompts were given to {min(sizes)} models, others to "
                f"{max(sizes)}; compare prompts of one prompt_set, or by model_id"
            )


def lacking(query: Query) -> Iterator[str]:
    """Yield the tables that lack measured models, or prompt sets, which the query asks for."""
    yield from _of_absent(query)
    if {"stream", "outlier_token"} <= {*query.names}:
        yield (
            "stream leaves out the first token, where most rows of outlier_token are; "
            "prompt_gain.n_tokens counts every token of a prompt"
        )
    if "stream" in query.names and _asks_for_the_first(query.tree):
        yield (
            "stream has the tokens after the first, whose length is first_length beside them; "
            "in a row of its own: raw.residual_norm"
        )
    wheres = [it for node in query.selects for it in conjuncts(node.get("where_clause"))]
    tables = [name for name in query.names if name in schema.SAMPLES]
    for name in (each for each in tables if not schema.SAMPLES[each].is_finding):
        met = contents.models_met(query.cursor, wheres)
        rows = query.cursor.execute(_MODELS.format(source=schema.SAMPLES[name].source)).fetchall()
        here = {model_id for (model_id,) in rows}
        absent = sorted({*met} - here)
        if absent and not here.isdisjoint(met):
            more = f" and {len(absent) - _MOST_NAMED} more" if len(absent) > _MOST_NAMED else ""
            yield (
                f"{name} lacks {len(absent)} of {len(met)} measured models: "
                f"{', '.join(absent[:_MOST_NAMED])}{more}; coverage says why"
            )


def _asks_for_the_first(tree: Any) -> bool:
    """Return whether a query takes the rows at position 0."""
    negated = {
        id(it)
        for node in every(tree)
        if node.get("type") == "OPERATOR_NOT"
        for it in every(node["children"])
    }
    for node in every(tree):
        if node.get("type") == "COMPARE_EQUAL" and id(node) not in negated:
            sides = node["left"], node["right"]
            names = {str(side.get("column_names", [""])[-1]).lower() for side in sides}
            texts = {side.get("literal", {}).get("text") for side in sides}
            if "position" in names and "0" in texts:
                return True
    return False


class _Unprobed(Sampling):
    """A query read for unlike rows by its tree alone, where it could not be asked."""

    def __init__(
        self,
        known: Open,
        aggregates: frozenset[str],
        query: Query,
        seen: dict[int, bool],
        kinds: dict[str, bool],
    ) -> None:
        super().__init__(known, aggregates, query.cursor)
        self._seen, self._kinds = seen, kinds

    def _given(
        self, node: Any, groups: Sequence[Any], counts: Sequence[Any], joins: Sequence[Any]
    ) -> set[str]:
        asked = [*conjuncts(node.get("where_clause")), *conjuncts(node.get("qualify"))]
        kinds = {self._kinds.get(each) for each in contents.models_met(self._cursor, asked)}
        one_kind = {schema.KIND} if len(kinds) <= 1 else set[str]()
        return super()._given(node, groups, counts, joins) | one_kind

    def _note(self, left: Open, groups: Sequence[Any], node: Any) -> None:
        if id(node) not in self._seen:
            self._noted.update(left)
