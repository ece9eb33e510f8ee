"""What of the clone travels in the wheel beside the packages: ``collect/shipped/`` there.

``collect.process.shipped`` finds it. Of the measured data the sample's models of four blocks come
along, and of the public models what was measured on one prompt set: all that the tables of schema
main take of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Folder in the wheel.
SHIPPED = "collect/shipped"

#: Files that travel, relative to the clone.
PATTERNS = (
    "data/README.md",
    "data/prompts/*",
    "data/published/*",
    "data/sample/*.*",
    "data/sample/recipes/*",
    "data/sample/*/*.parquet",
    "data/fleet/study_*/*.parquet",
    "data/excerpt/*/*.parquet",
    "data/public/perturbation.csv",
    "data/reported/*.*",
    "data/reported/sources/*/*",
    "examples/from_r/*",
    "examples/hierarchy.*",
    "quarto/*.*",
    "quarto/[!.]*/**/*.*",
    "reports/claims.csv",
    "reports/study.csv",
)

#: Models of eight blocks: two thirds of the sample's bytes.
LEFT_OUT = "-l8-"

#: What stands in for something that stays behind, and where.
INSTEAD = {
    "data/excerpt/": "data/public/",
    "quarto/sections/_real_excerpt.qmd": "quarto/sections/_real.qmd",
}


class Shipped(BuildHookInterface):  # type: ignore[misc]  # hatchling has no types
    """Adds the files to a wheel; an editable install reads them in the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files that travel and their places."""
        if version == "standard":
            build_data["force_include"] |= travelling(Path(self.root))


def travelling(root: Path) -> dict[str, str]:
    """Return the places in the wheel of the files that travel, by path."""
    names = {
        path.relative_to(root).as_posix()
        for pattern in PATTERNS
        for path in root.glob(pattern)
        if path.is_file() and not (LEFT_OUT in path.name and "sample" in path.parts)
    }
    names -= {*INSTEAD.values()}
    return {str(root / name): f"{SHIPPED}/{_placed(name)}" for name in sorted(names)}


def _placed(name: str) -> str:
    for source, target in INSTEAD.items():
        if name.startswith(source):
            return name.replace(source, target, 1)
    return name
