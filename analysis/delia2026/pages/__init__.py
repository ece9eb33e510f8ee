"""Pages of this paper's report: register, summary, verdict rule, session, gains in charts."""
