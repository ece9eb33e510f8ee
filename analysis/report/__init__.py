"""The report: Quarto sources to self-contained pages, with or without Quarto.

Where the ``quarto`` command exists it does the work; otherwise the modules of this package
read the same sources, run the chunks in one kernel and build the page with pandoc.
``render`` is the way in; ``quarto/README.md`` lists what the sources may use.
"""

from __future__ import annotations

from analysis.report.render import render

__all__ = ["render"]
