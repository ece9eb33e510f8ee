"""Names and numbers that the command line shows and modules use; it imports nothing."""

from __future__ import annotations

#: Where the verdicts are kept, in a clone.
COMMITTED = "reports/claims.csv"

#: Where the registered statements of the study are kept, in a clone.
COMMITTED_STUDY = "reports/study.csv"

#: Where the verdicts of another paper are kept, in its folder.
COMMITTED_BESIDE = "verdicts.csv"

#: Log gain that rounding in half precision can make [nat].
BAND = 0.01

#: The profile of the primary definition of L*.
PROFILE = "trace_normalised"
