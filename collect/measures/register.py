"""The quantities that are built in, by name and by table, from the files of this room.

A module that has a `Quantity` or a `StreamQuantity` under the name ``QUANTITY`` is found by itself.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

import collect.measures as room
from collect.measures.declaration import MeasuredTable, Quantity, StreamQuantity

#: Those that come first where several are named; the order of others is that of their files.
_FIRST = ("weights", "stream", "attention", "geometry", "predictions", "legacy")

_FOUND = [
    getattr(import_module(f"{room.__name__}.{module.name}"), "QUANTITY", None)
    for module in pkgutil.iter_modules(room.__path__)
]

#: Quantities of the stream that a function of a prompt's vectors gives, by table.
OF_VECTORS: dict[str, StreamQuantity] = {
    it.table: it for it in _FOUND if isinstance(it, StreamQuantity)
}

_ALL = {
    it.name: it.quantity if isinstance(it, StreamQuantity) else it
    for it in _FOUND
    if it is not None
}

#: By name.
BUILT_IN: dict[str, Quantity] = {name: _ALL[name] for name in dict.fromkeys((*_FIRST, *_ALL))}

#: The tables that they fill, by name.
FILLED: dict[str, MeasuredTable] = {
    table.name: table for quantity in BUILT_IN.values() for table in quantity.tables
}

#: By quantity, or by one table of it: what it needs; others need a stream alone.
NEEDED = {
    **{name: quantity.needs for name, quantity in BUILT_IN.items() if quantity.needs},
    **{name: table.needs for name, table in FILLED.items() if table.needs},
}
