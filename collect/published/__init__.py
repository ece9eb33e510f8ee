"""The paper's own raw result files: fetched, imported value by value, and summarised."""

from collect.published.download import fetch
from collect.published.excerpt import write_excerpt
from collect.published.figures import write_figures
from collect.published.importer import import_results

__all__ = ["fetch", "import_results", "write_excerpt", "write_figures"]
