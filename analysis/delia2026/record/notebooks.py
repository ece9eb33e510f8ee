"""The paper's notebooks: what each computes, and the query or command that does the same here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

FILE = Path(__file__).with_name("notebooks.toml")


@dataclass(frozen=True, slots=True)
class Notebook:
    """One notebook; it has one of a query, a command and a reason."""

    name: str
    computes: str  #: In Markdown.
    sql: str = ""  #: For ``thermoscope sql``.
    command: str = ""  #: The words after ``thermoscope``.
    absent: str = ""  #: Why nothing here computes the same.
    quick_start: int = 0  #: Its place in the quick start of the paper's readme, 0 if it has none.

    @property
    def title(self) -> str:
        """Its name, which a line may end within, and its place in the quick start, in Markdown."""
        name = self.name.replace("_", "\\_`<wbr>`{=html}`#sym.zws;`{=typst}")
        return f"{name} (quick\u00a0start\u00a0{self.quick_start})" if self.quick_start else name

    @property
    def here(self) -> str:
        """What does the same here, in Markdown."""
        if self.absent:
            return f"*Not computed here.* {self.absent}"
        return f"`{self.sql or f'thermoscope {self.command}'}`"


def notebooks() -> tuple[Notebook, ...]:
    """Return the notebooks, those of the quick start first."""
    return tuple(Notebook(**entry) for entry in tomllib.loads(FILE.read_text("utf-8"))["notebook"])


def table() -> pd.DataFrame:
    """Return one row per notebook: `notebook`, `computes` and `here`, all in Markdown."""
    return pd.DataFrame(
        {
            "notebook": it.title,
            "computes": it.computes,
            "here": it.here,
        }
        for it in notebooks()
    )
