"""What the pages of any audit show: cards, strips of readings, tables of verdicts, the front."""
