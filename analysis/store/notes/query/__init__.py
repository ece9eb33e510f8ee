"""A query that was answered, parsed: its tables, groups and conditions, to be asked again."""
