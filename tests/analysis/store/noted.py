"""Queries of `noted.sql`, by the note that an answer to them must have."""

import re
from pathlib import Path

from analysis.store.notes import cautions

SECTIONS = re.split(
    r"^--- (.+?): .*$", Path(__file__).with_suffix(".sql").read_text("utf-8"), flags=re.M
)[1:]
NOTED = {
    name: [" ".join(query.split()) for query in text.strip().split("\n\n")]
    for name, text in zip(SECTIONS[::2], SECTIONS[1::2], strict=True)
}


def noted(store, query):
    """Return the notes of a query that was answered."""
    store.columns(query)
    return cautions(store, query)
