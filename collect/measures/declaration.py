"""What declares a quantity that is built in: its tables, their columns, rows and audit, its source.

All that a store, a plan, the codebook, imported states and the audit of symmetries know of a
quantity is read from its declaration. No torch here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: What a quantity may need besides a stream: matrices of single heads, which with the maps make up
#: what attention adds; a causal attention map in every block; an output embedding.
HEADS, MAPS, HEAD = "heads", "maps", "head"

#: Sites of the stream: what enters block 0, what leaves each block, and the final norm.
SITES = ("block_input", "block_output", "final_norm")

#: Which rows are of the stream after a block, in SQL.
AFTER_BLOCKS = "site = 'block_output'"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is to measure of a model and the prompts that it reads.

    Attributes
    ----------
    n_layers, n_heads
        As in table ``model``.
    n_prompts, n_tokens
        Prompts that are read, and tokens of all of them [1].
    has_parts, has_mid, has_final_norm, has_head, has_gain, has_contiguous
        Whether the model has parts of blocks, a stream between attention and feed-forward, a norm
        after the last block, an output embedding, a norm in front of attention, and a fused
        matrix whose last third is not V.
    """

    n_layers: int
    n_heads: int
    n_prompts: int
    n_tokens: int
    has_parts: bool
    has_mid: bool
    has_final_norm: bool
    has_head: bool
    has_gain: bool
    has_contiguous: bool

    @property
    def n_sites(self) -> int:
        """Places of the stream: what enters block 0, what leaves each block and the final norm."""
        return 1 + self.n_layers + self.has_final_norm


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a measured table.

    Attributes
    ----------
    name
        Its name.
    meaning
        What it is, with its formula and source.
    unit
        Its unit, ``1`` for a pure number, ``-`` for what is none.
    sql_type
        Its type in SQL, with what its values must satisfy; of a number that may be missing, NaN
        becomes NULL.
    """

    name: str
    meaning: str
    unit: str = "1"
    sql_type: str = "DOUBLE"


RUN = Column("run_id", "Unit of measurement; see run", "-", "VARCHAR NOT NULL")
MODEL = Column("model_id", "Checkpoint; see model", "-", "VARCHAR NOT NULL")
PROMPT = Column("prompt_id", "Prompt; see prompt", "-", "VARCHAR NOT NULL")
SITE = Column(
    "site",
    "Where, as in residual_norm",
    "-",
    f"VARCHAR NOT NULL CHECK (site IN ({', '.join(map(repr, SITES))}))",
)


def count(name: str, meaning: str, unit: str = "1", *, least: int = 0) -> Column:
    """Return a column of whole numbers, never missing, from 0 or from 1 on."""
    limit = f"{name} > 0" if least else f"{name} >= 0"
    return Column(name, meaning, unit, f"INTEGER NOT NULL CHECK ({limit})")


LAYER = count("layer", "Block, 0 to n_layers - 1")
POSITION = count("position", "Token position in the unpadded prompt")
N_TOKENS = count("n_tokens", "Tokens of the prompt", "tokens", least=1)


@dataclass(frozen=True, slots=True)
class Grain:
    """What a row is where rows repeat a unit.

    Attributes
    ----------
    unit
        What the rows are about.
    beside
        What each unit has several rows for.
    why
        What goes wrong when they are taken together.
    quantities
        Columns whose values make other quantities of one unit; joined by *or* one is enough.
    copies
        Columns over which a unit is given again.
    front
        Tables of schema main that have one row per unit, and no such column.
    """

    unit: str
    beside: str
    why: str
    quantities: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    front: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of which a query should take one value."""
        return self.quantities + self.copies

    @property
    def rule(self) -> str:
        """What to take one of, why, and where nothing need be taken.

        >>> Grain("head", "matrix", "a head has a row for each", ("matrix",), (), ("a", "b")).rule
        'one matrix: a head has a row for each. Table main.a or main.b has one row per unit'
        """
        *first, last = self.columns
        names = f"{', '.join(first)} and {last}" if first else last
        fronts = " or ".join(f"main.{name}" for name in self.front)
        ask = f". Table {fronts} has one row per unit" if fronts else ""
        return f"one {names}: {self.why}{ask}"


