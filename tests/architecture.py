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
    """Return the rooms of a package, floor by floor from the top, as its contract says.

    Without a contract they are one floor, by name.
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(
        (it["layers"] for it in contracts["contracts"] if it.get("containers") == [package]), None
    )
    if layers is None:
        return [sorted(path.parent.name for path in _place(package).glob("*/__init__.py"))]
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def _place(package: str) -> Path:
    return ROOT / package.replace(".", "/")


def says(package: str, room: str) -> str:
    """Return the first sentence of a room's docstring."""
    place = _place(package) / room
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").rstrip(".")


def within(package: str) -> list[str]:
    """Return the lines of the rooms inside a room; modules beside them are not drawn."""
    rows: list[str] = []
    for floor in floors(package):
        folders = [name for name in floor if (_place(package) / name / "__init__.py").is_file()]
        rows += ["    " + "·" * 12] if rows and folders else []
        rows += [f"    {name:<14} {says(package, name)}" for name in folders]
    return rows


def picture(package: str) -> str:
    """Return the floors of one package as text, the ground at the bottom."""
    rows = []
    for floor in floors(package):
        for room in floor:
            rows += [f"  {room:<12} {says(package, room)}", *within(f"{package}.{room}")]
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
