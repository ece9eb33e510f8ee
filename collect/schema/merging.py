"""Rows that several files say of one thing, as one row: a model, a run, a revision."""

from __future__ import annotations

from collect.schema.contract import tables

#: Columns of ``model`` that belong to one revision and are taken from the same row.
_OF_REVISION = ("revision", "training_step", "training_tokens")


def rows_of(table: str, source: str, order: str, n_measured: int) -> str:
    """Return what stands after SELECT to have the rows of a table from its files.

    Rows that are alike count once; prompts are, whatever an earlier file left open. Of a model,
    each column is the first that is there; measured rows come before hand-made ones, and of those
    the revision without a training step, which is the model as released, before the one of the
    last step. Units of one run share a row. A revision is known by its key, whatever one file
    knows of its step and another does not.

    Parameters
    ----------
    table, source
        Table of the contract, and the relation that holds the rows of its files.
    order
        Column of the source that numbers its rows.
    n_measured
        How many of them, the first, are measured.
    """
    if table == "prompt":  # files of earlier versions name no format and hold text only
        same = ", ".join(name for name in _names("prompt") if name != "format")
        return (
            f"{same}, max(format) AS format FROM {source} GROUP BY {same}, ifnull(format, 'text')"
        )
    if table not in MERGED:
        return f"DISTINCT * EXCLUDE ({order}) FROM {source}"
    return MERGED[table](source, order, n_measured)


def _names(table: str) -> list[str]:
    return [column.name for column in tables()[table].columns]


def _model(source: str, order: str, n_measured: int) -> str:
    is_measured = f"{order} < {n_measured}"
    preferred = f"NOT ({is_measured}), training_step DESC NULLS FIRST, {order}"
    # arg_min leaves out the rows where the value is NULL.
    columns = ["model_id"] + [
        f'CASE WHEN bool_or({is_measured}) THEN first("{name}" ORDER BY place) '
        f'ELSE arg_min("{name}", place) END AS "{name}"'
        if name in _OF_REVISION
        else f'arg_min("{name}", place) AS "{name}"'
        for name in _names("model")
        if name != "model_id"
    ]
    placed = f"(SELECT *, row_number() OVER (ORDER BY {preferred}) AS place FROM {source})"
    return f"{', '.join(columns)} FROM {placed} AS placed GROUP BY model_id"


#: Columns of ``run`` in which units of one run differ, and what the run has.
_OF_UNITS = {
    "quantities": "string_agg(quantities, ',' ORDER BY started_at)",
    "is_conforming": "bool_and(is_conforming)",
    "started_at": "min(started_at)",
    "duration_s": "sum(duration_s)",
}


def _run(source: str, order: str, _: int) -> str:
    columns = [
        f"{_OF_UNITS[name]} AS {name}"
        if name in _OF_UNITS
        else f'first("{name}" ORDER BY {order}) AS "{name}"'
        for name in _names("run")
        if name != "run_id"
    ]
    once = f"(SELECT * EXCLUDE ({order}), min({order}) AS {order} FROM {source} GROUP BY ALL)"
    return f"run_id, {', '.join(columns)} FROM {once} AS once GROUP BY run_id"


def _revision(source: str, _: str, __: int) -> str:
    key = ", ".join(tables()["revision"].key)
    known = ", ".join(f"max({name}) AS {name}" for name in ("training_step", "training_tokens"))
    return f"{key}, {known} FROM {source} GROUP BY {key}"


#: Tables whose rows are put together from several, by what does it.
MERGED = {"model": _model, "run": _run, "revision": _revision}
