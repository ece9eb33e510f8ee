"""Notes under an answer: what a query takes together, leaves out or does not meet.

`caution` gathers them; `sql` answers in Python and warns of them. A parsed query (`query`) is asked
again with counts beside it: `sampling` for rows of a model that count as models,
`mixture` for kinds of model and prompt sets, `scale` for values on several scales, `parameters` for
those that a file counts twice, `uneven` for means that one block or model decides, `repetition` for
rows that a join repeats, `absent` for rows without a value, `missing` for statistics of few pairs,
`apart` for unlike and dependent rows of one table. `empty` says what stands there where no row is
found. `scope` says what an answer is of and `meaning` what its columns mean beside others, where
nothing need be wrong with it.
"""

from analysis.store.notes.caution import cautions, contexts, notes
from analysis.store.notes.sql import QueryWarning, sql

__all__ = ["QueryWarning", "cautions", "contexts", "notes", "sql"]
