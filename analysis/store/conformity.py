"""What was checked before the first number was kept, and what could not be measured."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from analysis.store import Store
from analysis.tidy import prose
from analysis.tidy.columns import Column
from collect import schema

#: Properties in the words of the report; the order is that of its table.
PROPERTIES = {
    "attention_rows": "rows of the attention maps sum to one, or less with a sink",
    "attention_causal": "no attention to later tokens",
    "heads_rebuild_attention": "maps, values and output projection give the attention output",
    "block_adds_up": "input and updates of a block add up to its output",
    "norm_gain": "attention and feed-forward read the stream through the norm named",
    "logits": "final norm, head and scale give the model's own logits",
    "batch_equals_single": "a prompt in a batch gives what it gives alone",
    "future_unseen": "another last token changes nothing before it",
    "finite": "every number is finite; counted are those that are not",
    "tensors_used": "every tensor of the files makes up a parameter; counted are others",
    "library_code": "the repository brings no model code of its own; counted are its classes",
}


def _place(model_id: object, layer: float) -> str:
    """Return where the worst deviation was found: the model, and the block if there is one."""
    if not isinstance(model_id, str):
        return prose.MISSING
    name = model_id.rpartition("/")[2]
    return name if pd.isna(layer) else f"{name}, block {int(layer)}"


#: The table of `summary`.
SUMMARY = {
    "property": Column("Property", "property", PROPERTIES),
    "deviation": Column("Worst", "worst_deviation", prose.power_of_ten),
    "tolerance": Column("Allowed", "tolerance", prose.power_of_ten),
    "met": Column("Runs that meet it", ["n_met", "n_runs"], prose.share_of),
    "worst": Column("Worst in", ["worst_model_id", "worst_layer"], _place),
}


def summary(store: Store) -> pd.DataFrame:
    """Return the rows of view ``conformance_summary`` in the order of `PROPERTIES`."""
    rows = store.query("FROM conformance_summary ORDER BY property, tolerance")
    places = list(PROPERTIES)
    return rows.sort_values("property", key=lambda names: names.map(places.index), kind="stable")


def outcome(store: Store) -> dict[str, str]:
    """Return how many runs and models were examined and which failed, in words."""
    row = store.query(
        """
        SELECT count(DISTINCT run_id)                                   AS n_runs,
               count(DISTINCT model_id)                                 AS n_models,
               count(*) FILTER (is_met IS NULL)                         AS n_unchecked,
               coalesce(
                   list(DISTINCT model_id ORDER BY model_id) FILTER (NOT is_met), []
               )                                                        AS failed
          FROM conformance
        """
    ).iloc[0]
    return {
        "runs": prose.plural(int(row["n_runs"]), "run"),
        "models": prose.plural(int(row["n_models"]), "model"),
        "unchecked": prose.plural(int(row["n_unchecked"]), "check"),
        "failed": prose.listing(list(row["failed"])) or "none",
    }


def _models(n_models: int, families: Iterable[str]) -> str:
    return f"{prose.plural(n_models, 'model')} ({prose.listing(list(families))})"


#: The table of `not_measured`.
NOT_MEASURED = {
    "quantity": Column("Quantity", ["measured_table", "quantity"], "{}: {}".format),
    "reason": Column("Why not", "reason"),
    "models": Column("Models", ["n_models", "families"], _models),
}


def not_measured(store: Store) -> pd.DataFrame:
    """Return one row per quantity that could not be measured and reason; see `NOT_MEASURED`."""
    return store.query(
        """
        SELECT n.measured_table,
               n.quantity,
               n.reason,
               count(DISTINCT n.model_id)                AS n_models,
               list(DISTINCT m.family ORDER BY m.family) AS families
          FROM not_measured AS n
          JOIN raw.model AS m USING (model_id)
         GROUP BY n.measured_table, n.quantity, n.reason
         ORDER BY n.measured_table, n.quantity, n.reason
        """
    )


def raw_rows(store: Store) -> pd.DataFrame:
    """Return one row per measured table with rows, but models: what a row is and how many."""
    counts = store.counts().set_index("table")["n_rows"]
    tables = schema.tables()
    filled = [name for name in schema.MEASURED if counts[name] and name != "model"]
    meanings = [tables[name].meaning.removeprefix("One row per ").rstrip(".") for name in filled]
    return pd.DataFrame(
        {
            "table": filled,
            "meaning": meanings,
            "n_rows": [prose.count(counts[name]) for name in filled],
        }
    )
