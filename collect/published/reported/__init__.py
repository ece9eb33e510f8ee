"""Lengths of the stream that others measured and published: a folder read, checked and imported."""

from collect.published.reported.importer import import_reported

__all__ = ["import_reported"]
