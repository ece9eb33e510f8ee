"""What published figures must be before a claim rests on them: of known models, in one unit.

No standard deviation is below 0. This is asked here, not by a CHECK of the contract: a database
that was built without the CHECK would have another contract, and would not open.
"""

from __future__ import annotations

from analysis.store import Store, shared
from analysis.tidy.errors import StoreError

_TABLES = ("published_figure", "published_profile")


@shared
def require_sound(store: Store) -> None:
    """Refuse figures that a claim would pass over or mix up without a word.

    Raises
    ------
    StoreError
        If a figure is of a model that table model lacks, whose row every join would drop, or if
        the figures of a metric are in several units, or a standard deviation is negative.
    """
    for table in _TABLES:
        _require_models(store, table)
        _require_one_unit(store, table)
    _require_spreads(store)


def _require_models(store: Store, table: str) -> None:
    unknown = store.facts(
        f"""
        SELECT DISTINCT model_id
          FROM {table}
          ANTI JOIN model USING (model_id)
         ORDER BY model_id
        """
    )["model_id"].tolist()
    if unknown:
        raise StoreError(
            f"Every figure of {table} must be of a model that table model holds; it lacks "
            f"{', '.join(unknown[:5])}{' and others' if len(unknown) > 5 else ''}.",
            "Give model.csv a row with this model_id, or correct the name.",
        )


def _require_one_unit(store: Store, table: str) -> None:
    mixed = store.facts(
        f"""
        SELECT metric, string_agg(DISTINCT unit, ', ' ORDER BY unit) AS units
          FROM {table}
         GROUP BY metric
        HAVING count(DISTINCT unit) > 1
         ORDER BY metric
        """
    )
    if len(mixed):
        first = mixed.iloc[0]
        raise StoreError(
            f"The figures of a metric must be in one unit; {first['metric']} in {table} has "
            f"{first['units']}.",
            "Convert the numbers, or give them a metric of their own.",
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
