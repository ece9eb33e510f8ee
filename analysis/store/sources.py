"""What a store is opened from: what comes with the code, what is not there, what failed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from analysis.store.remote import RemotePath
from analysis.tidy.errors import StoreError, UnreachableError
from collect.process import shipped

#: Characters of a name that a message shows at most.
SHOWN = 200


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
    """Return the directories of tables that the project ships on models: what SQL reads by default.

    The public models in it, and those that others measured, are no evidence for a claim: the claims
    were written down before them. The small networks of ``data/sample`` are evidence for some, but
    no models that a mean or a count should take beside those of others.
    """
    data = shipped.project() / "data"
    sample, *others = data / "sample", data / "public", data / "reported"
    places = [*default_sources(), *(place for place in others if place.is_dir())]
    return [place for place in places if place != sample]


def exists(path: Path | RemotePath) -> bool:
    """Return whether a place exists; a name that no file can bear is none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def shortened(path: Path | RemotePath) -> str:
    """Return a place as a message shows it."""
    text = ascii(str(path))[1:-1] if not str(path).isprintable() else str(path)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def forget_failures(sources: Iterable[Path | RemotePath]) -> None:
    """Let what the network failed in before say nothing of what is asked next."""
    for source in sources:
        if isinstance(source, RemotePath):
            source.remote.failed = None


def raise_unreached(sources: Iterable[Path | RemotePath], error: Exception) -> None:
    """Raise what the network failed in, if that is what lies behind an error."""
    for source in sources:
        if isinstance(source, RemotePath) and source.remote.failed is not None:
            raise UnreachableError(*source.remote.failed) from error
