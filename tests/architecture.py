"""The floors of ARCHITECTURE.md, drawn from the import contracts of pyproject.toml.

``python -m tests.architecture`` writes them; a test holds the page to them.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
START, END = "<!-- floors: python -m tests.architecture -->", "<!-- end of floors -->"


def floors(package: str) -> list[list[str]]:
    """Return the rooms of a package, floor by floor from the top, as its contract says."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    result = next(c for c in contracts["contracts"] if c.get("containers") == [package])
    return [[room.strip() for room in layer.split("|")] for layer in result["layers"]]


def says(package: str, room: str) -> str:
    """Return the first sentence of a room's docstring."""
    place = ROOT / package / room
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").rstrip(".")


def within(package: str, room: str) -> list[str]:
    """Return the rooms inside a room, by name."""
    return sorted(path.parent.name for path in (ROOT / package / room).glob("*/__init__.py"))


def picture(package: str) -> str:
    """Return the floors of one package as text, the ground at the bottom."""
    rows = []
    for floor in floors(package):
        for room in floor:
            rows.append(f"  {room:<12} {says(package, room)}")
            rows += [
                f"    {name:<14} {says(package, f'{room}/{name}')}"
                for name in within(package, room)
            ]
        rows.append("  " + "·" * 12)
    return "\n".join([f"{package}/", *rows[:-1]])


def drawn(text: str) -> str:
    """Return the page with its floors drawn anew."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    pictures = "\n\n".join(picture(package) for package in ("analysis", "collect"))
    return f"{before}{START}\n```text\n{pictures}\n```\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
