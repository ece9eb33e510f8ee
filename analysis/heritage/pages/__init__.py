"""Pages of this paper's report: summary, verdict rule, session information."""
