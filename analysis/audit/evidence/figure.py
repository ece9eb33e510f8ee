"""What published figures must be before a claim rests on them: known by name, in their unit.

No standard deviation is below 0. This is asked here, not by a CHECK of the contract: a database
that was built without the CHECK would have another contract, and would not open.
"""

from __future__ import annotations

from analysis.store import Store, shared
from analysis.tidy.errors import StoreError

_TABLES = ("published_figure", "published_profile")

#: By table that explains names, where a folder has rows of it: its key, and the names in use.
_EXPLAINED = {
    "metric": ("metric", "SELECT DISTINCT metric AS name FROM {table}"),
    "caveat": (
        "caveat_id",
        "SELECT DISTINCT trim(unnest(string_split(caveats, ','))) AS name FROM {table}",
    ),
}


@shared
def require_sound(store: Store) -> None:
    """Refuse figures that a claim would pass over or mix up without a word.

    Raises
    ------
    StoreError
        If a figure is of a model that table model lacks, whose row every join would drop; if it
        names a metric or caveat that the tables of that name, where they hold anything, do not
        explain; if the figures of a metric are in several units, or in another than the table of
        metrics says; if a file has a space in its name, at which evidence is parted; or if a
        standard deviation is negative.
    """
    for table in _TABLES:
        _require_models(store, table)
        for explaining in _EXPLAINED:
            _require_explained(store, table, explaining)
        _require_one_unit(store, table)
        parted = store.facts(
            f"SELECT DISTINCT file FROM {table} WHERE contains(file, ' ') ORDER BY file"
        )["file"].tolist()
        if parted:
            raise StoreError(
                f"The name of a file must have no space; {table} has {_first(parted)}.",
                f"Write {parted[0].replace(' ', '_')}.",
            )
    _require_spreads(store)


def _require_models(store: Store, table: str) -> None:
    unknown = store.facts(
        f"""
        SELECT DISTINCT model_id
          FROM {table}
          ANTI JOIN raw.model USING (model_id)
         ORDER BY model_id
        """
    )["model_id"].tolist()
    if unknown:
        raise StoreError(
            f"Every figure of {table} must be of a model that table model holds; it lacks "
            f"{_first(unknown)}.",
            "Give model.csv a row with this model_id, or correct the name.",
        )


def _require_explained(store: Store, table: str, explaining: str) -> None:
    key, names = _EXPLAINED[explaining]
    unknown = store.facts(
        f"""
        SELECT name
          FROM ({names.format(table=table)}) AS used
          ANTI JOIN {explaining} ON {explaining}.{key} = used.name
         WHERE name <> ''
           AND EXISTS (FROM {explaining})
         ORDER BY name
        """
    )["name"].tolist()
    if unknown:
        raise StoreError(
            f"Every {explaining} that {table} names must be explained by table {explaining}; it "
            f"lacks {_first(unknown)}.",
            f"Give {explaining}.csv a row with this {key}, or correct the name.",
        )


def _require_one_unit(store: Store, table: str) -> None:
    """Raise unless figures are in the unit that table metric has; without it, in one unit."""
    others = store.facts(
        f"""
        SELECT metric, string_agg(DISTINCT f.unit, ', ' ORDER BY f.unit) AS units,
               first(m.unit) AS stated
          FROM {table} AS f
          LEFT JOIN metric AS m USING (metric)
         GROUP BY metric
        HAVING count(DISTINCT f.unit) > 1 OR bool_or(f.unit <> m.unit)
         ORDER BY metric
        """
    )
    if len(others):
        first = others.iloc[0]
        stated = "" if first.isna()["stated"] else f"; table metric has {first['stated']}"
        raise StoreError(
            "The figures of a metric must be in one unit, that of table metric; those of "
            f"{first['metric']} in {table} are in {first['units']}{stated}.",
            "Convert the numbers, correct metric.csv, or give the figures a metric of their own.",
        )


def _require_spreads(store: Store) -> None:
    negative = store.facts(
        """
        SELECT model_id, metric, sd
          FROM published_figure
         WHERE sd < 0
         ORDER BY ALL
        """
    )
    if len(negative):
        first = negative.iloc[0]
        raise StoreError(
            "A standard deviation must be 0 or more; that of "
            f"{first['metric']} of {first['model_id']} in published_figure is {first['sd']:g}.",
            "Correct sd, or leave it empty where it is not known.",
        )


def _first(names: list[str]) -> str:
    """Return the first few names, and whether there are others."""
    return f"{', '.join(names[:5])}{' and others' if len(names) > 5 else ''}"
