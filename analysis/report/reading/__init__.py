"""Quarto sources read: front matter, settings, includes, chunks, marks in the text."""
