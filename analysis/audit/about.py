"""What an audit says of itself: title, author, licence, and what its units are called."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from analysis.tidy.errors import AnalysisError

FILE = "audit.toml"


@dataclass(frozen=True, slots=True)
class About:
    """The settings of an audit; what is empty is said on no page."""

    #: Of the audit.
    title: str = ""
    author: str = ""
    licence: str = ""
    paper: str = ""  #: The paper that is judged, as it is cited.
    #: What one unit is called, and several.
    unit: str = "model"
    units: str = "models"
    #: What units belong to.
    group: str = "suite"
    groups: str = "suites"

    def counted(self, n_units: int, n_groups: int, n_rows: int = 0) -> str:
        """Return a number of units, of the groups they belong to, and of their rows if more.

        >>> About(unit="student", units="students", group="class", groups="classes").counted(24, 6)
        '24 students, 6 classes'
        >>> About().counted(1, 0)
        '1 model'
        >>> About(unit="person", units="persons").counted(10, 0, 20)
        '10 persons, 20 rows'
        """
        of_units = f"{n_units:,} {self.unit if n_units == 1 else self.units}"
        of_groups = f"{n_groups:,} {self.group if n_groups == 1 else self.groups}"
        of_rows = f"{n_rows:,} rows"
        shown = [of_units, *([of_groups] if n_groups else [])]
        return ", ".join([*shown, *([of_rows] if n_rows > n_units > 0 else [])])

    def heading(self) -> str:
        """Return what heads a column of such numbers.

        >>> About().heading()
        'Models (suites)'
        """
        return f"{self.units[:1].upper()}{self.units[1:]} ({self.groups})"


def read(folder: Path | None) -> About:
    """Return the settings in ``audit.toml`` of a folder; without a folder or a file the defaults.

    Raises
    ------
    AnalysisError
        If the file is no TOML, or says something unknown or that is no text.
    """
    if folder is None or not (folder / FILE).is_file():
        return About()
    path = folder / FILE
    try:
        result: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise AnalysisError(f"{path} must be TOML; {error}.", "Correct it there.") from error
    names = [one.name for one in fields(About)]
    wrong = [it for it, value in result.items() if it not in names or not isinstance(value, str)]
    if wrong:
        raise AnalysisError(
            f"{path} may say {', '.join(names)}, each a text; {wrong[0]} is not.",
            "Correct it there.",
        )
    return About(**result)
