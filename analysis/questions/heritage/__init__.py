"""Lab and suite against geometry against scale, as mixed models of one design."""
