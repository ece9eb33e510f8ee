"""What declares a quantity of the stream: its table, its columns and the function that measures it.

A module of this room that has a `StreamQuantity` under the name ``QUANTITY`` is found by itself.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

#: Sites of the stream: what enters block 0, what leaves each block, and the final norm.
SITES = ("block_input", "block_output", "final_norm")


@dataclass(frozen=True, slots=True)
class StreamColumn:
    """A column of numbers: NULL where the function gives NaN.

    Attributes
    ----------
    name
        Its name, which the function's result has.
    meaning
        What it is, with its formula and source.
    unit
        Its unit, ``1`` for a pure number.
    """

    name: str
    meaning: str
    unit: str = "1"


@dataclass(frozen=True, slots=True)
class StreamQuantity:
    """A quantity with one row per prompt, layer and site, measured on the vectors of its tokens.

    Attributes
    ----------
    name
        Its name on the command line.
    description
        What it is, in a few words.
    table
        The table that it fills.
    columns
        Its columns besides the key (run_id, prompt_id, layer, site), model_id and n_tokens.
    measure
        The vectors of a prompt's tokens at a site, a tensor (n_tokens, d) in float64, to the
        number of each column.
    source
        Paper and equation, or the definition.
    row_bytes
        Size of a row in a file [bytes], about.
    """

    name: str
    description: str
    table: str
    columns: tuple[StreamColumn, ...]
    measure: Callable[[Any], Mapping[str, Any]]
    source: str
    row_bytes: float = 40.0

    @property
    def sql(self) -> str:
        """The statements that create its table, with comments, as ``schema.sql`` has others."""
        sites = ", ".join(f"'{site}'" for site in SITES)
        lines = [
            "run_id VARCHAR NOT NULL",
            "model_id VARCHAR NOT NULL",
            "prompt_id VARCHAR NOT NULL",
            "layer INTEGER NOT NULL CHECK (layer >= 0)",
            f"site VARCHAR NOT NULL CHECK (site IN ({sites}))",
            "n_tokens INTEGER NOT NULL CHECK (n_tokens > 0)",
            *(f"{column.name} DOUBLE" for column in self.columns),
            "PRIMARY KEY (run_id, prompt_id, layer, site)",
        ]
        comments = {
            "run_id": "Unit of measurement; see run [-]",
            "model_id": "Checkpoint; see model [-]",
            "prompt_id": "Prompt; see prompt [-]",
            "layer": "Block, 0 to n_layers - 1 [1]",
            "site": "Where, as in residual_norm [-]",
            "n_tokens": "Tokens of the prompt [tokens]",
            **{column.name: f"{column.meaning} [{column.unit}]" for column in self.columns},
        }
        about = f"{self.description} ({self.source})."
        return "\n".join(
            [
                f"CREATE TABLE {self.table} (",
                ",\n".join(f"    {line}" for line in lines),
                ");",
                f"COMMENT ON TABLE {self.table} IS {_text(about)};",
                *(
                    f"COMMENT ON COLUMN {self.table}.{name} IS {_text(comment)};"
                    for name, comment in comments.items()
                ),
                "",
            ]
        )


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@cache
def declared() -> Mapping[str, StreamQuantity]:
    """Return the quantities of the stream that have a file in this room, by table."""
    import collect.measures as room

    modules = [
        import_module(f"{room.__name__}.{it.name}") for it in pkgutil.iter_modules(room.__path__)
    ]
    quantities = [module.QUANTITY for module in modules if hasattr(module, "QUANTITY")]
    return {quantity.table: quantity for quantity in quantities}
