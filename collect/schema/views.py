"""The views and macros that derive quantities from the tables: one SQL file a subject."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

#: Subjects in the order in which their files are executed: each uses only views before it.
SUBJECTS = (
    "runs",
    "stream",
    "gain",
    "trajectory",
    "attention",
    "weights",
    "trace",
    "geometry",
    "published",
    "growth",
    "recipe",
    "profile",
    "study",
    "gauge",
    "partner",
    "claim",
)


@cache
def views_sql() -> str:
    """Return the text of ``analysis/store/views/*.sql``, read as data; empty without analysis."""
    folder = files("analysis").joinpath("store", "views")
    if not folder.is_dir():
        return ""
    return "\n".join(
        folder.joinpath(f"{subject}.sql").read_text(encoding="utf-8") for subject in SUBJECTS
    )
