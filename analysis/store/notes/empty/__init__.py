"""Why an answer has no row, or an aggregate takes none."""
