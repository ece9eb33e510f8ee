"""Notes under an answer: what a query takes together, leaves out or does not meet.

`caution` gathers them. `reading` reads the parsed query for rows that repeat a unit, `sampling` for
rows of a model that count as models. The others ask a `query` again with counts beside it:
`mixture` for kinds of model and prompt sets, `scale` for lengths on several scales, `repetition`
for rows that a join repeats, `missing` for counted rows without a value. `grouped` writes windows
and pivots as GROUP BY for them.
"""

from analysis.store.notes.caution import cautions

__all__ = ["cautions"]
