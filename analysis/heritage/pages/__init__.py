"""Pages of this paper's report: summary, verdict rule, session, and figures that several show."""
