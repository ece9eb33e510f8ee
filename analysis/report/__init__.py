"""The report: Quarto sources to self-contained pages, with or without Quarto.

Where the ``quarto`` command exists it does the work; otherwise the modules of this package
read the same sources, run the chunks in IPython and build the page with pandoc and one filter.
``site`` is the way in, imported when it is first used: a page of text needs none of what it
imports. ``quarto/README.md`` lists what the sources may use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.report.site import render_site

__all__ = ["render_site"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from analysis.report import site

    return getattr(site, name)
