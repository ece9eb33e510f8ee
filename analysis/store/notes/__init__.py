"""Notes under an answer: what a query takes together, leaves out or does not meet.

`caution` gathers them. `reading` reads the parsed query for rows that repeat a unit, `sampling` for
rows of a model that count as models; `mixture` asks it again for kinds of model and prompt sets.
"""

from analysis.store.notes.caution import cautions

__all__ = ["cautions"]
