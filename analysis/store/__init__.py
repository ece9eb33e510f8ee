"""Measurements and published figures, opened as one read-only database with its views.

``views/`` derives every quantity in SQL, one file a subject. The room knows the contract
(`collect.schema`) and the tidy frames, and no statistic.
"""

from analysis.store.store import Store, open_store, shared

__all__ = ["Store", "open_store", "shared"]
