"""What a row is in a table whose rows repeat a unit, as data."""

from __future__ import annotations

from dataclasses import dataclass


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
