"""Everything a reader sees, written down before a change and compared after it."""
