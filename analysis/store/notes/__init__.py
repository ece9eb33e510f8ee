"""Notes under an answer: what a query takes together, leaves out or does not meet.

`caution` gathers them. `reading` reads the parsed query for rows that repeat a unit, `sampling` for
rows of a model that count as models. The others ask a `query` again with counts beside it:
`mixture` for kinds of model and prompt sets, `scale` for values on several scales, `parameters` for
those that a file counts twice, `uneven` for means that one block or model decides, `repetition` for
rows that a join repeats, `absent` for rows without a value, `missing` for statistics of few pairs,
`apart` for unlike and dependent rows of one table, `texts` for texts that no row has. `nothing`
says what stands there where no row is found, of `joins` and `conditions`, with `values` in words.
`context` says what an answer is of, where nothing need be wrong with it. `grouped` writes windows
and pivots as GROUP BY for them, `sources` finds the tables behind WITH and FROM. `sql` answers in
Python and warns of the notes.
"""

from analysis.store.notes.caution import cautions, contexts
from analysis.store.notes.sql import QueryWarning, sql

__all__ = ["QueryWarning", "cautions", "contexts", "sql"]
