"""What a chart draws: its encodings, however it is layered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def encodings(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every encoding of a chart's specification, however it is layered or nested."""
    if isinstance(node, dict):
        if "encoding" in node:
            yield node["encoding"]
        for value in node.values():
            yield from encodings(value)
    elif isinstance(node, list):
        for value in node:
            yield from encodings(value)
