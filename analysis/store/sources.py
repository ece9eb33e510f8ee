"""The directories of tables that come with the code: what is opened unless others are named."""

from __future__ import annotations

from pathlib import Path

from analysis.tidy.errors import StoreError
from collect.process import shipped


def default_sources() -> list[Path]:
    """Return the directories that the claims are judged by unless others are named.

    Raises
    ------
    StoreError
        If the published figures are not where the project keeps them.
    """
    root = shipped.project()
    if not (root / "data" / "published").is_dir():
        raise StoreError(
            f"The package's data must lie in {root / 'data'}; they are not there.",
            "Install the package again, or name directories with --data.",
        )
    named = ("data/published", "data/sample", "data/fleet")
    return [root / name for name in named if (root / name).is_dir()]


def shipped_sources() -> list[Path]:
    """Return every directory of tables that the project ships: what SQL reads by default.

    The public models in it are no evidence for a claim: the claims were written down before them.
    An installed package also lists models whose measurements it has no room for.
    """
    places = [shipped.project() / "data" / name for name in ("public", "listed")]
    if shipped.is_clone():
        places = places[:1]  # a clone has these models whole
    return [*default_sources(), *(place for place in places if place.is_dir())]