#: What a row is where the tokens of a prompt have one at each site.
BY_SITE = Grain(
    unit="model, prompt, layer",
    beside="site",
    quantities=("site",),
    why="the same tokens have a row for each place",
)


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A table that a quantity fills, besides ``model``, ``conformance`` and ``not_measured``.

    Attributes
    ----------
    name
        Its name.
    meaning
        What it holds; with a grain, what comes after it.
    key
        Columns of which each row has other values, ``run_id`` first.
    columns
        Its other columns, but for ``model_id``, which comes second.
    n_rows
        Rows of an extent.
    row_bytes
        Size of a row in a file, compressed [bytes]; measured on the models of data/sample.
    needs
        What the table needs besides what its quantity does.
    audited
        By quantity whose invariance is audited: what it is of a row, in SQL. Each has a row in
        ``data/published/gauge_quantity.csv``.
    where
        Which rows are audited, in SQL; by quantity where that differs.
    grain
        What a row is, where rows repeat a unit.
    """

    name: str
    meaning: str
    key: tuple[Column, ...]
    columns: tuple[Column, ...]
    n_rows: Callable[[Extent], int]
    row_bytes: float
    needs: tuple[str, ...] = ()
    audited: Mapping[str, str] = field(default_factory=dict)
    where: str | Mapping[str, str] = "true"
    grain: Grain | None = None

    def queries(self) -> dict[str, str]:
        """Return the query of each quantity that is audited, its rows in the order of the key."""
        order = ", ".join(column.name for column in self.key[1:])
        where = {
            n: self.where if isinstance(self.where, str) else self.where[n] for n in self.audited
        }
        return {
            name: f"SELECT run_id, {value} AS value FROM {self.name} "  # noqa: S608
            f"WHERE {where[name]} ORDER BY {order}"
            for name, value in self.audited.items()
        }

    @property
    def sql(self) -> str:
        """The statements that create it, with comments, as ``schema.sql`` has other tables."""
        run, *others = self.key
        columns = (run, MODEL, *others, *self.columns)
        lines = [f"{column.name} {column.sql_type}" for column in columns]
        lines.append(f"PRIMARY KEY ({', '.join(column.name for column in self.key)})")
        comments = [f"TABLE {self.name} IS {quoted(self.meaning)}"]
        comments += [
            f"COLUMN {self.name}.{each.name} IS {quoted(f'{each.meaning} [{each.unit}]')}"
            for each in columns
        ]
        rows = ",\n".join(f"    {line}" for line in lines)
        comments = [f"COMMENT ON {comment};" for comment in comments]
        return "\n".join([f"CREATE TABLE {self.name} (", rows, ");", *comments, ""])


def quoted(text: str) -> str:
    """Return a text as a constant of SQL."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that is built in.

    Attributes
    ----------
    name
        Its name on the command line.
    description
        What it is, in a few words.
    tables
        The tables that it fills.
    source
        Papers and equations, or the definition.
    needs
        What it needs besides a stream.
    of_states
        Whether states of another engine give it.
    """

    name: str
    description: str
    tables: tuple[MeasuredTable, ...]
    source: str
    needs: tuple[str, ...] = ()
    of_states: bool = False


@dataclass(frozen=True, slots=True)
class StreamQuantity:
    """A quantity with one row per prompt, layer and site, measured on the vectors of its tokens.

    Attributes
    ----------
    name, description, source
        As of `Quantity`.
    table
        The table that it fills.
    columns
        Its columns besides the key (run_id, prompt_id, layer, site), model_id and n_tokens.
    measure
        The vectors of a prompt's tokens at a site, a tensor (n_tokens, d) in float64, to the
        number of each column; NaN is stored as NULL.
    row_bytes
        As of `MeasuredTable`, about.
    """

    name: str
    description: str
    table: str
    columns: tuple[Column, ...]
    measure: Callable[[Any], Mapping[str, Any]]
    source: str
    row_bytes: float = 40.0

    @property
    def quantity(self) -> Quantity:
        """The same as other quantities are declared."""
        table = MeasuredTable(
            self.table,
            f"{self.description} ({self.source}).",
            key=(RUN, PROMPT, LAYER, SITE),
            columns=(N_TOKENS, *self.columns),
            n_rows=lambda e: e.n_prompts * e.n_sites,
            row_bytes=self.row_bytes,
            grain=BY_SITE,
        )
        return Quantity(self.name, self.description, (table,), self.source, of_states=True)
