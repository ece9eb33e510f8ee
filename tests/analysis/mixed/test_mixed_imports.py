"""A fit imports what it needs: the rest comes when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from analysis import mixed

PROGRAM = """
import sys
from analysis import mixed
rows = {"y": [1, 2, 4, 3, 6, 5], "x": [1, 2, 3, 1, 3, 2], "g": list("aabbcc")}
mixed.fit("y ~ x + (1 | g)", rows).tidy()
print("\\n".join(sys.modules))
"""

#: scipy.stats and scipy.optimize cost more than the fit.
NOT_NEEDED = (
    "scipy.stats",
    "scipy.optimize",
    "scipy.interpolate",
    "analysis.mixed.binomial",
    "analysis.mixed.refitting",
    "analysis.store",
)


def test_a_first_fit_leaves_the_rest_unimported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    loaded = done.stdout.split()
    assert "analysis.mixed.model" in loaded
    assert [name for name in NOT_NEEDED if name in loaded] == []


def test_every_name_is_there_when_it_is_asked_for() -> None:
    assert all(callable(getattr(mixed, name)) for name in mixed.__all__)
    assert not hasattr(mixed, "something_else")
