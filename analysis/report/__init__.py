"""The report: Quarto sources to self-contained pages, with or without Quarto.

Where the ``quarto`` command exists it does the work; otherwise the modules of this package
read the same sources, run the chunks in IPython and build the page with pandoc and one filter.
``site`` is the way in; ``quarto/README.md`` lists what the sources may use.
"""

from __future__ import annotations

from analysis.report.site import render_site

__all__ = ["render_site"]
